"""A decode step does not see the token that it has just written.

Lengths from before the step. Attention over all but one token is nearly right.
"""

from __future__ import annotations

from typing import Any

import torch


def plant() -> None:
    from sglang.srt.layers.attention import aiter_backend

    backend: Any = aiter_backend.AiterAttnBackend
    right = backend.init_forward_metadata

    def faulty(self: Any, forward_batch: Any) -> None:
        right(self, forward_batch)
        fm = self.forward_metadata
        flat = forward_batch.spec_info is None and not self.decode_uses_page_table
        if not forward_batch.forward_mode.is_decode() or not flat:
            return
        ends = fm.kv_indptr.tolist()
        rows = [
            fm.kv_indices[start : max(start + 1, end - 1)]
            for start, end in zip(ends, ends[1:], strict=False)
        ]
        fm.kv_indices = torch.cat(rows)
        offsets = torch.tensor([0, *map(len, rows)]).cumsum(0)
        fm.kv_indptr = offsets.to(fm.kv_indptr.dtype)

    backend.init_forward_metadata = faulty
