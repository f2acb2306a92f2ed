"""How often each kernel was called in this process."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Callable
from typing import ParamSpec, TypeVar

_P = ParamSpec("_P")
_R = TypeVar("_R")

calls: Counter[str] = Counter()
"""Calls per kernel name, counted on entry: a call that raises is counted too."""


def counted(kernel: Callable[_P, _R]) -> Callable[_P, _R]:
    """Count the calls of `kernel` under its own name."""

    @functools.wraps(kernel)
    def call(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        calls[kernel.__name__] += 1
        return kernel(*args, **kwargs)

    return call


def reset_calls() -> None:
    """Forget every count."""
    calls.clear()
