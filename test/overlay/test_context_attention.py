"""The context-chunk method: what it hands to the ASM kernel, and what it returns."""

from __future__ import annotations

import pytest
import torch

from overlay.backends import (
    DIM,
    FP8,
    HEADS,
    MAX_Q_LEN,
    Kernel,
    assert_rows,
    attend,
    backend_with_pool,
)
from overlay.batches import SLOTS, extend_batch


def test_gathers_the_rows_of_each_token_in_order(kernel: Kernel) -> None:
    backend, batch = extend_batch([9, 4])
    attend(backend_with_pool(backend), batch)
    ((_, k, v, *_), _) = kernel.calls[0]
    assert_rows(k, v, backend.forward_metadata.kv_indices[:13])


def test_scales_and_lengths_reach_the_kernel(kernel: Kernel) -> None:
    backend, batch = extend_batch([9, 4])
    attend(backend_with_pool(backend), batch)
    args, kwargs = kernel.calls[0]
    q_descale, k_descale, v_descale, cu_q, cu_k, max_q, max_k = args[3:]
    # q is cast as it is: K's scale must not describe it.
    assert [float(s) for s in (q_descale, k_descale, v_descale)] == [1.0, 0.5, 0.25]
    assert all(s.shape == (1,) for s in (q_descale, k_descale, v_descale))
    assert (cu_q.tolist(), cu_k.tolist()) == ([0, 3, 5], [0, 9, 13])
    assert (max_q, max_k) == (MAX_Q_LEN, 9)
    assert args[0].shape == (5, HEADS, DIM)
    assert kwargs == {"softmax_scale": 0.03, "causal": True}


def test_output_has_the_models_dtype_and_width(kernel: Kernel) -> None:
    q, out = attend(backend_with_pool(extend_batch([9, 4])[0]), extend_batch([9, 4])[1])
    assert (out.dtype, out.shape) == (torch.float16, (5, HEADS * DIM))
    assert torch.equal(out, q.to(torch.bfloat16).to(FP8).to(torch.float16))


def test_a_batchs_own_query_offsets_win(kernel: Kernel) -> None:
    """Since 0.5.23 they are in the metadata; the backend's are shared and reused."""
    backend, batch = extend_batch([9, 4])
    backend.forward_metadata.qo_indptr = torch.tensor([0, 1, 5, 7], dtype=torch.int32)
    attend(backend_with_pool(backend), batch)
    assert kernel.calls[0][0][6].tolist() == [0, 1, 5]


@pytest.mark.parametrize(
    ("slot", "served"), [(SLOTS - 1, True), (SLOTS, False), (-1, False)]
)
def test_slots_are_held_against_the_pool(
    slot: int, served: bool, kernel: Kernel
) -> None:
    backend, batch = extend_batch([9, 4], host_lens=None)
    backend.forward_metadata.kv_indices[2] = slot
    _, out = attend(backend_with_pool(backend), batch)
    assert (out is not None) == served == bool(kernel.calls)


def test_q_is_cast_as_the_paged_kernels_where_the_release_does(
    kernel: Kernel,
) -> None:
    backend = backend_with_pool(extend_batch([9, 4])[0])
    backend._quantize_q_fp8 = lambda q: ((q * 2).to(FP8), torch.tensor([0.5]))
    q, _ = attend(backend, extend_batch([9, 4])[1])
    got, descale = kernel.calls[0][0][0], kernel.calls[0][0][3]
    assert torch.equal(got.float(), (q * 2).to(FP8).float().view(5, HEADS, DIM))
    assert descale.tolist() == [0.5]
