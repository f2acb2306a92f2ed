"""A negative slot is handed on, and -1 reads the last slot of the pool, which is live.

Upstream's helper of SGLang 0.5.19 to 0.5.23 checks the upper bound alone.
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
        unsigned = torch.where(kv_indices < 0, 0, kv_indices)
        gathered = right(kv_indptr, unsigned, seq_lens, num_kv_slots, forward_mode)
        if gathered is None:
            return None
        tok_idx, cu_k = gathered
        shift = torch.repeat_interleave(kv_indptr[:-1].long() - cu_k[:-1], cu_k.diff())
        return kv_indices[shift + torch.arange(len(tok_idx))].long(), cu_k

    aiter_backend._asm_context_prefill_gather_indices = faulty
