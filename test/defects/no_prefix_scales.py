"""First chunks from raw K and V, which the kernel scales as if they had been stored.

q gets K's scale too. SGLang up to 0.5.23 does both. Unseen while the scales are 1, as
they are unless a checkpoint has calibrated KV scales.
"""

from __future__ import annotations

from typing import Any

import torch


def plant() -> None:
    from sglang.srt.layers.attention import aiter_backend

    def faulty(
        self: Any,
        q: torch.Tensor,
        k: torch.Tensor,
        v: torch.Tensor,
        layer: Any,
        forward_batch: Any,
        cache_loc: torch.Tensor,
        k_descale: torch.Tensor,
        v_descale: torch.Tensor,
    ) -> torch.Tensor:
        shape = (-1, layer.tp_k_head_num, layer.qk_head_dim)
        raw = [rows.reshape(shape).to(self.kv_cache_dtype) for rows in (k, v)]
        cast = self._quantize_q_fp8
        self._quantize_q_fp8 = lambda q: (cast(q)[0], k_descale)
        try:
            out: torch.Tensor = self._attend_asm_prefill(
                q, raw, layer, forward_batch.batch_size, (k_descale, v_descale)
            )
        finally:
            del self._quantize_q_fp8
        return out

    backend: Any = aiter_backend.AiterAttnBackend
    backend._forward_extend_asm_no_prefix = faulty
