"""`aiter.paged_attention_ragged`: decode over K and V in a paged pool."""

from __future__ import annotations

import torch

from aiter_reference.arguments import read_descale, read_page_table
from aiter_reference.attention import Scoring
from aiter_reference.calls import counted
from aiter_reference.fp8 import FP8_DTYPES, HALF_DTYPES, round_to_fp8
from aiter_reference.page_table import PageTable, as_slots, read_slots
from aiter_reference.validation import (
    check_dtype,
    check_heads,
    check_shape,
    reject_unmodelled,
    require,
)

KERNEL = "paged_attention_ragged"

MAX_BLOCK_SIZE = 32
_FP8_NAMES = ("fp8", "fp8_e4m3")


@counted
def paged_attention_ragged(
    out: torch.Tensor,
    workspace_buffer: torch.Tensor,
    query: torch.Tensor,
    key_cache: torch.Tensor,
    value_cache: torch.Tensor,
    scale: float,
    kv_indptr: torch.Tensor,
    kv_page_indices: torch.Tensor,
    kv_last_page_lens: torch.Tensor,
    block_size: int,
    max_num_partitions: int,
    alibi_slopes: torch.Tensor | None,
    kv_cache_dtype: str,
    kv_cache_layout: str,
    logits_soft_cap: float,
    k_scale: torch.Tensor,
    v_scale: torch.Tensor,
    fp8_out_scale: torch.Tensor | None = None,
    partition_size: int = 256,
    mtp: int = 1,
) -> torch.Tensor:
    """Attention of one query per row over all keys of the row: no mask, no window.

    With an fp8 cache the query is rounded to e4m3fn at scale 1, as in aiter. Not
    modelled: the rounding of the weights to fp8, and the split of a row into
    partitions with its scratch memory, so `workspace_buffer`, `max_num_partitions` and
    `partition_size` have no effect.

    Args:
        out: [rows, Hq, D] bfloat16 or float16, written in place.
        query: [rows, Hq, D] bfloat16 or float16.
        key_cache, value_cache: [pages, block_size, Hk, D], in the dtype of the query
            or in fp8. Pages of one token make page ids slots.
        scale: the softmax scale.
        kv_indptr: [>= rows + 1] int32, offsets into kv_page_indices: counts pages.
        kv_page_indices: [n >= kv_indptr[rows]] int32 page ids; entries beyond the last
            row are never read.
        kv_last_page_lens: [>= rows] int32, tokens in each row's last page.
        block_size: tokens per page, at most 32.
        kv_cache_dtype: "auto", a cache in the dtype of the query, which ignores the
            two scales; "fp8" or "fp8_e4m3".
        kv_cache_layout: "NHD".
        logits_soft_cap: cap * tanh(score / cap); 0 is off.
        k_scale, v_scale: float32 of one element: real = stored * scale.

    Returns:
        `out`; zero for a row without keys, which aiter leaves undefined.

    Raises:
        ValueError: dtypes, shapes or offsets that aiter does not take or misreads.
        IndexError: a row reads a page that is not in the pool.
        NotImplementedError: an argument is not modelled.
    """
    reject_unmodelled(
        KERNEL,
        alibi_slopes=(alibi_slopes, None),
        kv_cache_layout=(kv_cache_layout, "NHD"),
        fp8_out_scale=(fp8_out_scale, None),
        mtp=(mtp, 1),
    )
    _check_tensors(out, query, key_cache, value_cache, block_size)
    fp8 = _is_fp8(kv_cache_dtype, query, key_cache, value_cache)
    rows, kv_heads = query.shape[0], key_cache.shape[2]
    table = read_page_table(
        KERNEL,
        rows,
        kv_indptr,
        kv_page_indices,
        kv_last_page_lens,
        block_size,
        key_cache.shape[0],
    )
    one = torch.ones(rows, kv_heads, device=query.device)
    scoring = Scoring(one * scale, one, logits_soft_cap)
    if fp8:
        scoring = Scoring(
            read_descale(KERNEL, "k_scale", k_scale, rows, kv_heads) * scale,
            read_descale(KERNEL, "v_scale", v_scale, rows, kv_heads),
            logits_soft_cap,
        )
    wide = round_to_fp8(query) if fp8 else query.float()
    out.copy_(_attend_rows(wide, key_cache, value_cache, table, scoring))
    return out


def _attend_rows(
    query: torch.Tensor,
    key_cache: torch.Tensor,
    value_cache: torch.Tensor,
    table: PageTable,
    scoring: Scoring,
) -> torch.Tensor:
    """[rows, Hq, D] float32; zero for a row without keys.

    Row by row: nothing is padded, and the float32 copies of one row's K and V stay in
    cache. 16 rows of 600 keys took 7.0 ms in padded batches of 4, 5.2 ms one by one,
    7.8 ms packed into one (one core).
    """
    kv_heads, dim = key_cache.shape[2:]
    grouped = query.reshape(len(query), kv_heads, -1, dim)
    scaled = grouped * scoring.scale[:, :, None, None]
    result = torch.zeros_like(grouped)
    rows = table.k_lens.nonzero()[:, 0]
    if len(rows) > 0:
        slots = table.slots(rows, 0, int(table.k_lens.max()))
        k_slots, v_slots = as_slots(key_cache), as_slots(value_cache)
        k_lens = table.k_lens.tolist()
        for row, row_slots in zip(rows.tolist(), slots, strict=True):
            seen = row_slots[None, : k_lens[row]]
            k = read_slots(k_slots, seen)[0]
            scores = scoring.cap(scaled[row] @ k.transpose(1, 2))
            weights = torch.softmax(scores, dim=-1)
            result[row] = weights @ read_slots(v_slots, seen)[0]
    return (result * scoring.value_scale[:, :, None, None]).view(query.shape)


def _check_tensors(
    out: torch.Tensor,
    query: torch.Tensor,
    key_cache: torch.Tensor,
    value_cache: torch.Tensor,
    block_size: int,
) -> None:
    check_dtype(KERNEL, "query", query, HALF_DTYPES)
    check_dtype(KERNEL, "out", out, HALF_DTYPES)
    expected = "[pages, block_size, heads, dim]"
    require(key_cache.ndim == 4, KERNEL, "key_cache", expected, key_cache)
    check_heads(KERNEL, query, key_cache, value_cache)
    # aiter walks V with the strides of K.
    check_shape(KERNEL, "value_cache", value_cache, tuple(key_cache.shape))
    check_shape(KERNEL, "out", out, tuple(query.shape))
    require(
        block_size == key_cache.shape[1] and 1 <= block_size <= MAX_BLOCK_SIZE,
        KERNEL,
        "block_size",
        f"the {key_cache.shape[1]} of key_cache and in [1, {MAX_BLOCK_SIZE}]",
        block_size,
    )


def _is_fp8(
    kv_cache_dtype: str,
    query: torch.Tensor,
    key_cache: torch.Tensor,
    value_cache: torch.Tensor,
) -> bool:
    names = ("auto", *_FP8_NAMES)
    expected = f"one of {', '.join(names)}"
    require(kv_cache_dtype in names, KERNEL, "kv_cache_dtype", expected, kv_cache_dtype)
    fp8 = kv_cache_dtype in _FP8_NAMES
    allowed = FP8_DTYPES if fp8 else (query.dtype,)
    for name, cache in (("key_cache", key_cache), ("value_cache", value_cache)):
        check_dtype(KERNEL, name, cache, allowed)
    return fp8
