"""A slot past the pool is handed on: the gather reads whatever lies behind it."""

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
        return right(kv_indptr, kv_indices, seq_lens, 2**62, forward_mode)

    aiter_backend._asm_context_prefill_gather_indices = faulty
