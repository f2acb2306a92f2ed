"""K and V are gathered once per batch, as the indices are, and every layer reads them.

The first layer's rows then serve all later layers. Right for a model of one layer.
"""

from __future__ import annotations

from typing import Any


def plant() -> None:
    from sglang.srt.layers.attention import aiter_backend

    backend: Any = aiter_backend.AiterAttnBackend
    right = backend._gather_asm_context_kv

    def faulty(self: Any, *args: Any) -> Any:
        fm = self.forward_metadata
        if getattr(fm, "asm_ctx_kv", None) is None:
            fm.asm_ctx_kv = right(self, *args)
        return fm.asm_ctx_kv

    backend._gather_asm_context_kv = faulty
