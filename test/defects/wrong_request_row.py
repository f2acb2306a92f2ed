"""Each sequence's slots come from the next sequence's row of req_to_token.

Right for a batch of one.
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
            self,
            req_pool_indices.roll(-1),
            seq_lens,
            seq_lens_sum,
            prefix_lens,
            *args,
            **kwargs,
        )

    updater.update_single_wrapper = faulty
