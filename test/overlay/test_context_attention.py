"""The context-chunk method: what it hands to the ASM kernel, and what it returns."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import prometheus_client
import pytest
import torch
from sglang.srt.layers.attention import aiter_backend

from overlay.batches import SLOTS, extend_batch

FP8 = torch.float8_e4m3fn
HEADS, KV_HEADS, DIM = 4, 2, 256
LAYER, MAX_Q_LEN = 7, 3


class Kernel:
    """In place of the ASM kernel: keeps its arguments."""

    def __init__(self) -> None:
        self.calls: list[tuple[tuple[Any, ...], dict[str, Any]]] = []

    def __call__(self, *args: Any, **kwargs: Any) -> torch.Tensor:
        self.calls.append((args, kwargs))
        q: torch.Tensor = args[0]
        return q.to(torch.bfloat16)


@pytest.fixture
def kernel(monkeypatch: pytest.MonkeyPatch) -> Kernel:
    stand_in = Kernel()
    monkeypatch.setattr(
        aiter_backend,
        "flash_attn_varlen_fp8_pertensor_func",
        stand_in,
        raising=False,
    )
    return stand_in


def backend_with_pool(backend: Any) -> Any:
    """`backend` with a pool whose row s holds the bytes of s in K and of s + 1 in V."""
    rows = torch.arange(SLOTS) % 120
    shape = (SLOTS, KV_HEADS, DIM)
    k = rows[:, None, None].expand(shape).to(torch.uint8).contiguous()
    pools = {LAYER: (k.view(FP8), (k + 1).view(FP8))}
    backend.token_to_kv_pool = SimpleNamespace(get_kv_buffer=pools.__getitem__)
    backend.forward_metadata.max_q_len = MAX_Q_LEN
    backend.k_scale = torch.ones(1)
    backend.input_dtype = torch.float16
    backend.qo_indptr = torch.tensor([0, 3, 5, 99], dtype=torch.int32)
    method = aiter_backend.AiterAttnBackend._asm_context_prefill_indices
    backend._asm_context_prefill_indices = lambda *args: method(backend, *args)
    return backend


def attend(backend: Any, batch: Any) -> Any:
    layer = SimpleNamespace(
        layer_id=LAYER,
        tp_q_head_num=HEADS,
        tp_k_head_num=KV_HEADS,
        tp_v_head_num=KV_HEADS,
        qk_head_dim=DIM,
        v_head_dim=DIM,
        scaling=0.03,
        k_scale=torch.tensor(0.5),
    )
    q = torch.randn(5, HEADS * DIM, generator=torch.Generator().manual_seed(0))
    scales = (torch.tensor(0.5), torch.tensor(0.25))
    result = aiter_backend.AiterAttnBackend._forward_extend_asm_context(
        backend, q.to(torch.bfloat16), layer, batch, *scales
    )
    return q, result


def test_gathers_the_rows_of_each_token_in_order(kernel: Kernel) -> None:
    backend, batch = extend_batch([9, 4])
    attend(backend_with_pool(backend), batch)
    ((_, k, v, *_), _) = kernel.calls[0]
    slots = backend.forward_metadata.kv_indices[:13].long()
    want = (slots % 120)[:, None, None].expand(13, KV_HEADS, DIM)
    assert k.dtype == v.dtype == FP8 and k.is_contiguous() and v.is_contiguous()
    assert torch.equal(k.view(torch.uint8).long(), want)
    assert torch.equal(v.view(torch.uint8).long(), want + 1)


def test_scales_and_lengths_reach_the_kernel(kernel: Kernel) -> None:
    backend, batch = extend_batch([9, 4])
    attend(backend_with_pool(backend), batch)
    args, kwargs = kernel.calls[0]
    q_descale, k_descale, v_descale, cu_q, cu_k, max_q, max_k = args[3:]
    # q is cast as it is: K's scale must not describe it.
    assert [float(s) for s in (q_descale, k_descale, v_descale)] == [1.0, 0.5, 0.25]
    assert all(s.shape == (1,) for s in (q_descale, k_descale, v_descale))
    assert (cu_q.tolist(), cu_k.tolist()) == ([0, 3, 5], [0, 9, 13])
    assert (max_q, max_k) == (MAX_Q_LEN, 9)
    assert args[0].shape == (5, HEADS, DIM)
    assert kwargs == {"softmax_scale": 0.03, "causal": True}


def test_output_has_the_models_dtype_and_width(kernel: Kernel) -> None:
    q, out = attend(backend_with_pool(extend_batch([9, 4])[0]), extend_batch([9, 4])[1])
    assert (out.dtype, out.shape) == (torch.float16, (5, HEADS * DIM))
    assert torch.equal(out, q.to(torch.bfloat16).to(FP8).to(torch.float16))


def test_a_batchs_own_query_offsets_win(kernel: Kernel) -> None:
    """Since 0.5.23 they are in the metadata; the backend's are shared and reused."""
    backend, batch = extend_batch([9, 4])
    backend.forward_metadata.qo_indptr = torch.tensor([0, 1, 5, 7], dtype=torch.int32)
    attend(backend_with_pool(backend), batch)
    assert kernel.calls[0][0][6].tolist() == [0, 1, 5]


@pytest.mark.parametrize(
    ("slot", "served"), [(SLOTS - 1, True), (SLOTS, False), (-1, False)]
)
def test_slots_are_held_against_the_pool(
    slot: int, served: bool, kernel: Kernel
) -> None:
    backend, batch = extend_batch([9, 4], host_lens=None)
    backend.forward_metadata.kv_indices[2] = slot
    _, out = attend(backend_with_pool(backend), batch)
    assert (out is not None) == served == bool(kernel.calls)


def test_batch_is_counted_once_over_its_layers_and_the_first_is_logged(
    kernel: Kernel, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    aiter_backend._asm_context_prefill_counts.clear()
    for _ in range(2):
        backend, batch = extend_batch([9, 4])
        for _ in range(3):
            attend(backend_with_pool(backend), batch)
    assert dict(aiter_backend._asm_context_prefill_counts) == {"hit": 2}
    assert caplog.text.count("serving context chunks") == 1


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
