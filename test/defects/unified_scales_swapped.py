"""unified_attention is given K's scale for V and V's for K.

It serves decode and windows of a model with two pools, and drafts; unseen while both
scales are equal, or 1.
"""

from __future__ import annotations

from functools import wraps
from typing import Any


def plant() -> None:
    from sglang.srt.layers.attention import aiter_backend

    right: Any = aiter_backend.unified_attention

    @wraps(right)
    def faulty(*args: Any, k_descale: Any, v_descale: Any, **kwargs: Any) -> Any:
        return right(*args, k_descale=v_descale, v_descale=k_descale, **kwargs)

    aiter_backend.unified_attention = faulty
