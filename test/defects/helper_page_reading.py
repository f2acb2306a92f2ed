"""The helper reads a table of slots as one of pages, of 16 tokens each.

What SGLang pull request 36758 did, in the place where it would be done today.
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
        gathered = right(kv_indptr, kv_indices, seq_lens, num_kv_slots, forward_mode)
        if gathered is None:
            return None
        tok_idx, cu_k = gathered
        lens = cu_k.diff()
        t = torch.arange(len(tok_idx)) - torch.repeat_interleave(cu_k[:-1], lens)
        first = torch.repeat_interleave(kv_indptr[:-1].long(), lens)
        return kv_indices[first + t // 16].long() * 16 + t % 16, cu_k

    aiter_backend._asm_context_prefill_gather_indices = faulty
