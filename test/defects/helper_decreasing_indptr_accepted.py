"""Offsets that decrease are taken as if they stood still.

Such a table is another batch's, or half written.
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
        rising = kv_indptr.cummax(0).values
        return right(rising, kv_indices, seq_lens, num_kv_slots, forward_mode)

    aiter_backend._asm_context_prefill_gather_indices = faulty
