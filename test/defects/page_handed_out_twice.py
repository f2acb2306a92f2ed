"""The allocator keeps the last page of an extend on its free list.

The next request gets it too, and writes over a page that is still being read.
"""

from __future__ import annotations

from typing import Any

import torch


def plant() -> None:
    from sglang.srt.mem_cache.allocator import paged

    allocator: Any = paged.PagedTokenToKVPoolAllocator
    right = allocator.alloc_extend

    def faulty(self: Any, *args: Any, **kwargs: Any) -> torch.Tensor | None:
        before = self.free_pages
        slots: torch.Tensor | None = right(self, *args, **kwargs)
        taken = len(before) - len(self.free_pages)
        if slots is not None and taken > 0:
            self.free_pages = torch.cat((before[taken - 1 : taken], self.free_pages))
        return slots

    allocator.alloc_extend = faulty
