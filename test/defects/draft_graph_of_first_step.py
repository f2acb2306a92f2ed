"""In a draft graph every step reads the table of the first step.

Each step sees one token more than the one before; eager draft steps are right.
"""

from __future__ import annotations

from typing import Any


def plant() -> None:
    from sglang.srt.layers.attention import aiter_backend

    backend: Any = aiter_backend.AiterMultiStepDraftBackend
    right = backend.init_forward_metadata_out_graph

    def faulty(self: Any, forward_batch: Any, in_capture: bool = False) -> None:
        right(self, forward_batch, in_capture)
        for step in self.attn_backends:
            step.forward_metadata.kv_indices = self.cuda_graph_kv_indices[0]

    backend.init_forward_metadata_out_graph = faulty
