"""The context chunk looks into the pool inside the pool, with the model's layer number.

A pool of two counts its layers for itself: right where the full-attention layers are
the model's first.
"""

from __future__ import annotations

from typing import Any
from unittest import mock


def plant() -> None:
    from sglang.srt.layers.attention import aiter_backend

    backend: Any = aiter_backend.AiterAttnBackend
    right = backend._forward_extend_asm_context

    def faulty(self: Any, *args: Any, **kwargs: Any) -> Any:
        pool = self.token_to_kv_pool
        inner = getattr(pool, "full_kv_pool", pool)
        with mock.patch.object(self, "token_to_kv_pool", inner):
            return right(self, *args, **kwargs)

    backend._forward_extend_asm_context = faulty
