"""A decoded token's K and V go into the window's pool at the full pool's slot number.

Modulo the window's pool, so that nothing is out of range.
"""

from __future__ import annotations

from typing import Any

import torch


def plant() -> None:
    from sglang.srt.layers.attention import aiter_backend

    backend: Any = aiter_backend.AiterAttnBackend
    right = backend.forward_decode

    def faulty(
        self: Any, q: Any, k: Any, v: Any, layer: Any, forward_batch: Any, **rest: Any
    ) -> Any:
        pool = self.token_to_kv_pool
        if not self.use_sliding_window_kv_pool or not layer.sliding_window_size > 0:
            return right(self, q, k, v, layer, forward_batch, **rest)
        to_window = pool.full_to_swa_index_mapping
        slots = pool.get_kv_buffer(layer.layer_id)[0].shape[0]
        pool.full_to_swa_index_mapping = torch.arange(len(to_window)) % slots
        try:
            return right(self, q, k, v, layer, forward_batch, **rest)
        finally:
            pool.full_to_swa_index_mapping = to_window

    backend.forward_decode = faulty
