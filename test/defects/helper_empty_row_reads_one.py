"""A sequence of no token is given one: the entry at which its row would start.

Neighbours keep their tokens, but every offset behind it is one too large.
"""

from __future__ import annotations

from typing import Any

import torch


def plant() -> None:
    from sglang.srt.layers.attention import aiter_backend

    right = aiter_backend._asm_context_prefill_gather_indices

    def faulty(
        kv_indptr: torch.Tensor,
        kv_indices: torch.Tensor,
        seq_lens: torch.Tensor,
        num_kv_slots: int,
        forward_mode: Any = None,
    ) -> Any:
        gathered = right(kv_indptr, kv_indices, seq_lens, num_kv_slots, forward_mode)
        if gathered is None or not seq_lens.numel():
            return gathered
        lens = gathered[1].diff().clamp(min=1)
        ends = kv_indptr[:-1].long() + lens
        if ends.max() > kv_indices.numel():
            return gathered
        rows = [kv_indices[end - n : end] for end, n in zip(ends, lens, strict=True)]
        offsets = torch.nn.functional.pad(lens.cumsum(0), (1, 0))
        return torch.cat(rows).long(), offsets

    aiter_backend._asm_context_prefill_gather_indices = faulty
