"""The indices of a batch are made anew for every layer.

Right, but each layer of a batch that falls back warns and counts again, and each layer
of any other waits for the device. Issues of several engines are about such logs.
"""

from __future__ import annotations

from typing import Any


def plant() -> None:
    from sglang.srt.layers.attention import aiter_backend

    backend: Any = aiter_backend.AiterAttnBackend
    right = backend._asm_context_prefill_indices

    def faulty(
        self: Any, forward_batch: Any, bs: int, num_kv_slots: int
    ) -> tuple[Any, Any]:
        self.forward_metadata.asm_ctx_ready = False
        made: tuple[Any, Any] = right(self, forward_batch, bs, num_kv_slots)
        return made

    backend._asm_context_prefill_indices = faulty
