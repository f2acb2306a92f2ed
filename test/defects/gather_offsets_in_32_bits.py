"""Byte offsets into a pool are multiplied in 32 bits.

Right up to 2 GiB of rows per layer; behind, rows come from elsewhere in the pool, or
from in front of it.
"""

from __future__ import annotations

from typing import Any

import torch


def plant() -> None:
    from sglang.srt.layers.attention import aiter_kv_gather

    right = aiter_kv_gather.gather_kv

    def faulty(
        k_cache: torch.Tensor, v_cache: torch.Tensor, tok_idx: torch.Tensor, *out: Any
    ) -> tuple[torch.Tensor, torch.Tensor]:
        gathered = []
        for cache in (k_cache, v_cache):
            row = cache.stride(0) * cache.element_size()
            offset = tok_idx.long() * row % 2**32
            wrapped = torch.where(offset < 2**31, offset, offset - 2**31) // row
            gathered.append(right(cache, cache, wrapped)[0])
        k, v = gathered
        return k, v

    aiter_kv_gather.gather_kv = faulty
