"""The graph's table has room for one entry per page, and one per token is written.

SGLang pull request 24587: an illegal access, later and elsewhere. Right at page size 1.
"""

from __future__ import annotations

from typing import Any

import torch


def plant() -> None:
    from sglang.srt.layers.attention import aiter_backend

    backend: Any = aiter_backend.AiterAttnBackend
    right = backend.init_cuda_graph_state

    def faulty(self: Any, max_bs: int, *args: Any, **kwargs: Any) -> None:
        right(self, max_bs, *args, **kwargs)
        pages = -(-self.max_context_len // self.page_size)
        self.cuda_graph_kv_indices = torch.zeros(max_bs * pages, dtype=torch.int32)

    backend.init_cuda_graph_state = faulty
