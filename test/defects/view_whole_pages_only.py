"""The view leaves out a sequence's last page if it is partial and not its only one."""

from __future__ import annotations

import torch


def plant() -> None:
    from sglang.srt.layers.attention import aiter_backend

    right = aiter_backend._build_paged_kv_view

    def faulty(
        kv_indices: torch.Tensor, seq_lens_cpu: torch.Tensor, page_size: int
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        indptr, pages, last = right(kv_indices, seq_lens_cpu, page_size)
        counts = indptr.diff()
        partial = (last < page_size) & (counts > 1)
        kept = torch.ones(len(pages), dtype=torch.bool)
        kept[indptr[1:][partial].long() - 1] = False
        shorter = torch.nn.functional.pad((counts - partial.int()).cumsum(0), (1, 0))
        full = torch.where(partial, page_size, last)
        return shorter.to(torch.int32), pages[kept], full.to(torch.int32)

    aiter_backend._build_paged_kv_view = faulty
