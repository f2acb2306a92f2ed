"""A backend's pool and metadata, without SGLang's set-up, and a kernel stand-in."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import torch
from sglang.srt.layers.attention import aiter_backend

from overlay.batches import SLOTS

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


def backend_with_pool(holder: Any) -> Any:
    """A backend with the metadata of `holder`, whose pool's row s holds
    the bytes of s in K and of s + 1 in V."""
    backend: Any = object.__new__(aiter_backend.AiterAttnBackend)
    rows = torch.arange(SLOTS) % 120
    shape = (SLOTS, KV_HEADS, DIM)
    k = rows[:, None, None].expand(shape).to(torch.uint8).contiguous()
    pools = {LAYER: (k.view(FP8), (k + 1).view(FP8))}
    backend.token_to_kv_pool = SimpleNamespace(get_kv_buffer=pools.__getitem__)
    backend.forward_metadata = holder.forward_metadata
    backend.forward_metadata.max_q_len = MAX_Q_LEN
    backend.k_scale = torch.ones(1)
    backend.input_dtype = torch.float16
    backend.kv_cache_dtype = FP8
    backend.kv_cache_is_vectorized_5d = False
    backend.qo_indptr = torch.tensor([0, 3, 5, 99], dtype=torch.int32)
    return backend


def attend(
    backend: Any, batch: Any, method: str = "context", **arguments: Any
) -> tuple[torch.Tensor, Any]:
    """(q, what the method returns for it)."""
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
    rows = torch.randn(5, HEADS * DIM, generator=torch.Generator().manual_seed(0))
    q = rows.to(torch.bfloat16)
    result = getattr(backend, f"_forward_extend_asm_{method}")(
        q=q,
        layer=layer,
        forward_batch=batch,
        k_descale=torch.tensor(0.5),
        v_descale=torch.tensor(0.25),
        **arguments,
    )
    return q, result


def assert_rows(k: torch.Tensor, v: torch.Tensor, slots: torch.Tensor) -> None:
    """K and V are those of `slots`, byte for byte."""
    want = (slots.long() % 120)[:, None, None].expand(len(slots), KV_HEADS, DIM)
    assert k.dtype == v.dtype == FP8 and k.is_contiguous() and v.is_contiguous()
    assert torch.equal(k.view(torch.uint8).long(), want)
    assert torch.equal(v.view(torch.uint8).long(), want + 1)
