"""A decode graph keeps the window slots that its capture wrote new tokens to.

The capture's are those of the sink; the flat layout does not read this buffer, the 5D
one does.
"""

from __future__ import annotations

from typing import Any


def plant() -> None:
    from sglang.srt.layers.attention import aiter_backend

    backend: Any = aiter_backend.AiterAttnBackend
    right = backend.init_forward_metadata_out_graph

    def faulty(self: Any, forward_batch: Any, in_capture: bool = False) -> None:
        right(self, forward_batch, in_capture)
        if self.use_sliding_window_kv_pool:
            self.cuda_graph_swa_out_cache_loc.zero_()

    backend.init_forward_metadata_out_graph = faulty
