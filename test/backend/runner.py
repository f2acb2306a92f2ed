"""What the backend reads of a model runner, of its configuration and of a layer."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import torch
from sglang.srt.configs.model_config import AttentionArch
from sglang.srt.layers.radix_attention import RadixAttention
from sglang.srt.mem_cache.kv_index_translator import KVIndexTranslator
from sglang.srt.runtime_context import get_schedule, get_spec

from backend.pools import DEVICE, Pools
from backend.shapes import Setup


@contextmanager
def configured(setup: Setup) -> Iterator[None]:
    """SGLang's configuration while a backend is built from it."""
    with (
        get_schedule().override(page_size=setup.page_size),
        get_spec().override(
            speculative_num_draft_tokens=setup.draft_tokens,
            speculative_num_steps=(setup.draft_tokens or 1) - 1,
        ),
    ):
        yield


def make_layer(setup: Setup, layer_id: int, window: int | None) -> Any:
    layer = RadixAttention(
        num_heads=setup.q_heads,
        head_dim=setup.head_dim,
        scaling=setup.scaling or setup.head_dim**-0.5,
        num_kv_heads=setup.kv_heads,
        layer_id=layer_id,
        logit_cap=setup.soft_cap,
        sliding_window_size=-1 if window is None else window,
    )
    for name in ("k_scale", "v_scale"):
        scale = getattr(setup, name)
        if scale is not None:
            setattr(layer, name, torch.tensor(scale))
            setattr(layer, f"{name}_float", scale)
    return layer


def make_runner(setup: Setup, pools: Pools) -> Any:
    config = SimpleNamespace(
        dtype=torch.bfloat16,
        attention_arch=AttentionArch.MHA,
        is_multimodal=False,
        num_attention_heads=setup.q_heads,
        head_dim=setup.head_dim,
        context_len=setup.context_len,
        get_num_kv_heads=lambda tp_size, dcp_size=1: setup.kv_heads,
    )
    return SimpleNamespace(
        model_config=config,
        device=DEVICE,
        dtype=torch.bfloat16,
        kv_cache_dtype=setup.kv_dtype,
        sliding_window_size=setup.window,
        is_draft_worker=False,
        req_to_token_pool=pools.requests,
        token_to_kv_pool=pools.kv,
        token_to_kv_pool_allocator=pools.allocator,
        kv_index_translator=KVIndexTranslator(
            req_to_token=pools.requests.req_to_token,
            token_to_kv_pool_allocator=pools.allocator,
            token_to_kv_pool=pools.kv,
            page_size=setup.page_size,
            device=DEVICE,
        ),
    )
