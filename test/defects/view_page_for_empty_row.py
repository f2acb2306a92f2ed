"""A sequence of no token is given a page: that of the next entry of the table."""

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
        if not (counts == 0).any() or not len(pages):
            return indptr, pages, last
        starts = torch.repeat_interleave(indptr[:-1].long(), counts.clamp(min=1))
        within = torch.cat([torch.arange(n) for n in counts.clamp(min=1).tolist()])
        taken = (starts + within).clamp(max=len(pages) - 1)
        longer = torch.nn.functional.pad(counts.clamp(min=1).cumsum(0), (1, 0))
        return longer.to(torch.int32), pages[taken], last

    aiter_backend._build_paged_kv_view = faulty
