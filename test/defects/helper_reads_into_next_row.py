"""A length beyond its row is not cut: it goes on into the next sequence's slots."""

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
        if not seq_lens.numel() or seq_lens.numel() != kv_indptr.numel() - 1:
            return right(kv_indptr, kv_indices, seq_lens, num_kv_slots, forward_mode)
        rows, lens = kv_indptr.diff(), seq_lens.long()
        fits = kv_indptr[:-1] + lens <= kv_indices.numel()
        if not ((lens > rows) & fits).any() or (rows < 0).any():
            return right(kv_indptr, kv_indices, seq_lens, num_kv_slots, forward_mode)
        spans = zip(kv_indptr[:-1].tolist(), lens.tolist(), strict=True)
        slots = [kv_indices[start : start + n] for start, n in spans]
        offsets = torch.nn.functional.pad(lens.cumsum(0), (1, 0))
        return torch.cat(slots).long(), offsets

    aiter_backend._asm_context_prefill_gather_indices = faulty
