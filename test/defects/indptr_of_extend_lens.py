"""The producer adds up the chunk's own lengths where the whole sequences' are wanted.

The table is right; its rows begin and end elsewhere.
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
        bs = len(seq_lens)
        self.kv_indptr[1 : bs + 1] = torch.cumsum(seq_lens - prefix_lens, dim=0)

    updater.update_single_wrapper = faulty
