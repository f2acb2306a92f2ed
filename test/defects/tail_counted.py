"""The entries behind the table are gathered as tokens of the last sequence.

The prefill updater leaves 256 of them for a kernel that reads ahead; the number of
entries is not the number of tokens.
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
    table = backend.forward_metadata.kv_indices
    longer = cu_k.clone()
    longer[-1] = table.numel()
    return table, longer


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
