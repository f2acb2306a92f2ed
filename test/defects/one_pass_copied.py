"""The index kernel copies one pass of 512 tokens and leaves the rest of a row alone.

A loop count for one page size; rows of up to 512 tokens are right.
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
        ends = self.kv_indptr[: len(seq_lens) + 1].tolist()
        for start, end in zip(ends, ends[1:], strict=False):
            self.kv_indices[start + 512 : end] = self.kv_indices[start]

    updater.update_single_wrapper = faulty
