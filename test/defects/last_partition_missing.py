"""Decode is told of the full partitions of the context length alone.

Right for context lengths that 256 divides.
"""

from __future__ import annotations

from typing import Any


def plant() -> None:
    from sglang.srt.layers.attention import aiter_backend

    backend: Any = aiter_backend.AiterAttnBackend
    right = backend.__init__

    def faulty(self: Any, *args: Any, **kwargs: Any) -> None:
        right(self, *args, **kwargs)
        self.max_num_partitions = max(1, self.max_context_len // 256)

    backend.__init__ = faulty
