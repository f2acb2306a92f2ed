"""Sliding-window layers read with the full pool's numbers.

The two pools number their slots apart; in range of both, a full slot names another
token's row in the window's pool.
"""

from __future__ import annotations

from typing import Any


def plant() -> None:
    from sglang.srt.layers.attention import aiter_backend

    backend: Any = aiter_backend.AiterAttnBackend
    prepare = backend.init_forward_metadata
    build = backend._build_extend_unified_page_table

    def faulty_prepare(self: Any, forward_batch: Any) -> None:
        prepare(self, forward_batch)
        fm = self.forward_metadata
        if fm.swa_page_table is not None:
            fm.swa_page_table = fm.kv_indices

    def faulty_build(self: Any, *args: Any) -> tuple[Any, Any]:
        full, window = build(self, *args)
        return full, None if window is None else full

    backend.init_forward_metadata = faulty_prepare
    backend._build_extend_unified_page_table = faulty_build
