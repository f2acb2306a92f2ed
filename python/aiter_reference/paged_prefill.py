"""`aiter.mha_batch_prefill_func`: prefill over K and V in a paged pool."""

from __future__ import annotations

import torch

from aiter_reference.arguments import (
    read_descale,
    read_page_table,
    read_query_offsets,
    read_sinks,
)
from aiter_reference.attention import Scoring
from aiter_reference.calls import counted
from aiter_reference.fp8 import FP8_DTYPES, HALF_DTYPES
from aiter_reference.page_table import PageTable, as_slots, read_slots
from aiter_reference.ragged import attend_ragged
from aiter_reference.validation import (
    check_dtype,
    check_heads,
    check_shape,
    describe,
    reject_unmodelled,
    require,
)
from aiter_reference.visibility import Band

KERNEL = "mha_batch_prefill_func"


@counted
def mha_batch_prefill_func(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    cu_seqlens_q: torch.Tensor,
    kv_indptr: torch.Tensor,
    kv_page_indices: torch.Tensor,
    max_seqlen_q: int,
    max_seqlen_k: int,
    dropout_p: float = 0.0,
    softmax_scale: float | None = None,
    logits_soft_cap: float = 0.0,
    causal: bool = False,
    window_size: tuple[int, int] = (-1, -1),
    alibi_slopes: torch.Tensor | None = None,
    deterministic: bool = False,
    return_lse: bool = False,
    return_attn_probs: bool = False,
    out: torch.Tensor | None = None,
    kv_last_page_lens: torch.Tensor | None = None,
    block_table: torch.Tensor | None = None,
    seqlen_k: torch.Tensor | None = None,
    q_descale: torch.Tensor | None = None,
    k_descale: torch.Tensor | None = None,
    v_descale: torch.Tensor | None = None,
    kv_block_descale: torch.Tensor | None = None,
    sink_ptr: torch.Tensor | None = None,
    sink_size: int = 0,
) -> torch.Tensor:
    """Attention of packed queries over the pages of each row.

    Not modelled: the rounding of the weights to fp8 before they meet V, the order of
    the sums, reads of the table beyond a row's last page, the softsign build of the
    soft cap, and which shapes have a kernel on which GPU. `deterministic` has no
    effect: the reference always is.

    Args:
        q: [query tokens, Hq, D] bfloat16, float16 or fp8.
        k, v: the pool, dtype as q. [slots, Hk, D] is paged by one token, for K and V
            of one head dim; [pages, page_size, Hk, D] at any page size.
        cu_seqlens_q: [rows + 1] int32, token offsets into q.
        kv_indptr: [rows + 1] int32, offsets into kv_page_indices: counts pages.
        kv_page_indices: [n >= kv_indptr[-1]] int32 page ids, which are slots at page
            size 1. Entries beyond kv_indptr[-1] are never read.
        max_seqlen_q: at least the longest row of queries.
        max_seqlen_k: a window bound that reaches it is none.
        causal: bottom-right, the last query of a row sees its last key.
        window_size: keys to the left and to the right of a query's position, -1 for
            all: (S, -1) with causal is S + 1 keys with the query's own.
        logits_soft_cap: cap * tanh(score / cap) before the mask; 0 is off.
        out: [query tokens, Hq, Dv], written in place for the tokens of the rows.
        kv_last_page_lens: [rows] int32 tokens in each row's last page; may be left out
            at page size 1.
        q_descale, k_descale, v_descale: float32 of one element each, all or none, for
            fp8 only: real = stored * descale.
        sink_ptr: [Hq] scores of a key without value.

    Returns:
        [query tokens, Hq, Dv], bfloat16 for fp8 and the dtype of q otherwise; zero
        where a query sees no key and, unless `out` is given, behind the last row.

    Raises:
        ValueError: dtypes, shapes or offsets that aiter does not take.
        IndexError: a row reads a page that is not in the pool.
        NotImplementedError: an argument or the layout is not modelled.
    """
    reject_unmodelled(
        KERNEL,
        dropout_p=(dropout_p, 0.0),
        alibi_slopes=(alibi_slopes, None),
        return_lse=(return_lse, False),
        return_attn_probs=(return_attn_probs, False),
        block_table=(block_table, None),
        seqlen_k=(seqlen_k, None),
        kv_block_descale=(kv_block_descale, None),
        sink_size=(sink_size, 0),
    )
    _check_tensors(q, k, v)
    q_starts = read_query_offsets(KERNEL, cu_seqlens_q, q, max_seqlen_q)
    rows = len(q_starts) - 1
    table = _read_table(k, rows, kv_indptr, kv_page_indices, kv_last_page_lens)
    scale = q.shape[-1] ** -0.5 if softmax_scale is None else softmax_scale
    score_scale, value_scale = _read_descales(q, q_descale, k_descale, v_descale)
    shape = (rows, k.shape[-2])
    scoring = Scoring(
        (score_scale * scale).expand(shape),
        value_scale.expand(shape),
        logits_soft_cap,
        read_sinks(KERNEL, "sink_ptr", sink_ptr, q.shape[1]),
    )
    result = _prepare_out(q, v, out)
    band = Band.from_window(causal, window_size, max_seqlen_k)
    _attend_pages(q, k, v, result, q_starts, table, band, scoring)
    return result


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
        rows = torch.tensor([row], device=q.device)
        slots = table.slots(rows, first, end)
        return read_slots(k_slots, slots), read_slots(v_slots, slots)

    attend_ragged(q, out, q_starts, table.k_lens.tolist(), read, band, scoring)


