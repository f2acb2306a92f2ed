"""seq_lens is not looked at: every row is gathered whole.

Rows of a padded or speculative batch are longer than their sequences.
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
        rows = kv_indptr.diff()
        lens = rows if rows.numel() == seq_lens.numel() else seq_lens
        return right(kv_indptr, kv_indices, lens, num_kv_slots, forward_mode)

    aiter_backend._asm_context_prefill_gather_indices = faulty
