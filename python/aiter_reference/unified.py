"""aiter's `unified_attention`: prefill and decode over two-dimensional page tables."""

from __future__ import annotations

import torch

from aiter_reference.arguments import read_descale, read_sinks
from aiter_reference.attention import Scoring
from aiter_reference.block_table import read_block_table, read_k_lens
from aiter_reference.calls import counted
from aiter_reference.fp8 import FP8_DTYPES, HALF_DTYPES
from aiter_reference.page_table import PageTable, as_slots, read_slots
from aiter_reference.ragged import attend_ragged
from aiter_reference.scale_pair import read_scale_pair
from aiter_reference.validation import (
    check_dtype,
    check_shape,
    read_offsets,
    reject_unmodelled,
    require,
)
from aiter_reference.visibility import Band

KERNEL = "unified_attention"

# Of the dot products in aiter's kernel: heads are no multiple of less.
_DIM_STEP = 16


@counted
def unified_attention(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    out: torch.Tensor,
    cu_seqlens_q: torch.Tensor,
    max_seqlen_q: int,
    seqused_k: torch.Tensor,
    max_seqlen_k: int,
    softmax_scale: float,
    causal: bool,
    window_size: tuple[int, int],
    block_table: torch.Tensor,
    softcap: float,
    q_descale: torch.Tensor | None,
    k_descale: torch.Tensor | None,
    v_descale: torch.Tensor | None,
    q_scales: torch.Tensor | None = None,
    alibi_slopes: torch.Tensor | None = None,
    output_scale: torch.Tensor | None = None,
    qq_bias: torch.Tensor | None = None,
    sinks: torch.Tensor | None = None,
    shuffled_kv_cache: bool = False,
    skip_reduce: bool = False,
) -> torch.Tensor:
    """Causal attention of every row's last queries over its pages.

    Not modelled: the rounding of the weights to the dtype of q before they meet V, the
    order of the sums, and reads of what no query sees (whole pages, table entries
    behind a row), through which a NaN there can reach aiter's output. `max_seqlen_k`
    has no effect: aiter picks a split of the work by it.

    Args:
        q: [query tokens, Hq, D] bfloat16, float16 or fp8.
        k, v: [pages, page_size, Hk, D] in the dtype of q or in fp8; fp8 if q is.
        out: [query tokens, Hq, D] bfloat16 or float16, written in place.
        cu_seqlens_q: [>= rows + 1] int32, token offsets into q.
        max_seqlen_q: 1 makes row i's only query token i, whatever cu_seqlens_q says.
        seqused_k: [rows] int32 or int64, keys per row with the new tokens'; its length
            is the number of rows.
        causal: True; bottom-right, the last query of a row sees its last key.
        window_size: (W, -1 or 0): a query sees its own key and W before it, W + 1 in
            all; W = -1 is no window.
        block_table: [>= rows, W] int32 page ids, key t of a row in page t // page_size.
        softcap: cap * tanh(score / cap) before the mask; 0 is off.
        q_descale, k_descale, v_descale: float32 of one element or None, those of K and
            V both or neither: real = stored * descale.
        sinks: [Hq] scores of a key without value.

    Returns:
        `out`; zero for a query that sees no key, which aiter leaves undefined; tokens
        of no row stay as they are.

    Raises:
        ValueError: dtypes, shapes, offsets or lengths that aiter does not take or
            misreads.
        IndexError: a row reads a page that is not in the pool.
        NotImplementedError: an argument is not modelled.
    """
    reject_unmodelled(
        KERNEL,
        q_scales=(q_scales, None),
        alibi_slopes=(alibi_slopes, None),
        output_scale=(output_scale, None),
        qq_bias=(qq_bias, None),
        shuffled_kv_cache=(shuffled_kv_cache, False),
        skip_reduce=(skip_reduce, False),
        **{"window_size[1]": (max(window_size[1], 0), 0)},
    )
    require(causal, KERNEL, "causal", "True", causal)
    _check_tensors(q, k, v, out)
    k_lens = read_k_lens(KERNEL, "seqused_k", seqused_k)
    q_starts = _read_query_starts(cu_seqlens_q, max_seqlen_q, q, len(k_lens))
    band = Band(window_size[0], 0)
    pairs = zip(q_starts, q_starts[1:], k_lens.tolist(), strict=False)
    table = read_block_table(
        KERNEL,
        "block_table",
        block_table,
        k_lens,
        [band.first_key(end - start, k_len) for start, end, k_len in pairs],
        page_size=k.shape[1],
        num_pages=k.shape[0],
    )
    scoring = Scoring(
        *_read_scales(q_descale, k_descale, v_descale, softmax_scale, k, len(k_lens)),
        softcap,
        read_sinks(KERNEL, "sinks", sinks, q.shape[1]),
    )
    _attend_pages(q, k, v, out, q_starts, table, band, scoring)
    return out


