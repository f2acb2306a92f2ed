"""The scales of a batch's first layer serve all of its layers.

A checkpoint has one pair per layer. Right for one layer, or where all are equal.
"""

from __future__ import annotations

from typing import Any


def plant() -> None:
    from sglang.srt.layers.attention import aiter_backend

    backend: Any = aiter_backend.AiterAttnBackend
    right = backend._attend_asm_prefill

    def faulty(
        self: Any, q: Any, kv: Any, layer: Any, bs: int, descales: Any, cu_k: Any = None
    ) -> Any:
        fm = self.forward_metadata
        if not hasattr(fm, "asm_descales"):
            fm.asm_descales = descales
        return right(self, q, kv, layer, bs, fm.asm_descales, cu_k)

    backend._attend_asm_prefill = faulty
