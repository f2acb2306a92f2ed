"""The indices of a batch, ordinary or not, with lengths on the host that may be off."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any
from unittest import mock

import torch
from hypothesis import given
from hypothesis import strategies as st

from producers.platform import load_aiter_backend
from properties.profile import examples
from properties.tables import Batch, batches, warnings_of

aiter_backend: Any = load_aiter_backend()


def indices(
    batch: Batch, host_lens: list[int] | None, *, spec: bool, extend: bool
) -> tuple[torch.Tensor | None, torch.Tensor | None, bool]:
    """(tok_idx, cu_k, whether they came without validation)."""
    fm = SimpleNamespace(kv_indptr=batch.kv_indptr, kv_indices=batch.kv_indices)
    forward_batch = SimpleNamespace(
        seq_lens=batch.seq_lens,
        seq_lens_cpu=None if host_lens is None else torch.tensor(host_lens),
        spec_info=object() if spec else None,
        forward_mode=SimpleNamespace(is_extend=lambda: extend),
    )
    name = "_asm_context_prefill_gather_indices"
    helper = getattr(aiter_backend, name)
    method = aiter_backend.AiterAttnBackend._asm_context_prefill_indices
    backend: Any = SimpleNamespace(forward_metadata=fm)
    bs = len(batch.slots_of)
    with mock.patch.object(aiter_backend, name, wraps=helper) as watched:
        tok_idx, cu_k = method(backend, forward_batch, bs, batch.num_slots)
        again = method(backend, forward_batch, bs, batch.num_slots)
    assert again[0] is tok_idx and again[1] is cu_k, "made twice for one batch"
    assert watched.call_count <= 1
    return tok_idx, cu_k, not watched.called


@examples(100)
@given(batch=batches(min_rows=1), spec=st.booleans(), extend=st.booleans())
def test_every_kind_of_batch_gets_the_same_indices(
    batch: Batch, spec: bool, extend: bool
) -> None:
    for host_lens in (batch.lens, None):
        tok_idx, cu_k, ordinary = indices(batch, host_lens, spec=spec, extend=extend)
        plain = extend and not spec and host_lens is not None
        assert ordinary == (plain and bool(batch.slots))
        assert tok_idx is not None and cu_k is not None
        assert tok_idx.tolist() == batch.slots
        assert (cu_k[1:] - cu_k[:-1]).tolist() == batch.lens
        assert cu_k.dtype == torch.int32


@examples(100)
@given(
    batch=batches(min_rows=1),
    off=st.lists(st.integers(-3, 3), min_size=6, max_size=6),
)
def test_no_length_on_the_host_sends_the_kernel_past_the_gathered_rows(
    batch: Batch, off: list[int]
) -> None:
    host_lens = [max(0, n + d) for n, d in zip(batch.lens, off, strict=False)]
    with warnings_of(aiter_backend):
        tok_idx, cu_k, ordinary = indices(batch, host_lens, spec=False, extend=True)
    assert tok_idx is not None and cu_k is not None
    offsets = cu_k.tolist()
    assert offsets[0] == 0 and offsets == sorted(offsets)
    assert offsets[-1] <= len(tok_idx)
    if ordinary:
        assert len(tok_idx) == sum(host_lens)
        assert tok_idx.tolist() == batch.kv_indices[: len(tok_idx)].tolist()
    else:
        assert tok_idx.tolist() == batch.slots


def test_a_single_token_is_an_ordinary_batch() -> None:
    batch = Batch(
        page_size=16,
        num_slots=64,
        slots_of=[[], [37]],
        kv_indptr=torch.tensor([0, 0, 1], dtype=torch.int32),
        kv_indices=torch.tensor([37, 37], dtype=torch.int32),
        seq_lens=torch.tensor([0, 1]),
    )
    tok_idx, _, ordinary = indices(batch, batch.lens, spec=False, extend=True)
    assert ordinary and tok_idx is not None and tok_idx.tolist() == [37]
