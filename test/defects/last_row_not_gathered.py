"""The last row of a gather stays as the buffer had it: a grid one row short."""

from __future__ import annotations

from typing import Any

import torch


def plant() -> None:
    from sglang.srt.layers.attention import aiter_kv_gather

    right = aiter_kv_gather.gather_kv

    def faulty(
        k_cache: torch.Tensor, v_cache: torch.Tensor, tok_idx: torch.Tensor, *out: Any
    ) -> tuple[torch.Tensor, torch.Tensor]:
        k, v = right(k_cache, v_cache, tok_idx, *out)
        for rows in (k, v):
            rows[-1:].view(torch.uint8).zero_()
        return k, v

    aiter_kv_gather.gather_kv = faulty
