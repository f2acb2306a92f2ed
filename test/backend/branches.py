"""Which kernel served a call of the backend, and over what."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any
from unittest import mock

import torch
from sglang.srt.layers.attention import aiter_backend, aiter_utils

_KERNELS = {
    aiter_backend: (
        "flash_attn_varlen_fp8_pertensor_func",
        "mha_batch_prefill_func",
        "paged_attention_ragged",
        "unified_attention",
    ),
    aiter_utils: ("mha_batch_prefill_func", "pa_decode_gluon"),
}


@dataclass(frozen=True)
class Call:
    """One call of a kernel, its arguments by name."""

    kernel: str
    arguments: dict[str, Any]

    @property
    def form(self) -> str:
        """What tells the backend's branches apart that share this kernel."""
        return f"{self.kernel}: {_FORMS[self.kernel](self.arguments)}"


@contextmanager
def recorded() -> Iterator[list[Call]]:
    """Every kernel call of the backend; the kernels run as ever."""
    calls: list[Call] = []
    with ExitStack() as stack:
        for module, names in _KERNELS.items():
            for name in names:
                spy = _spy(getattr(module, name), calls)
                stack.enter_context(mock.patch.object(module, name, spy))
        yield calls


def _spy(kernel: Callable[..., Any], calls: list[Call]) -> Callable[..., Any]:
    signature = inspect.signature(kernel)

    @functools.wraps(kernel)
    def call(*args: Any, **kwargs: Any) -> Any:
        bound = signature.bind(*args, **kwargs)
        calls.append(Call(kernel.__name__, dict(bound.arguments)))
        return kernel(*args, **kwargs)

    return call


def _packed(a: dict[str, Any]) -> str:
    chunk = "first" if len(a["k"]) == len(a["q"]) else "context"
    return f"{chunk} chunk, head_dim {a['q'].shape[2]}"


def _paged(a: dict[str, Any]) -> str:
    if a["k"].ndim == 4:
        return f"{_short(a['k'])} pages of {a['k'].shape[1]}"
    # A copy holds the batch's tokens and no more.
    whole = len(a["k"]) > int(a["kv_indptr"][-1])
    return f"{_short(a['k'])} {'slots' if whole else 'copied tokens'}{_window(a)}"


def _ragged(a: dict[str, Any]) -> str:
    return f"{_short(a['key_cache'])} slots"


def _unified(a: dict[str, Any]) -> str:
    queries = "one query" if a["max_seqlen_q"] == 1 else f"{_short(a['q'])} queries"
    return f"{_short(a['k'])} pages of {a['k'].shape[1]}, {queries}{_window(a)}"


def _gluon(a: dict[str, Any]) -> str:
    window = a.get("sliding_window", 0)
    pages = f"{_short(a['key_cache'])} 5D pages of {a['key_cache'].shape[3]}"
    return f"{pages}, window {window}" if window else pages


def _window(a: dict[str, Any]) -> str:
    left = a["window_size"][0]
    return f", window {left}" if left >= 0 else ""


def _short(tensor: torch.Tensor) -> str:
    return "fp8" if tensor.itemsize == 1 else str(tensor.dtype).removeprefix("torch.")


_FORMS: dict[str, Callable[[dict[str, Any]], str]] = {
    "flash_attn_varlen_fp8_pertensor_func": _packed,
    "mha_batch_prefill_func": _paged,
    "paged_attention_ragged": _ragged,
    "unified_attention": _unified,
    "pa_decode_gluon": _gluon,
}