def _check_tensors(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> None:
    if k.ndim == 5 or v.ndim == 5:
        raise NotImplementedError(
            f"{KERNEL}: the VECTORIZED layout of k={describe(k)}, v={describe(v)} is"
            " not modelled by the reference, only [slots, heads, dim] and"
            " [pages, page_size, heads, dim] are"
        )
    check_dtype(KERNEL, "q", q, HALF_DTYPES + FP8_DTYPES)
    check_dtype(KERNEL, "k", k, (q.dtype,))
    check_dtype(KERNEL, "v", v, (q.dtype,))
    require(k.ndim in (3, 4), KERNEL, "k", "of 3 or 4 dimensions", k)
    check_heads(KERNEL, q, k, v)
    if k.ndim == 3:
        check_shape(KERNEL, "v", v, tuple(k.shape))


def _read_table(
    k: torch.Tensor,
    rows: int,
    kv_indptr: torch.Tensor,
    kv_page_indices: torch.Tensor,
    kv_last_page_lens: torch.Tensor | None,
) -> PageTable:
    check_shape(KERNEL, "kv_indptr", kv_indptr, (rows + 1,))
    return read_page_table(
        KERNEL,
        rows,
        kv_indptr,
        kv_page_indices,
        kv_last_page_lens,
        page_size=k.shape[1] if k.ndim == 4 else 1,
        num_pages=k.shape[0],
    )


def _read_descales(
    q: torch.Tensor,
    q_descale: torch.Tensor | None,
    k_descale: torch.Tensor | None,
    v_descale: torch.Tensor | None,
) -> tuple[torch.Tensor, torch.Tensor]:
    """(descale of Q times that of K, descale of V), one element each."""
    names = ("q_descale", "k_descale", "v_descale")
    given = [d for d in (q_descale, k_descale, v_descale) if d is not None]
    if not given:
        one = torch.ones(1, 1, device=q.device)
        return one, one
    expected = "all given or none"
    require(len(given) == 3, KERNEL, ", ".join(names), expected, f"{len(given)} of 3")
    require(q.dtype in FP8_DTYPES, KERNEL, "q", "fp8 when descales are given", q)
    q_scale, k_scale, v_scale = (
        read_descale(KERNEL, name, descale, 1, 1)
        for name, descale in zip(names, given, strict=True)
    )
    return q_scale * k_scale, v_scale


def _prepare_out(
    q: torch.Tensor, v: torch.Tensor, out: torch.Tensor | None
) -> torch.Tensor:
    shape = (q.shape[0], q.shape[1], v.shape[-1])
    dtype = torch.bfloat16 if q.dtype in FP8_DTYPES else q.dtype
    if out is None:
        return q.new_zeros(shape, dtype=dtype)
    check_dtype(KERNEL, "out", out, (dtype,))
    check_shape(KERNEL, "out", out, shape)
    return out
