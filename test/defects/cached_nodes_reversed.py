"""A cached prefix is put together from its last node to its first.

The slots of the prefix are all there, in the wrong order; a prefix that was cached in
one piece is right.
"""

from __future__ import annotations

from typing import Any

import torch


def plant() -> None:
    from sglang.srt.mem_cache.radix_cache import RadixCache

    cache: Any = RadixCache

    def faulty(self: Any, node: Any) -> torch.Tensor:
        values = []
        while node is not self.root_node:
            values.append(node.value)
            node = node.parent
        empty: torch.Tensor = self._empty_device_indices
        return torch.cat(values) if values else empty

    cache.path_device_indices = faulty
