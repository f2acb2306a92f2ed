"""How a request is locked, cut, kept and given back, in either of SGLang's two ways.

Since 0.5.22 a request knows how long its prefix is and holds its lock. Before, it holds
the prefix's slots and the receipt of a lock on its last node.
"""

from __future__ import annotations

from functools import cache
from typing import Any, Protocol


class Lifecycle(Protocol):
    """One way; `tree` is the radix cache, lengths are in tokens."""

    def lock(self, tree: Any, request: Any) -> None:
        """Lock the prefix that was matched."""

    def unlock(self, tree: Any, request: Any) -> None:
        """Undo `lock`, of a request that never ran."""

    def prefix_len(self, request: Any) -> int:
        """Tokens that are in the request's row, or cached for it."""

    def extend_to(self, request: Any, end: int) -> None:
        """Let the next extend cover [prefix_len, end)."""

    def checkpoint(self, tree: Any, request: Any) -> None:
        """Publish an extended request's tokens, as after each chunk."""

    def release(self, tree: Any, request: Any, *, keep: bool) -> None:
        """Give the row back; with `keep` its tokens stay in the radix cache."""


class ByLength:
    """Since 0.5.22."""

    def lock(self, tree: Any, request: Any) -> None:
        request.lock = tree.lock(request.last_node)

    def unlock(self, tree: Any, request: Any) -> None:
        tree.unlock(request.lock)
        request.lock = None

    def prefix_len(self, request: Any) -> int:
        return int(request.prefix_len)

    def extend_to(self, request: Any, end: int) -> None:
        request.extend_end = end

    def checkpoint(self, tree: Any, request: Any) -> None:
        from sglang.srt.mem_cache.common import checkpoint_kv_cache

        checkpoint_kv_cache(request, tree)

    def release(self, tree: Any, request: Any, *, keep: bool) -> None:
        from sglang.srt.mem_cache.common import release_kv_cache

        release_kv_cache(request, tree, checkpoint=keep)


class BySlots:
    """Before 0.5.22."""

    def lock(self, tree: Any, request: Any) -> None:
        receipt = tree.inc_lock_ref(request.last_node)
        request.lock_receipt = receipt.to_dec_params()
        # 0.5.19 knows of this part of it alone.
        request.swa_uuid_for_lock = getattr(receipt, "swa_uuid_for_lock", None)

    def unlock(self, tree: Any, request: Any) -> None:
        tree.dec_lock_ref(request.last_node, request.lock_receipt)

    def prefix_len(self, request: Any) -> int:
        return len(request.prefix_indices)

    def extend_to(self, request: Any, end: int) -> None:
        request.set_extend_range(self.prefix_len(request), end)

    def checkpoint(self, tree: Any, request: Any) -> None:
        from sglang.srt.mem_cache.common import maybe_cache_unfinished_req

        maybe_cache_unfinished_req(request, tree, chunked=True)

    def release(self, tree: Any, request: Any, *, keep: bool) -> None:
        from sglang.srt.mem_cache.common import release_kv_cache

        release_kv_cache(request, tree, is_insert=keep)


@cache
def lifecycle() -> Lifecycle:
    """The way of the SGLang that is imported."""
    from sglang.srt.mem_cache import common

    return ByLength() if hasattr(common, "checkpoint_kv_cache") else BySlots()
