"""Slots pass through 32 bits: those of a pool of more than 2^31 come out as others."""

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
        narrow = kv_indices.to(torch.int32)
        return right(kv_indptr, narrow, seq_lens, num_kv_slots, forward_mode)

    aiter_backend._asm_context_prefill_gather_indices = faulty
