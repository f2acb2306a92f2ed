"""Hits and fallbacks: counted per batch, logged once, on /metrics."""

from __future__ import annotations

import prometheus_client
import pytest
import torch
from sglang.srt.layers.attention import aiter_backend

from overlay.backends import LAYER, Kernel, attend, backend_with_pool
from overlay.batches import extend_batch


@pytest.fixture(autouse=True)
def fresh_counts() -> None:
    aiter_backend._asm_context_prefill_counts.clear()


def test_batch_is_counted_once_over_its_layers_and_the_first_is_logged(
    kernel: Kernel, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    for _ in range(2):
        backend, batch = extend_batch([9, 4])
        for _ in range(3):
            attend(backend_with_pool(backend), batch)
    assert dict(aiter_backend._asm_context_prefill_counts) == {"hit": 2}
    assert caplog.text.count("serving context chunks") == 1


def test_layers_of_both_head_dims_are_one_hit(kernel: Kernel) -> None:
    """The branch of head_dim 128 takes its K and V from the same method."""
    holder, batch = extend_batch([9, 4])
    backend = backend_with_pool(holder)
    caches = backend.token_to_kv_pool.get_kv_buffer(LAYER)
    k, _ = backend._gather_asm_context_kv(*caches, torch.tensor([4, 2]))
    attend(backend, batch)
    assert k.view(torch.uint8)[:, 0, 0].tolist() == [4, 2]
    assert dict(aiter_backend._asm_context_prefill_counts) == {"hit": 1}


def test_counts_are_on_prometheus_where_sglang_serves_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PROMETHEUS_MULTIPROC_DIR", "unused")
    monkeypatch.setattr(aiter_backend, "_asm_context_prefill_metric", None)
    try:
        for outcome in ("hit", "slot_past_pool", "slot_past_pool"):
            aiter_backend._count_asm_context_prefill(outcome)
        value = prometheus_client.REGISTRY.get_sample_value
        name = "sglang:asm_context_prefill_total"
        assert value(name, {"outcome": "hit"}) == 1
        assert value(name, {"outcome": "slot_past_pool"}) == 2
    finally:
        registry = prometheus_client.REGISTRY
        registry.unregister(aiter_backend._asm_context_prefill_metric)
