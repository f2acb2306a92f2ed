"""The entries behind the table are -1, not a slot that lives.

CK's prefill kernel reads ahead into them, and -1 is the last slot of the pool or none.
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
        self.kv_indices[int(self.kv_indptr[len(seq_lens)]) :] = -1

    updater.update_single_wrapper = faulty
