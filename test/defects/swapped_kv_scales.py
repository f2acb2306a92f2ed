"""Later chunks take K's scale for V and V's for K.

Unseen while both are equal.
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
        out: torch.Tensor | None = right(
            self, q, layer, forward_batch, v_descale, k_descale
        )
        return out

    backend._forward_extend_asm_context = faulty
