"""`aiter.flash_attn_varlen_fp8_pertensor_func`: prefill over packed fp8 Q, K and V."""

from __future__ import annotations

from itertools import pairwise

import torch

from aiter_reference.arguments import read_descale, read_query_offsets, read_sinks
from aiter_reference.attention import Scoring
from aiter_reference.calls import counted
from aiter_reference.fp8 import FP8_DTYPES
from aiter_reference.page_table import read_range
from aiter_reference.ragged import attend_ragged
from aiter_reference.validation import (
    check_dtype,
    check_heads,
    check_shape,
    read_offsets,
    reject_unmodelled,
    require,
)
from aiter_reference.visibility import Band

KERNEL = "flash_attn_varlen_fp8_pertensor_func"


@counted
def flash_attn_varlen_fp8_pertensor_func(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    q_descale: torch.Tensor,
    k_descale: torch.Tensor,
    v_descale: torch.Tensor,
    cu_seqlens_q: torch.Tensor,
    cu_seqlens_k: torch.Tensor,
    max_seqlen_q: int,
    max_seqlen_k: int,
    min_seqlen_q: int = 0,
    logits_soft_cap: float = 0.0,
    causal: bool = False,
    window_size: tuple[int, ...] = (-1, -1, 0),
    softmax_scale: float | None = None,
    sink_ptr: torch.Tensor | None = None,
) -> torch.Tensor:
    """Attention of packed queries over packed keys, row by row.

    Not modelled: the rounding of the weights to fp8 before they meet V, the order of
    the sums, and which GQA ratios and head dims have a kernel on which GPU.

    Args:
        q: [query tokens, Hq, D] fp8.
        k: [key tokens, Hk, D], v: [key tokens, Hk, Dv], fp8 as q.
        q_descale, k_descale, v_descale: float32, real = stored * descale; all three
            [1], or all three [rows, Hk].
        cu_seqlens_q, cu_seqlens_k: [rows + 1] int32, token offsets into q and into k.
        max_seqlen_q: at least the longest row of queries.
        max_seqlen_k: a window bound that reaches it is none.
        causal: bottom-right, the last query of a row sees its last key.
        window_size: keys to the left and to the right of a query's position; the third
            entry, keys that are always seen, is not modelled.
        softmax_scale: D**-0.5 if None.
        sink_ptr: [Hq] float32 scores of a key without value.

    Returns:
        [query tokens, Hq, Dv] bfloat16; zero where a query sees no key and for tokens
        behind the last row.

    Raises:
        ValueError: dtypes, shapes or offsets that aiter does not take.
        NotImplementedError: min_seqlen_q, or always-visible keys.
    """
    reject_unmodelled(
        KERNEL,
        min_seqlen_q=(min_seqlen_q, 0),
        **{"window_size[2]": (sum(window_size[2:]), 0)},
    )
    _check_tensors(q, k, v)
    q_starts = read_query_offsets(KERNEL, cu_seqlens_q, q, max_seqlen_q)
    rows, kv_heads = len(q_starts) - 1, k.shape[1]
    check_shape(KERNEL, "cu_seqlens_k", cu_seqlens_k, (rows + 1,))
    k_starts = read_offsets(KERNEL, "cu_seqlens_k", cu_seqlens_k, rows, k.shape[0])
    k_lens = [end - start for start, end in pairwise(k_starts)]
    q_scale, k_scale, v_scale = _read_descales(
        rows, kv_heads, q_descale=q_descale, k_descale=k_descale, v_descale=v_descale
    )
    scale = q.shape[-1] ** -0.5 if softmax_scale is None else softmax_scale
    scoring = Scoring(
        q_scale * k_scale * scale,
        v_scale,
        logits_soft_cap,
        read_sinks(KERNEL, "sink_ptr", sink_ptr, q.shape[1]),
    )

    def read(row: int, first: int, end: int) -> tuple[torch.Tensor, torch.Tensor]:
        start = k_starts[row]
        span = (start + first, start + end)
        return read_range(k, *span), read_range(v, *span)

    out = q.new_zeros(q.shape[0], q.shape[1], v.shape[-1], dtype=torch.bfloat16)
    band = Band.from_window(causal, window_size, max_seqlen_k)
    attend_ragged(q, out, q_starts, k_lens, read, band, scoring)
    return out


def _check_tensors(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> None:
    check_dtype(KERNEL, "q", q, FP8_DTYPES)
    check_dtype(KERNEL, "k", k, (q.dtype,))
    check_dtype(KERNEL, "v", v, (q.dtype,))
    require(k.ndim == 3, KERNEL, "k", "[tokens, heads, dim]", k)
    check_heads(KERNEL, q, k, v)


def _read_descales(
    rows: int, kv_heads: int, **descales: torch.Tensor
) -> list[torch.Tensor]:
    """The three descales as [rows, kv_heads], all given in one shape."""
    shape = tuple(descales["q_descale"].shape)
    for name, descale in descales.items():
        check_shape(KERNEL, name, descale, shape)
    return [
        read_descale(KERNEL, name, descale, rows, kv_heads)
        for name, descale in descales.items()
    ]
