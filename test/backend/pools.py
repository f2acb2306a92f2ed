"""SGLang's pools and allocators, poisoned, with pages handed out shuffled."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from sglang.srt.mem_cache.allocator.paged import PagedTokenToKVPoolAllocator
from sglang.srt.mem_cache.allocator.swa import SWATokenToKVPoolAllocator
from sglang.srt.mem_cache.allocator.token import TokenToKVPoolAllocator
from sglang.srt.mem_cache.memory_pool import MHATokenToKVPool, ReqToTokenPool
from sglang.srt.mem_cache.swa_memory_pool import SWAKVPool

from backend.shapes import Setup

DEVICE = "cpu"
# Of the two layers of a pool: nothing reads the first.
DEAD_LAYER, FULL_LAYER, WINDOW_LAYER = 0, 1, 2


class Pools:
    """req_to_token, the KV pool and its allocator.

    Slots of the window's pool and of the full one are disjoint numbers: the full
    pool is twice as large and hands out its upper half only.
    """

    def __init__(self, setup: Setup, generator: torch.Generator) -> None:
        self.setup = setup
        # SGLang's rows have room for drafted tokens behind the context length.
        width = setup.context_len + 4 + (setup.draft_tokens or 0)
        self.requests = ReqToTokenPool(setup.requests, width, DEVICE, False)
        self.kv = self._make_kv()
        self.allocator = self._make_allocator()
        self.poison()
        for allocator, lowest in self._page_allocators():
            allocator.free_pages = _shuffle(allocator, lowest, generator)

    def poison(self) -> None:
        """NaN in every slot of every layer."""
        layers = (DEAD_LAYER, FULL_LAYER, WINDOW_LAYER)
        for layer in layers if self.setup.window is not None else layers[:2]:
            for buffer in self.buffers(layer):
                nan = torch.full((1,), torch.nan).to(self.setup.kv_dtype)
                buffer.copy_(nan.view(buffer.dtype).expand(buffer.shape))

    def place(self, request: int, length: int, tokens: int) -> torch.Tensor:
        """Slots of the next `tokens` tokens of a request that has `length` so far."""
        row = self.requests.req_to_token[request]
        if self.setup.page_size == 1:
            slots = self.allocator.alloc(tokens)
        else:
            last = int(row[length - 1]) if length else -1
            before, after, at = (
                torch.tensor([n], dtype=torch.int64)
                for n in (length, length + tokens, last)
            )
            slots = self.allocator.alloc_extend(
                before, before, after, after, at, tokens
            )
        if slots is None:
            raise MemoryError(f"no {tokens} slots left of {self.setup}")
        row[length : length + tokens] = slots.to(torch.int32)
        placed: torch.Tensor = slots
        return placed

    def own_slots(self, layer: int, slots: torch.Tensor) -> torch.Tensor:
        """Slots of the pool of this layer, from slots of the full pool."""
        if layer != WINDOW_LAYER:
            return slots
        translated: torch.Tensor = self.kv.translate_loc_from_full_to_swa(slots)
        return translated

    def poke(
        self, layer: int, slots: torch.Tensor, k: torch.Tensor, v: torch.Tensor
    ) -> None:
        """Store [n, Hk, D] K and V, as they are to lie in the pool, without SGLang."""
        slots = self.own_slots(layer, slots)
        page, offset = slots // self.setup.page_size, slots % self.setup.page_size
        for which, (buffer, rows) in enumerate(
            zip(self.buffers(layer), (k, v), strict=True)
        ):
            stored = rows.to(self.setup.kv_dtype).view(buffer.dtype)
            if buffer.ndim == 3:
                buffer[slots] = stored
            elif which == 0:
                # [page, head, D / x, offset, x]
                heads = stored.view(len(stored), *buffer.shape[1:3], buffer.shape[4])
                buffer[page, :, :, offset] = heads
            else:
                # [page, head, offset / x, D, x]
                x = buffer.shape[4]
                buffer[page, :, offset // x, :, offset % x] = stored

    def buffers(self, layer: int) -> tuple[torch.Tensor, torch.Tensor]:
        """K and V of a layer in the dtype that they are stored in."""
        pool, index = self.kv, layer
        if self.setup.window is not None:
            index, is_window = self.kv.layers_mapping[layer]
            pool = self.kv.swa_kv_pool if is_window else self.kv.full_kv_pool
        return pool.k_buffer[index], pool.v_buffer[index]

    def _make_kv(self) -> Any:
        setup = self.setup
        common = {
            "page_size": setup.page_size,
            "dtype": setup.kv_dtype,
            "head_num": setup.kv_heads,
            "head_dim": setup.head_dim,
            "device": DEVICE,
            "enable_memory_saver": False,
        }
        if setup.window is None:
            return MHATokenToKVPool(size=setup.slots, layer_num=2, **common)
        return SWAKVPool(
            size=2 * setup.slots,
            size_swa=setup.slots,
            swa_attention_layer_ids=[WINDOW_LAYER],
            full_attention_layer_ids=[DEAD_LAYER, FULL_LAYER],
            **common,
        )

    def _make_allocator(self) -> Any:
        setup = self.setup
        rest = (setup.kv_dtype, DEVICE, self.kv, False)
        if setup.window is not None:
            sizes = (2 * setup.slots, setup.slots, setup.page_size)
            return SWATokenToKVPoolAllocator(*sizes, *rest)
        if setup.page_size == 1:
            return TokenToKVPoolAllocator(setup.slots, *rest)
        return PagedTokenToKVPoolAllocator(setup.slots, setup.page_size, *rest)

    def _page_allocators(self) -> Sequence[tuple[Any, int]]:
        """(allocator, the lowest page id that it may hand out)"""
        if self.setup.window is None:
            return [(self.allocator, 1)]
        pages = self.setup.slots // self.setup.page_size
        return [
            (self.allocator.full_attn_allocator, pages + 1),
            (self.allocator.swa_attn_allocator, 1),
        ]


def _shuffle(allocator: Any, lowest: int, generator: torch.Generator) -> torch.Tensor:
    """The free pages, the last one first and the first one second."""
    pages = allocator.free_pages
    pages = pages[pages >= lowest]
    middle = pages[1:-1]
    order = torch.randperm(len(middle), generator=generator)
    return torch.cat((pages[-1:], pages[:1], middle[order]))
