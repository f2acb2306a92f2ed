"""A row begins with the chunk's own tokens; those of the prefix follow behind.

A copy that starts at the prefix's end, over a row that has to have every token.
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
        rows = zip(ends, ends[1:], prefix_lens.tolist(), strict=False)
        for start, end, prefix in rows:
            self.kv_indices[start:end] = self.kv_indices[start:end].roll(-prefix)

    updater.update_single_wrapper = faulty
