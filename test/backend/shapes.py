"""The shapes and lengths of a bench."""

from __future__ import annotations

from dataclasses import dataclass

import torch

FP8 = torch.float8_e4m3fn


@dataclass(frozen=True)
class Setup:
    """What a bench is built for.

    Attributes:
        window: sliding_window_size of a second layer, which has a pool of its own.
        layer_window: sliding_window_size of the one layer of a plain pool.
        k_scale, v_scale: what K and V are divided by before they are stored; None as
            for a checkpoint without scales.
        scaling: of the scores; head_dim**-0.5 if None.
    """

    page_size: int = 16
    head_dim: int = 256
    q_heads: int = 4
    kv_heads: int = 2
    kv_dtype: torch.dtype = FP8
    context_len: int = 512
    slots: int = 2048
    requests: int = 40
    window: int | None = None
    layer_window: int | None = None
    k_scale: float | None = None
    v_scale: float | None = None
    scaling: float | None = None
    soft_cap: float = 0.0
    draft_tokens: int | None = None
    topk: int = 1
