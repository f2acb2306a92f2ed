"""As many sequences are served as lengths and offsets both have; the rest is lost."""

from __future__ import annotations

from typing import Any

import torch


def plant() -> None:
    from sglang.srt.layers.attention import aiter_backend

    right = aiter_backend._asm_context_prefill_gather_indices

    def faulty(
        kv_indptr: torch.Tensor,
        kv_indices: torch.Tensor,
        seq_lens: torch.Tensor,
        num_kv_slots: int,
        forward_mode: Any = None,
    ) -> Any:
        bs = min(seq_lens.numel(), kv_indptr.numel() - 1)
        return right(
            kv_indptr[: bs + 1], kv_indices, seq_lens[:bs], num_kv_slots, forward_mode
        )

    aiter_backend._asm_context_prefill_gather_indices = faulty
