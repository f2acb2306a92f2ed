"""A last page that is full counts as empty.

Length modulo page size: right but for sequences that end with a page.
"""

from __future__ import annotations

import torch


def plant() -> None:
    from sglang.srt.layers.attention import aiter_backend

    right = aiter_backend._build_paged_kv_view

    def faulty(
        kv_indices: torch.Tensor, seq_lens_cpu: torch.Tensor, page_size: int
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        indptr, pages, last = right(kv_indices, seq_lens_cpu, page_size)
        return indptr, pages, last % page_size

    aiter_backend._build_paged_kv_view = faulty
