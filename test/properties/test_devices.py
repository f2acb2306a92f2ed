"""Where the helper works, and what it waits for."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from producers.platform import load_aiter_backend
from properties.pretend_gpu import GPU, PretendGpu

aiter_backend: Any = load_aiter_backend()
T = torch.tensor


def gather(*args: torch.Tensor) -> Any:
    return aiter_backend._asm_context_prefill_gather_indices(*args, 10)


@pytest.mark.parametrize(
    ("kv_indptr", "lens"),
    [([0, 2, 5], [2, 3]), ([0, 0], [0]), ([0], []), ([1, 3, 4], [1, 0])],
    ids=["tokens", "empty row", "empty batch", "short"],
)
@pytest.mark.parametrize("host_lens", [True, False])
def test_a_gpus_work_stays_on_it_and_no_copy_to_it_is_waited_for(
    kv_indptr: list[int], lens: list[int], host_lens: bool
) -> None:
    offsets, table, seq_lens = T(kv_indptr).int(), T([4, 6, 1, 3, 9]).int(), T(lens)
    with PretendGpu((seq_lens,) if host_lens else ()) as gpu:
        tok_idx, cu_k = gather(offsets, table, seq_lens)
    # Both tables; the slots are widened where they are.
    assert gpu.copies[:2] == [(GPU, True)] * (2 if len(lens) else 0)
    assert all(device in (GPU, None) for device, _ in gpu.copies)
    assert gpu.made_elsewhere == []
    assert len(gpu.waits) <= 2
    assert (tok_idx.dtype, cu_k.dtype) == (torch.int64, torch.int64)


def test_copies_to_the_cpu_are_complete_before_they_are_read() -> None:
    """From a GPU they would otherwise be under way."""
    tensors = T([0, 2, 5]).int(), T([4, 6, 1, 3, 9]).int(), T([2, 3])
    with PretendGpu(tensors) as gpu:
        gather(*tensors)
    assert gpu.copies[:2] == [(torch.device("cpu"), False)] * 2


def test_offsets_of_32_bits_are_subtracted_in_64() -> None:
    """In 32 bits this decrease wraps around to a row of one token."""
    with_lens = T([0, 2**31 - 1, -(2**31)]).int(), T([4, 6]).int(), T([2, 1])
    counts = aiter_backend._asm_context_prefill_counts
    counts.clear()
    assert gather(*with_lens) is None
    assert dict(counts) == {"decreasing_kv_indptr": 1}
