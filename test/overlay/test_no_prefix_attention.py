"""The first-chunk method: K and V come from the pool, whatever the caller has."""

from __future__ import annotations

import pytest
import torch
from sglang.srt.layers.attention import aiter_backend

from overlay.backends import (
    DIM,
    FP8,
    HEADS,
    KV_HEADS,
    MAX_Q_LEN,
    Kernel,
    assert_rows,
    attend,
    backend_with_pool,
)
from overlay.batches import SLOTS, extend_batch

SLOTS_WRITTEN = torch.tensor([SLOTS - 1, 3, 700, 1, 2])


@pytest.mark.parametrize("given", [True, False], ids=["raw K and V", "none"])
def test_takes_the_rows_that_have_just_been_written(
    given: bool, kernel: Kernel
) -> None:
    holder, batch = extend_batch([3, 2])
    raw = torch.full((5, KV_HEADS, DIM), torch.nan) if given else None
    attend(
        *(backend_with_pool(holder), batch, "no_prefix"),
        k=raw,
        v=raw,
        cache_loc=SLOTS_WRITTEN,
    )
    ((_, k, v, *_), _) = kernel.calls[0]
    assert_rows(k, v, SLOTS_WRITTEN)


def test_every_sequence_has_as_many_keys_as_queries(kernel: Kernel) -> None:
    holder, batch = extend_batch([3, 2])
    backend = backend_with_pool(holder)
    q, out = attend(
        *(backend, batch, "no_prefix"), k=None, v=None, cache_loc=SLOTS_WRITTEN
    )
    args, kwargs = kernel.calls[0]
    scales, (cu_q, cu_k, max_q, max_k) = args[3:6], args[6:]
    assert [scale.tolist() for scale in scales] == [[1.0], [0.5], [0.25]]
    assert cu_q.tolist() == cu_k.tolist() == [0, 3, 5]
    assert (max_q, max_k) == (MAX_Q_LEN, MAX_Q_LEN)
    assert kwargs == {"softmax_scale": 0.03, "causal": True}
    assert (out.dtype, out.shape) == (torch.float16, (5, HEADS * DIM))
    assert torch.equal(out, q.to(FP8).to(torch.float16))


def test_pool_of_five_dimensions_is_not_read(kernel: Kernel) -> None:
    """Its write divides K and V in place, so they are cast as they are."""
    holder, batch = extend_batch([3, 2])
    backend = backend_with_pool(holder)
    backend.kv_cache_is_vectorized_5d = True
    backend.token_to_kv_pool = None
    divided = torch.randn(2, 5, KV_HEADS * DIM, generator=torch.Generator()).bfloat16()
    attend(
        *(backend, batch, "no_prefix"),
        k=divided[0],
        v=divided[1],
        cache_loc=SLOTS_WRITTEN,
    )
    ((_, k, v, *_), _) = kernel.calls[0]
    for got, rows in zip((k, v), divided, strict=True):
        want = rows.view(5, KV_HEADS, DIM).to(FP8)
        assert torch.equal(got.view(torch.uint8), want.view(torch.uint8))


def test_is_no_hit_of_the_context_path(kernel: Kernel) -> None:
    aiter_backend._asm_context_prefill_counts.clear()
    holder, batch = extend_batch([3, 2])
    attend(
        *(backend_with_pool(holder), batch, "no_prefix"),
        k=None,
        v=None,
        cache_loc=SLOTS_WRITTEN,
    )
    assert len(kernel.calls) == 1
    assert not aiter_backend._asm_context_prefill_counts
