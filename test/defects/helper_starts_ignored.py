"""The first row is taken to start at entry 0, wherever kv_indptr puts it."""

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
        if kv_indptr.numel() < 2:
            return right(kv_indptr, kv_indices, seq_lens, num_kv_slots, forward_mode)
        packed = kv_indptr - kv_indptr[0]
        return right(packed, kv_indices, seq_lens, num_kv_slots, forward_mode)

    aiter_backend._asm_context_prefill_gather_indices = faulty
