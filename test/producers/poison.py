"""Memory that shows when it is read before it is written, or written beside."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from producers.serving import FP8
from producers.signatures import POISON

SENTINEL = -77
"""No slot, no page, no length."""


class SentinelMemory(TorchFunctionMode):
    """What torch.empty and its kin allocate inside the block is filled.

    Tables with the sentinel, K and V rows with NaN, so that an entry that is read
    before it is written shows. `filled` has the shapes.
    """

    def __init__(self) -> None:
        super().__init__()
        self.filled: list[tuple[int, ...]] = []

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Any,
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        made = func(*args, **(kwargs or {}))
        name = getattr(func, "__name__", "")
        if name in ("empty", "empty_like", "new_empty"):
            if made.dtype in (torch.int32, torch.int64):
                made.fill_(SENTINEL)
            elif made.dtype in (FP8, torch.uint8):
                made.view(torch.uint8).fill_(POISON)
            else:
                return made
            self.filled.append(tuple(made.shape))
        return made


class Fenced:
    """A buffer of sentinels between two fences of them.

    Attributes:
        buffer: [size] of the dtype, a view into the middle.
    """

    FENCE = 64

    def __init__(self, size: int, dtype: torch.dtype = torch.int32) -> None:
        self._memory = torch.full((size + 2 * self.FENCE,), SENTINEL, dtype=dtype)
        self.buffer = self._memory[self.FENCE : self.FENCE + size]

    def check_fences(self) -> None:
        """Fail if anything was written before or behind the buffer."""
        before = self._memory[: self.FENCE].tolist()
        behind = self._memory[len(self._memory) - self.FENCE :].tolist()
        assert set(before + behind) == {SENTINEL}, (before, behind)
