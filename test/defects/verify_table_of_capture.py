"""A graph that verifies drafts keeps the page table of its capture.

Replays refresh lengths alone: every row reads the pages of the captured one.
"""

from __future__ import annotations

from typing import Any


def plant() -> None:
    from sglang.srt.layers.attention import aiter_backend

    backend: Any = aiter_backend.AiterAttnBackend
    right = backend._build_verify_unified_metadata

    def faulty(self: Any, *args: Any, **kwargs: Any) -> Any:
        graph = kwargs.get("page_table_dest")
        kept = getattr(self, "_kept_verify_table", None)
        made = right(self, *args, **kwargs)
        if graph is not None:
            if kept is None:
                self._kept_verify_table = graph.clone()
            else:
                graph.copy_(kept[: len(graph)])
        return made

    backend._build_verify_unified_metadata = faulty
