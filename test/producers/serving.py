"""The parts of a model runner that make and read KV tables, all of them SGLang's own.

Only the model is missing: no weights, no scheduler process, no server.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import torch

from producers.platform import load_aiter_backend

FP8 = torch.float8_e4m3fn
Q_HEADS, KV_HEADS, HEAD_DIM = 4, 2, 256
FULL_LAYER, WINDOW_LAYER = 0, 1
WINDOW = 31
RETAINED = 4096


@dataclass(frozen=True)
class Serving:
    """A backend with its pools, as a model runner holds them.

    Attributes:
        pool: K and V, [slots, KV_HEADS, HEAD_DIM] fp8 per layer. Slots of page 0 are
            never handed out, so there is one page more than the allocator has.
        allocator: hands out pages of `page_size` slots, in shuffled order; the last
            page of the pool first, then page 1.
        req_to_token: [rows, context_len] int32, the slot of every token of a request.
        tree_cache: the radix cache over the same pool.
    """

    page_size: int
    backend: Any
    pool: Any
    allocator: Any
    req_to_token_pool: Any
    tree_cache: Any

    @property
    def req_to_token(self) -> torch.Tensor:
        table: torch.Tensor = self.req_to_token_pool.req_to_token
        return table

    @property
    def num_slots(self) -> int:
        return int(self.kv_buffers()[0].shape[0])

    def kv_buffers(self, layer: int = FULL_LAYER) -> tuple[torch.Tensor, torch.Tensor]:
        k, v = self.pool.get_kv_buffer(layer)
        return k, v


@contextmanager
def serve(
    page_size: int,
    num_pages: int,
    *,
    context_len: int = 1024,
    max_requests: int = 48,
    window_pages: int | None = None,
    draft_tokens: int = 0,
    seed: int = 0,
) -> Iterator[Serving]:
    """A backend over a pool of `num_pages` usable pages.

    Args:
        context_len: tokens in a row of req_to_token.
        window_pages: usable pages of a second pool, for sliding-window layers.
        draft_tokens: speculative tokens that graph buffers leave room for.
    """
    aiter_backend = load_aiter_backend()
    from sglang.srt.runtime_context import get_context, get_parallel

    with ExitStack() as stack:
        stack.enter_context(get_parallel().override(attn_tp_size=1, attn_dcp_rank=0))
        stack.enter_context(
            get_context().override_server_args(
                page_size=page_size,
                attention_backend="aiter",
                speculative_algorithm=None,
                speculative_num_draft_tokens=draft_tokens,
                speculative_num_steps=0,
            )
        )
        pool, allocator = _make_pool(page_size, num_pages, window_pages)
        for part in _sub_allocators(allocator):
            part.free_pages = _ends_first(part.free_pages, seed)
        runner = _make_runner(page_size, pool, allocator, context_len, max_requests)
        yield Serving(
            page_size=page_size,
            backend=aiter_backend.AiterAttnBackend(runner),
            pool=pool,
            allocator=allocator,
            req_to_token_pool=runner.req_to_token_pool,
            tree_cache=_make_tree_cache(runner.req_to_token_pool, allocator, page_size),
        )


def _make_pool(
    page_size: int, num_pages: int, window_pages: int | None
) -> tuple[Any, Any]:
    from sglang.srt.mem_cache.allocator import (
        PagedTokenToKVPoolAllocator,
        TokenToKVPoolAllocator,
    )
    from sglang.srt.mem_cache.allocator.swa import SWATokenToKVPoolAllocator
    from sglang.srt.mem_cache.memory_pool import MHATokenToKVPool
    from sglang.srt.mem_cache.swa_memory_pool import SWAKVPool

    size = num_pages * page_size
    shape = {
        "dtype": FP8,
        "head_num": KV_HEADS,
        "head_dim": HEAD_DIM,
        "device": "cpu",
        "enable_memory_saver": False,
        "enable_alt_stream": False,
    }
    if window_pages is not None:
        size_swa = window_pages * page_size
        pool = SWAKVPool(
            size=size,
            size_swa=size_swa,
            page_size=page_size,
            swa_attention_layer_ids=[WINDOW_LAYER],
            full_attention_layer_ids=[FULL_LAYER],
            **shape,
        )
        return pool, SWATokenToKVPoolAllocator(
            size, size_swa, page_size, FP8, "cpu", pool, need_sort=False
        )
    pool = MHATokenToKVPool(size=size, page_size=page_size, layer_num=1, **shape)
    if page_size == 1:
        return pool, TokenToKVPoolAllocator(size, FP8, "cpu", pool, need_sort=False)
    return pool, PagedTokenToKVPoolAllocator(
        size, page_size, FP8, "cpu", pool, need_sort=False
    )


def _sub_allocators(allocator: Any) -> Sequence[Any]:
    if hasattr(allocator, "swa_attn_allocator"):
        return allocator.full_attn_allocator, allocator.swa_attn_allocator
    return (allocator,)


def _ends_first(pages: torch.Tensor, seed: int) -> torch.Tensor:
    """`pages` shuffled, but for the last and the first, which come first."""
    generator = torch.Generator().manual_seed(seed)
    order = torch.randperm(len(pages) - 2, generator=generator) + 1
    return torch.cat((pages[-1:], pages[:1], pages[order]))


def _make_runner(
    page_size: int, pool: Any, allocator: Any, context_len: int, max_requests: int
) -> Any:
    from sglang.srt.configs.model_config import AttentionArch
    from sglang.srt.mem_cache.kv_index_translator import KVIndexTranslator
    from sglang.srt.mem_cache.memory_pool import ReqToTokenPool

    req_to_token_pool = ReqToTokenPool(max_requests, context_len, "cpu", False)
    config = SimpleNamespace(
        attention_arch=AttentionArch.MHA,
        context_len=context_len,
        dtype=torch.bfloat16,
        get_num_kv_heads=lambda tp_size: KV_HEADS,
        head_dim=HEAD_DIM,
        is_multimodal=False,
        num_attention_heads=Q_HEADS,
    )
    return SimpleNamespace(
        decode_attention_backend_str="aiter",
        device="cpu",
        dtype=torch.bfloat16,
        kv_cache_dtype=FP8,
        kv_index_translator=KVIndexTranslator(
            req_to_token=req_to_token_pool.req_to_token,
            token_to_kv_pool_allocator=allocator,
            token_to_kv_pool=pool,
            page_size=page_size,
            device="cpu",
        ),
        model_config=config,
        req_to_token_pool=req_to_token_pool,
        sliding_window_size=WINDOW if hasattr(pool, "swa_kv_pool") else None,
        token_to_kv_pool=pool,
        token_to_kv_pool_allocator=allocator,
    )


def _make_tree_cache(req_to_token_pool: Any, allocator: Any, page_size: int) -> Any:
    """The prefix cache that SGLang's registry chooses for such a model."""
    from sglang.srt.mem_cache.cache_init_params import CacheInitParams
    from sglang.srt.mem_cache.unified_cache.components import ComponentType
    from sglang.srt.mem_cache.unified_radix_cache import UnifiedRadixCache

    has_window = hasattr(allocator.get_kvcache(), "swa_kv_pool")
    components = (ComponentType.FULL, *([ComponentType.SWA] if has_window else []))
    return UnifiedRadixCache(
        CacheInitParams(
            disable=False,
            req_to_token_pool=req_to_token_pool,
            token_to_kv_pool_allocator=allocator,
            page_size=page_size,
            tree_components=components,
            # More than any request here: every entry of a table is a token that lives.
            sliding_window_size=RETAINED if has_window else None,
        )
    )
