"""The indices of a batch: taken from its metadata, or validated, once."""

from __future__ import annotations

from typing import Any
from unittest import mock

import pytest
import torch
from sglang.srt.layers.attention import aiter_backend

from overlay.batches import SLOTS, extend_batch

LENS = [[5], [7, 3, 12], [1, 1, 1, 1], [300, 17, 128]]


@pytest.fixture(autouse=True)
def fresh_counts() -> None:
    aiter_backend._asm_context_prefill_counts.clear()


def indices(backend: Any, batch: Any, slots: int = SLOTS) -> Any:
    return aiter_backend.AiterAttnBackend._asm_context_prefill_indices(
        backend, batch, batch.batch_size, slots
    )


def validated() -> Any:
    """The helper, watched."""
    return mock.patch.object(
        aiter_backend,
        "_asm_context_prefill_gather_indices",
        wraps=aiter_backend._asm_context_prefill_gather_indices,
    )


def expected(backend: Any, batch: Any) -> tuple[list[int], list[int]]:
    fm = backend.forward_metadata
    total = int(batch.seq_lens.sum())
    return fm.kv_indices[:total].tolist(), fm.kv_indptr.tolist()


@pytest.mark.parametrize("declared", [True, False], ids=["0.5.21+", "0.5.19"])
@pytest.mark.parametrize("lens", LENS, ids=str)
def test_ordinary_batch_needs_no_validation(lens: list[int], declared: bool) -> None:
    backend, batch = extend_batch(lens, declare_cache_fields=declared)
    with validated() as helper:
        tok_idx, cu_k = indices(backend, batch)
    assert helper.call_count == 0
    assert (tok_idx.tolist(), cu_k.tolist()) == expected(backend, batch)
    assert cu_k.dtype == torch.int32


@pytest.mark.parametrize("lens", LENS, ids=str)
@pytest.mark.parametrize(
    "unusual",
    # A speculative batch's info may well be empty.
    [{"spec_info": object()}, {"spec_info": ()}, {"host_lens": None}],
    ids=["spec", "empty spec", "no host"],
)
def test_other_batches_are_validated_to_the_same(
    lens: list[int], unusual: dict[str, Any]
) -> None:
    backend, batch = extend_batch(lens, **unusual)
    with validated() as helper:
        tok_idx, cu_k = indices(backend, batch)
    assert helper.call_count == 1
    assert (tok_idx.tolist(), cu_k.tolist()) == expected(backend, batch)
    assert cu_k.dtype == torch.int32


def test_computed_once_per_batch() -> None:
    backend, batch = extend_batch([9, 4], spec_info=object())
    with validated() as helper:
        first, again = indices(backend, batch), indices(backend, batch)
    assert helper.call_count == 1
    assert again[0] is first[0] and again[1] is first[1]


def test_next_batch_never_sees_the_previous_ones() -> None:
    backend, batch = extend_batch([9, 4])
    indices(backend, batch)
    # SGLang makes a metadata object for each batch.
    other, other_batch = extend_batch([2, 30])
    backend.forward_metadata = other.forward_metadata
    tok_idx, cu_k = indices(backend, other_batch)
    assert (tok_idx.tolist(), cu_k.tolist()) == expected(other, other_batch)


def test_fall_back_is_decided_and_warned_about_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    backend, batch = extend_batch([9, 4], host_lens=None)
    backend.forward_metadata.kv_indices[3] = SLOTS
    for _ in range(3):
        assert indices(backend, batch) == (None, None)
    assert len(caplog.records) == 1, caplog.text
    assert "slot_past_pool" in caplog.text
    assert dict(aiter_backend._asm_context_prefill_counts) == {"slot_past_pool": 1}


def test_host_lengths_past_the_table_are_validated_and_cut() -> None:
    backend, batch = extend_batch([6, 6], host_lens=[6, 100], pad=0)
    batch.seq_lens = torch.tensor([6, 100])
    with validated() as helper:
        tok_idx, cu_k = indices(backend, batch)
    assert helper.call_count == 1
    assert (tok_idx.numel(), cu_k.tolist()) == (12, [0, 6, 12])


def test_table_without_slack_is_ordinary() -> None:
    backend, batch = extend_batch([9, 4], pad=0)
    with validated() as helper:
        indices(backend, batch)
    assert helper.call_count == 0


def test_batch_that_is_no_extend_is_validated() -> None:
    backend, batch = extend_batch([9, 4])
    batch.forward_mode.is_extend = lambda: False
    with validated() as helper:
        indices(backend, batch)
    assert helper.call_count == 1


@pytest.mark.parametrize(
    "unusual", [{}, {"spec_info": object()}], ids=["ordinary", "spec"]
)
def test_entries_behind_the_batch_are_left_alone(unusual: dict[str, Any]) -> None:
    """SGLang's offsets and lengths are preallocated for the largest batch."""
    backend, batch = extend_batch([9, 4], **unusual)
    fm = backend.forward_metadata
    stale = torch.tensor([7, 10**6], dtype=torch.int32)
    fm.kv_indptr = torch.cat((fm.kv_indptr, stale))
    batch.seq_lens = torch.cat((batch.seq_lens, torch.tensor([50])))
    batch.seq_lens_cpu = torch.cat((batch.seq_lens_cpu, torch.tensor([50])))
    tok_idx, cu_k = indices(backend, batch)
    assert (tok_idx.numel(), cu_k.tolist()) == (13, [0, 9, 13])


def test_offsets_are_int32_whatever_the_metadata_has() -> None:
    backend, batch = extend_batch([9, 4])
    backend.forward_metadata.kv_indptr = backend.forward_metadata.kv_indptr.long()
    assert indices(backend, batch)[1].dtype == torch.int32


def test_warning_names_the_forward_mode(caplog: pytest.LogCaptureFixture) -> None:
    class Mode(str):
        def is_extend(self) -> bool:
            return True

    backend, batch = extend_batch([9, 4], host_lens=None)
    batch.forward_mode = Mode("SPEC")
    backend.forward_metadata.kv_indices[3] = SLOTS
    indices(backend, batch)
    assert "mode=SPEC" in caplog.text


@pytest.mark.parametrize("host", [[9, 2], [9, 6]], ids=["shorter", "longer"])
def test_kernel_never_reads_past_the_gathered_rows(host: list[int]) -> None:
    """Host and device lengths that disagree, within the padded table."""
    backend, batch = extend_batch([9, 4], host_lens=host)
    tok_idx, cu_k = indices(backend, batch)
    assert int(cu_k[-1]) <= tok_idx.numel() == sum(host)


@pytest.mark.parametrize("fault", ["host shorter", "host longer", "slot"])
def test_cross_check_raises_when_the_producer_changes(
    fault: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(aiter_backend, "_GFX_ASM_CTX_GATHER_CHECK", True)
    indices(*extend_batch([9, 4]))
    host = {"host shorter": [9, 3], "host longer": [9, 6], "slot": [9, 4]}[fault]
    backend, batch = extend_batch([9, 4], host_lens=host)
    if fault == "slot":
        backend.forward_metadata.kv_indices[3] = SLOTS
    with pytest.raises(RuntimeError, match="SGLANG_GFX_ASM_CTX_GATHER_CHECK"):
        indices(backend, batch)
