"""Rows that go past the table read its last entry over and over."""

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
        missing = max(0, int(kv_indptr.max()) - kv_indices.numel())
        last = kv_indices[-1:] if kv_indices.numel() else kv_indices.new_zeros(1)
        table = torch.cat((kv_indices, last.expand(missing)))
        return right(kv_indptr, table, seq_lens, num_kv_slots, forward_mode)

    aiter_backend._asm_context_prefill_gather_indices = faulty
