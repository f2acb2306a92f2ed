"""The 5D layout inside a hybrid model's pool."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from sglang.srt.layers.attention.aiter_backend import AiterAttnBackend
from sglang.srt.mem_cache.memory_pool import HybridLinearKVPool

from backend.bench import Bench
from backend.pools import FULL_LAYER
from backend.runner import configured
from backend.shapes import Setup
from backend.switches import switched


@pytest.mark.xfail(
    strict=True,
    raises=AssertionError,
    reason="upstream: sgl-project/sglang#29009, the wrapper has no kv_cache_layout",
)
def test_backend_sees_the_layout_through_the_wrapper() -> None:
    with switched("5D"):
        bench = Bench(Setup())
        assert bench.backend.kv_cache_is_vectorized_5d
        setup, inner = bench.setup, bench.pools.kv
        bench.runner.token_to_kv_pool = HybridLinearKVPool(
            size=setup.slots,
            dtype=setup.kv_dtype,
            page_size=setup.page_size,
            head_num=setup.kv_heads,
            head_dim=setup.head_dim,
            full_attention_layer_ids=[0, FULL_LAYER],
            device="cpu",
            mamba_pool=SimpleNamespace(mamba_cache=None),
            full_kv_pool=inner,
        )
        with configured(setup):
            backend = AiterAttnBackend(bench.runner)
    assert inner.kv_cache_layout == "vectorized_5d"
    assert backend.kv_cache_is_vectorized_5d
