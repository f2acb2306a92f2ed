"""An extend batch takes its offsets from the backend, not from what wrote them.

Both are one buffer until a decode graph asks for more rows than the request pool has:
then the backend makes itself new ones, which the prefill updater does not fill.
"""

from __future__ import annotations

from typing import Any


def plant() -> None:
    from sglang.srt.layers.attention import aiter_backend
    from sglang.srt.model_executor.forward_batch_info import ForwardMode

    backend: Any = aiter_backend.AiterAttnBackend
    right = backend.init_forward_metadata

    def faulty(self: Any, forward_batch: Any) -> None:
        right(self, forward_batch)
        fm, mode = self.forward_metadata, forward_batch.forward_mode
        if mode in (ForwardMode.EXTEND, ForwardMode.MIXED):
            fm.kv_indptr = self.kv_indptr
            fm.qo_indptr = self.qo_indptr[: forward_batch.batch_size + 1]

    backend.init_forward_metadata = faulty
