"""A batch that falls back to the paged kernel says nothing of it, nowhere.

The first version fell back like this: a speed that is lost, and a fault that is hidden.
"""

from __future__ import annotations

from typing import Any


def plant() -> None:
    from sglang.srt.layers.attention import aiter_backend

    def faulty(*_: Any) -> None:
        return None

    aiter_backend._asm_context_prefill_fallback = faulty
