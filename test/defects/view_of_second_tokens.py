"""The view takes each page's id from the page's second token.

Right but where the last page has a single token: the entry behind is another sequence's
or padding.
"""

from __future__ import annotations

import torch


def plant() -> None:
    from sglang.srt.layers.attention import aiter_backend

    right = aiter_backend._build_paged_kv_view

    def faulty(
        kv_indices: torch.Tensor, seq_lens_cpu: torch.Tensor, page_size: int
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        indptr, pages, last = right(kv_indices.roll(-1), seq_lens_cpu, page_size)
        return indptr, pages, last

    aiter_backend._build_paged_kv_view = faulty
