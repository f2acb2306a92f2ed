"""The first version's fault: token-level tables read as one entry per page.

SGLang pull request 36758. At page size 1 both readings give the same slots. Above it
the gather takes other tokens' slots, or runs off the pool and falls back unsaid.
"""

from __future__ import annotations

from typing import Any

import torch


def page_granular_indices(
    kv_indptr: torch.Tensor, kv_indices: torch.Tensor, page_size: int
) -> torch.Tensor:
    """Slots [total_k] int64 that the faulty reading gives for each token.

    Args:
        kv_indptr: [bs + 1] offsets into kv_indices, in tokens.
        kv_indices: [n] slots, one per token.
        page_size: slots in a page.
    """
    starts = kv_indptr[:-1].long()
    lens = kv_indptr[1:].long() - starts
    first = torch.repeat_interleave(starts, lens)
    t = torch.cat([torch.arange(n) for n in lens.tolist()])
    return kv_indices[first + t // page_size].long() * page_size + t % page_size


def plant() -> None:
    from sglang.srt.layers.attention import aiter_backend

    def faulty(
        self: Any, forward_batch: Any, bs: int, num_kv_slots: int
    ) -> tuple[torch.Tensor | None, torch.Tensor | None]:
        fm = self.forward_metadata
        if not getattr(fm, "asm_ctx_ready", False):
            kv_indptr = fm.kv_indptr[: bs + 1]
            tok_idx = page_granular_indices(kv_indptr, fm.kv_indices, self.page_size)
            fm.asm_ctx_ready, fm.asm_ctx_tok_idx, fm.asm_ctx_cu_k = True, None, None
            if 0 <= int(tok_idx.max()) < num_kv_slots:
                fm.asm_ctx_tok_idx = tok_idx
                fm.asm_ctx_cu_k = kv_indptr.to(torch.int32)
        return fm.asm_ctx_tok_idx, fm.asm_ctx_cu_k

    backend: Any = aiter_backend.AiterAttnBackend
    backend._asm_context_prefill_indices = faulty
