"""aiter's `pa_decode_gluon`: decode over a pool in the vectorised 5D layout."""

from __future__ import annotations

import torch

from aiter_reference.arguments import read_sinks
from aiter_reference.attention import Scoring
from aiter_reference.block_table import read_block_table, read_k_lens
from aiter_reference.calls import counted
from aiter_reference.fp8 import FP8_DTYPES, HALF_DTYPES, widen
from aiter_reference.page_table import PageTable
from aiter_reference.ragged import attend_ragged
from aiter_reference.scale_pair import read_scale_pair
from aiter_reference.validation import (
    VECTOR_BYTES,
    check_dtype,
    check_shape,
    reject_unmodelled,
    require,
)
from aiter_reference.visibility import Band

KERNEL = "pa_decode_gluon"

PAGE_SIZES = (16, 64, 1024)
MAX_GROUP = 64
COMPUTE_UNITS = 256
"""Of an MI355X."""


def get_recommended_splits(
    num_sequences: int, num_kv_heads: int, split_kv_blocks: int = 1
) -> int:
    """Parts of a row's keys to work on at a time, on an MI355X: at most 8."""
    groups = num_sequences * num_kv_heads * split_kv_blocks
    return min(8, -(-2 * COMPUTE_UNITS // groups) * split_kv_blocks)


@counted
def pa_decode_gluon(
    output: torch.Tensor,
    query: torch.Tensor,
    key_cache: torch.Tensor,
    value_cache: torch.Tensor,
    context_lengths: torch.Tensor,
    block_tables: torch.Tensor,
    softmax_scale: float,
    query_length: int,
    max_context_partition_num: int,
    context_partition_size: int = 256,
    compute_type: torch.dtype = torch.bfloat16,
    query_scale: torch.Tensor | None = None,
    key_scale: torch.Tensor | None = None,
    value_scale: torch.Tensor | None = None,
    exp_sums: torch.Tensor | None = None,
    max_logits: torch.Tensor | None = None,
    temporary_output: torch.Tensor | None = None,
    alibi_slopes: torch.Tensor | None = None,
    sinks: torch.Tensor | None = None,
    sliding_window: int = 0,
    ps: bool = True,
) -> None:
    """Attention of one query per row over all keys of the row, or a window of them.

    Not modelled: the rounding of the weights and sums to `compute_type`, and the split
    of a row into partitions with its scratch memory, so max_context_partition_num,
    context_partition_size, exp_sums, max_logits and temporary_output have no effect.

    Args:
        output: [rows, Hq, D] bfloat16 or float16, written in place.
        query: [rows, Hq, D] bfloat16 or float16.
        key_cache: [pages, Hk, D / x, page_size, x] and
            value_cache: [pages, Hk, page_size / x, D, x], x elements being 16 bytes, in
            the dtype of the query or in fp8.
        context_lengths: [rows] int32 or int64, keys per row.
        block_tables: [>= rows, W] int32 page ids; key t of a row is in the row's page
            t // page_size.
        query_length: 1.
        key_scale, value_scale: for an fp8 cache float32 of one element, both or none:
            real = stored * scale. Of no effect on another cache.
        sinks: [Hq] scores of a key without value.
        sliding_window: W sees the newest W - 1 keys, as in aiter; 0 sees all.

    Raises:
        ValueError: dtypes, shapes or lengths that aiter does not take or misreads.
        IndexError: a row reads a page that is not in the pool.
        NotImplementedError: an argument is not modelled.
    """
    reject_unmodelled(
        KERNEL,
        query_length=(query_length, 1),
        query_scale=(query_scale, None),
        alibi_slopes=(alibi_slopes, None),
        ps=(ps, True),
    )
    _check_compute_type(compute_type)
    _check_tensors(output, query, key_cache, value_cache)
    # A window of one key leaves aiter none, and no key is undefined there.
    require(
        sliding_window == 0 or sliding_window > 1,
        KERNEL,
        "sliding_window",
        "0 or more than 1",
        sliding_window,
    )
    k_lens = read_k_lens(KERNEL, "context_lengths", context_lengths)
    rows = query.shape[0]
    check_shape(KERNEL, "context_lengths", context_lengths, (rows,))
    band = Band(sliding_window - 2 if sliding_window else -1, 0)
    table = read_block_table(
        KERNEL,
        "block_tables",
        block_tables,
        k_lens,
        [band.first_key(1, k_len) for k_len in k_lens.tolist()],
        page_size=key_cache.shape[3],
        num_pages=key_cache.shape[0],
    )
    scoring = Scoring(
        *_read_scales(key_scale, value_scale, softmax_scale, key_cache, rows),
        sinks=read_sinks(KERNEL, "sinks", sinks, query.shape[1]),
    )
    _attend_pages(output, query, key_cache, value_cache, table, band, scoring)


def _check_compute_type(dtype: torch.dtype) -> None:
    if dtype not in HALF_DTYPES:
        raise NotImplementedError(
            f"{KERNEL}: compute_type={dtype} is not modelled by the reference, only"
            f" {' and '.join(map(str, HALF_DTYPES))} are"
        )


def _attend_pages(
    output: torch.Tensor,
    query: torch.Tensor,
    key_cache: torch.Tensor,
    value_cache: torch.Tensor,
    table: PageTable,
    band: Band,
    scoring: Scoring,
) -> None:
    def read(row: int, first: int, end: int) -> tuple[torch.Tensor, torch.Tensor]:
        slots = table.slots(torch.tensor([row], device=query.device), first, end)[0]
        return read_keys(key_cache, slots), read_values(value_cache, slots)

    rows = query.shape[0]
    starts = list(range(rows + 1))
    attend_ragged(query, output, starts, table.k_lens.tolist(), read, band, scoring)


def read_keys(cache: torch.Tensor, slots: torch.Tensor) -> torch.Tensor:
    """[1, Hk, n, D] float32 at [n] slots of [pages, Hk, D / x, page_size, x]."""
    page_size = cache.shape[3]
    # As words: torch has no indexed read of fp8.
    words = cache.view(torch.int64)
    picked = words[slots // page_size, :, :, slots % page_size]
    rows = picked.flatten(2).transpose(0, 1).contiguous()
    return widen(rows.view(cache.dtype))[None]


def read_values(cache: torch.Tensor, slots: torch.Tensor) -> torch.Tensor:
    """[1, Hk, n, D] float32 at [n] slots of [pages, Hk, page_size / x, D, x]."""
    vector = cache.shape[4]
    offsets = slots % (cache.shape[2] * vector)
    pages = slots // (cache.shape[2] * vector)
    elements = cache.view(torch.uint8 if cache.itemsize == 1 else torch.int16)
    picked = elements[pages, :, offsets // vector, :, offsets % vector]
    rows = picked.transpose(0, 1).contiguous()
    return widen(rows.view(cache.dtype))[None]


def _check_tensors(
    output: torch.Tensor,
    query: torch.Tensor,
    key_cache: torch.Tensor,
    value_cache: torch.Tensor,
) -> None:
    check_dtype(KERNEL, "query", query, HALF_DTYPES)
    check_dtype(KERNEL, "output", output, HALF_DTYPES)
    check_dtype(KERNEL, "key_cache", key_cache, (query.dtype, *FP8_DTYPES))
    check_dtype(KERNEL, "value_cache", value_cache, (key_cache.dtype,))
    require(query.ndim == 3, KERNEL, "query", "[rows, heads, dim]", query)
    check_shape(KERNEL, "output", output, tuple(query.shape))
    vector = VECTOR_BYTES // key_cache.element_size()
    require(
        key_cache.ndim == 5
        and key_cache.shape[3] in PAGE_SIZES
        and tuple(key_cache.shape[2::2]) == (query.shape[2] // vector, vector),
        KERNEL,
        "key_cache",
        f"[pages, heads, {query.shape[2]} / {vector}, page_size, {vector}] with a"
        f" page_size among {PAGE_SIZES}",
        key_cache,
    )
    pages, kv_heads, split, page_size, _ = key_cache.shape
    shape = (pages, kv_heads, page_size // vector, split * vector, vector)
    check_shape(KERNEL, "value_cache", value_cache, shape)
    group = query.shape[1] // kv_heads
    require(
        group * kv_heads == query.shape[1] and 1 <= group <= MAX_GROUP,
        KERNEL,
        "query",
        f"of 1 to {MAX_GROUP} heads for each of {kv_heads}, those of key_cache",
        query,
    )


def _read_scales(
    key_scale: torch.Tensor | None,
    value_scale: torch.Tensor | None,
    softmax_scale: float,
    key_cache: torch.Tensor,
    rows: int,
) -> tuple[torch.Tensor, torch.Tensor]:
    """(scale of the scores, scale of V), [rows, Hk] float32."""
    if key_cache.dtype not in FP8_DTYPES:
        key_scale = value_scale = None
    k_scale, v_scale = read_scale_pair(
        KERNEL, key_cache.device, key_scale=key_scale, value_scale=value_scale
    )
    shape = (rows, key_cache.shape[1])
    return (k_scale * softmax_scale).expand(shape), v_scale.expand(shape)
