"""Every replay of a decode graph reads the table of the batch that was captured.

TensorRT-LLM pull request 17110 had block ids frozen into a graph; the score fell by 8
points and nothing else showed.
"""

from __future__ import annotations

from typing import Any


def plant() -> None:
    from sglang.srt.layers.attention import aiter_backend

    backend: Any = aiter_backend.AiterAttnBackend
    right = backend._apply_cuda_graph_metadata

    def faulty(self: Any, *args: Any, **kwargs: Any) -> None:
        right(self, *args, **kwargs)
        table = self.cuda_graph_kv_indices
        frozen = getattr(self, "_captured_kv_indices", None)
        if frozen is None:
            self._captured_kv_indices = table.clone()
        else:
            table.copy_(frozen)

    backend._apply_cuda_graph_metadata = faulty
