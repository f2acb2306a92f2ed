"""V is stored as it is where it has to be divided by its scale first.

Every path that reads it multiplies, so all chunks are off alike, at every page size.
"""

from __future__ import annotations

from typing import Any

import torch


def plant() -> None:
    from sglang.srt.layers.attention import aiter_backend

    backend: Any = aiter_backend.AiterAttnBackend
    right = backend.forward_extend

    def faulty(
        self: Any,
        q: torch.Tensor,
        k: torch.Tensor,
        v: torch.Tensor,
        layer: Any,
        *args: Any,
        **kwargs: Any,
    ) -> torch.Tensor:
        if v is not None and layer.v_scale is not None:
            v = v * layer.v_scale.to(v.dtype)
        out: torch.Tensor = right(self, q, k, v, layer, *args, **kwargs)
        return out

    backend.forward_extend = faulty
