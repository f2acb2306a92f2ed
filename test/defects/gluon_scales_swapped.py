"""Decode over a 5D pool is given K's scale for V and V's for K.

Unseen while both are equal, or 1.
"""

from __future__ import annotations

import inspect
from functools import wraps
from typing import Any


def plant() -> None:
    from sglang.srt.layers.attention import aiter_utils

    right: Any = aiter_utils.pa_decode_gluon
    signature = inspect.signature(right)

    @wraps(right)
    def faulty(*args: Any, **kwargs: Any) -> Any:
        given = signature.bind(*args, **kwargs).arguments
        given["key_scale"], given["value_scale"] = (
            given["value_scale"],
            given["key_scale"],
        )
        return right(**given)

    aiter_utils.pa_decode_gluon = faulty
