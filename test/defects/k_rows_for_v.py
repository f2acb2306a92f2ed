"""The gather takes V's rows out of K's pool, where both have one shape."""

from __future__ import annotations

from typing import Any

import torch


def plant() -> None:
    from sglang.srt.layers.attention import aiter_kv_gather

    right = aiter_kv_gather.gather_kv

    def faulty(
        k_cache: torch.Tensor, v_cache: torch.Tensor, tok_idx: torch.Tensor, *out: Any
    ) -> tuple[torch.Tensor, torch.Tensor]:
        same = k_cache.shape == v_cache.shape
        k, v = right(k_cache, k_cache if same else v_cache, tok_idx, *out)
        return k, v

    aiter_kv_gather.gather_kv = faulty
