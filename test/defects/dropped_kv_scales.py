"""Later chunks read the cached K and V as if they had been stored at unit scale.

Unseen while the scales are 1.
"""

from __future__ import annotations

from typing import Any

import torch


def plant() -> None:
    from sglang.srt.layers.attention import aiter_backend

    backend: Any = aiter_backend.AiterAttnBackend
    right = backend._forward_extend_asm_context

    def faulty(
        self: Any,
        q: torch.Tensor,
        layer: Any,
        forward_batch: Any,
        k_descale: torch.Tensor,
        v_descale: torch.Tensor,
    ) -> torch.Tensor | None:
        unit = torch.ones_like(k_descale)
        out: torch.Tensor | None = right(self, q, layer, forward_batch, unit, unit)
        return out

    backend._forward_extend_asm_context = faulty
