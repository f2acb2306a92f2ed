"""New K and V are written one page further on, round the end of the pool.

Reads go where the tables say, to what was there before.
"""

from __future__ import annotations

from typing import Any


def plant() -> None:
    from sglang.srt.layers.attention import aiter_backend

    backend: Any = aiter_backend.AiterAttnBackend
    for name in ("forward_extend", "forward_decode"):
        setattr(backend, name, _late(getattr(backend, name)))


def _late(right: Any) -> Any:
    def faulty(
        self: Any, q: Any, k: Any, v: Any, layer: Any, forward_batch: Any, **rest: Any
    ) -> Any:
        slots = self.token_to_kv_pool.get_kv_buffer(layer.layer_id)[0].shape[0]
        loc = forward_batch.out_cache_loc
        forward_batch.out_cache_loc = (loc + self.page_size) % slots
        try:
            return right(self, q, k, v, layer, forward_batch, **rest)
        finally:
            forward_batch.out_cache_loc = loc

    return faulty
