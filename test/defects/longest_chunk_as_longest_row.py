"""The longest row of keys of an extend batch is taken for that of its own tokens.

Equal as long as no sequence has a prefix; kernels size their grids by it.
"""

from __future__ import annotations

from typing import Any


def plant() -> None:
    from sglang.srt.layers.attention import aiter_backend

    backend: Any = aiter_backend.AiterAttnBackend
    right = backend.init_forward_metadata

    def faulty(self: Any, forward_batch: Any) -> None:
        right(self, forward_batch)
        if self.forward_metadata.max_kv_len and forward_batch.extend_seq_lens_cpu:
            self.forward_metadata.max_kv_len = max(forward_batch.extend_seq_lens_cpu)

    backend.init_forward_metadata = faulty