def _attend_pages(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    out: torch.Tensor,
    q_starts: list[int],
    table: PageTable,
    band: Band,
    scoring: Scoring,
) -> None:
    k_slots, v_slots = as_slots(k), as_slots(v)

    def read(row: int, first: int, end: int) -> tuple[torch.Tensor, torch.Tensor]:
        slots = table.slots(torch.tensor([row], device=q.device), first, end)
        return read_slots(k_slots, slots), read_slots(v_slots, slots)

    attend_ragged(q, out, q_starts, table.k_lens.tolist(), read, band, scoring)


def _read_query_starts(
    cu_seqlens_q: torch.Tensor, max_seqlen_q: int, q: torch.Tensor, rows: int
) -> list[int]:
    """Token offsets of the rows into q, rows + 1 of them."""
    if max_seqlen_q != 1:
        return read_offsets(KERNEL, "cu_seqlens_q", cu_seqlens_q, rows, q.shape[0])
    require(
        q.shape[0] >= rows,
        KERNEL,
        "q",
        f"of at least {rows} tokens, one for each entry of seqused_k",
        q,
    )
    return list(range(rows + 1))


def _check_tensors(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, out: torch.Tensor
) -> None:
    check_dtype(KERNEL, "q", q, HALF_DTYPES + FP8_DTYPES)
    allowed = FP8_DTYPES if q.dtype in FP8_DTYPES else (q.dtype, *FP8_DTYPES)
    check_dtype(KERNEL, "k", k, allowed)
    check_dtype(KERNEL, "v", v, (k.dtype,))
    check_dtype(KERNEL, "out", out, HALF_DTYPES)
    require(q.ndim == 3, KERNEL, "q", "[tokens, heads, dim]", q)
    require(k.ndim == 4, KERNEL, "k", "[pages, page_size, heads, dim]", k)
    check_shape(KERNEL, "v", v, tuple(k.shape))
    check_shape(KERNEL, "out", out, tuple(q.shape))
    dim, kv_heads = q.shape[2], k.shape[2]
    require(
        k.shape[3] == dim and dim > 0 and dim % _DIM_STEP == 0,
        KERNEL,
        "k",
        f"of q's head dim {dim}, in multiples of {_DIM_STEP}",
        k,
    )
    expected = f"of a multiple of {kv_heads} heads, those of k"
    require(kv_heads > 0 and q.shape[1] % kv_heads == 0, KERNEL, "q", expected, q)
    require(q.stride(2) == 1, KERNEL, "q", "contiguous in its last dim", q)


def _read_scales(
    q_descale: torch.Tensor | None,
    k_descale: torch.Tensor | None,
    v_descale: torch.Tensor | None,
    softmax_scale: float,
    k: torch.Tensor,
    rows: int,
) -> tuple[torch.Tensor, torch.Tensor]:
    """(scale of the scores, scale of V), [rows, Hk] float32."""
    k_scale, v_scale = read_scale_pair(
        KERNEL, k.device, k_descale=k_descale, v_descale=v_descale
    )
    scale = k_scale * softmax_scale
    if q_descale is not None:
        scale = scale * read_descale(KERNEL, "q_descale", q_descale, 1, 1)
    shape = (rows, k.shape[2])
    return scale.expand(shape), v_scale.expand(shape)
