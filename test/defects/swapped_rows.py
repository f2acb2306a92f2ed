"""The first two sequences read each other's slots, as far as both go.

Alone in a batch either is right.
"""

from __future__ import annotations

from typing import Any

import torch


def spoil(
    backend: Any,
    forward_batch: Any,
    tok_idx: torch.Tensor,
    cu_k: torch.Tensor,
    num_kv_slots: int,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Slots [total_k] and offsets [bs + 1] in place of a batch's right ones."""
    if len(cu_k) < 3:
        return tok_idx, cu_k
    first, second, end = cu_k[:3].tolist()
    n = min(second - first, end - second)
    swapped = tok_idx.clone()
    swapped[first : first + n] = tok_idx[second : second + n]
    swapped[second : second + n] = tok_idx[first : first + n]
    return swapped, cu_k


def plant() -> None:
    from sglang.srt.layers.attention import aiter_backend

    owner: Any = aiter_backend.AiterAttnBackend
    right = owner._asm_context_prefill_indices

    def faulty(
        self: Any, forward_batch: Any, bs: int, num_kv_slots: int
    ) -> tuple[torch.Tensor | None, torch.Tensor | None]:
        fm = self.forward_metadata
        made = not getattr(fm, "asm_ctx_ready", False)
        tok_idx, cu_k = right(self, forward_batch, bs, num_kv_slots)
        if made and tok_idx is not None:
            tok_idx, cu_k = spoil(self, forward_batch, tok_idx, cu_k, num_kv_slots)
            fm.asm_ctx_tok_idx, fm.asm_ctx_cu_k = tok_idx, cu_k
        return tok_idx, cu_k

    owner._asm_context_prefill_indices = faulty
