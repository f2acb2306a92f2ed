"""A cached prefix is put together from its last page to its first.

The slots of the prefix are all there, in the wrong order; one page alone is right.
"""

from __future__ import annotations

from typing import Any

import torch


def plant() -> None:
    from sglang.srt.mem_cache.unified_radix_cache import UnifiedRadixCache

    cache: Any = UnifiedRadixCache
    of_request, of_path = cache.prefix_device_indices, cache.path_device_indices

    def reverse(slots: torch.Tensor, page_size: int) -> torch.Tensor:
        return slots.view(-1, page_size).flip(0).flatten()

    def prefix_device_indices(self: Any, request: Any) -> torch.Tensor:
        return reverse(of_request(self, request), self.page_size)

    def path_device_indices(self: Any, node: Any) -> torch.Tensor:
        return reverse(of_path(self, node), self.page_size)

    cache.prefix_device_indices = prefix_device_indices
    cache.path_device_indices = path_device_indices
