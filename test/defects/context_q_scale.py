"""Later chunks with K's scale for q, which was cast at unit scale.

SGLang 0.5.19 to 0.5.23 pass it. Unseen while K's scale is 1, as it is unless a
checkpoint has calibrated KV scales.
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
        cast = self._quantize_q_fp8
        self._quantize_q_fp8 = lambda q: (cast(q)[0], k_descale)
        try:
            out: torch.Tensor | None = right(
                self, q, layer, forward_batch, k_descale, v_descale
            )
        finally:
            del self._quantize_q_fp8
        return out

    backend._forward_extend_asm_context = faulty
