"""The producer writes one page id per page where one slot per token is wanted.

The change that the ASM path once took for granted, without the rest of it.
"""

from __future__ import annotations

from typing import Any

import torch


def plant() -> None:
    from sglang.srt.layers.attention import aiter_backend

    updater: Any = aiter_backend.AiterIndicesUpdaterPrefill
    right = updater.update_single_wrapper

    def faulty(
        self: Any,
        req_pool_indices: torch.Tensor,
        seq_lens: torch.Tensor,
        seq_lens_sum: int,
        prefix_lens: torch.Tensor,
        *args: Any,
        **kwargs: Any,
    ) -> None:
        right(
            self, req_pool_indices, seq_lens, seq_lens_sum, prefix_lens, *args, **kwargs
        )
        page_size = self.attn_backend.page_size
        ends = self.kv_indptr[: len(seq_lens) + 1].tolist()
        for start, end in zip(ends, ends[1:], strict=False):
            slots = self.kv_indices[start:end]
            pages = slots[::page_size] // page_size
            self.kv_indices[start : start + len(pages)] = pages

    updater.update_single_wrapper = faulty
