"""Valid random inputs of the kernels that read two-dimensional page tables."""

from __future__ import annotations

from typing import Any

import torch

from aiter_reference.fp8 import FP8_DTYPES
from aiter_reference.inputs import HOSTILE_ENTRIES, PagedInputs, offsets
from aiter_reference.validation import VECTOR_BYTES


def make_block_table(inputs: PagedInputs) -> torch.Tensor:
    """The pages of every row, [rows + 1, W] int32; the rest is no page of the pool."""
    counts = inputs.page_counts()
    hostile = torch.tensor(HOSTILE_ENTRIES)
    width = max(counts) + 2
    cells = hostile.repeat((len(counts) + 1) * width)[: (len(counts) + 1) * width]
    table = cells.to(torch.int32).view(len(counts) + 1, width)
    for row, pages in enumerate(torch.split(inputs.pages[: sum(counts)], counts)):
        table[row, : len(pages)] = pages
    return table


def unified_arguments(inputs: PagedInputs) -> dict[str, Any]:
    """Keywords of unified_attention; a bfloat16 `out` of NaN."""
    shape = inputs.shape
    half = torch.bfloat16 if inputs.q.dtype in FP8_DTYPES else inputs.q.dtype
    table = make_block_table(inputs)
    return {
        "q": inputs.q,
        "k": inputs.k_pool.view(-1, inputs.page_size, *inputs.k_pool.shape[1:]),
        "v": inputs.v_pool.view(-1, inputs.page_size, *inputs.v_pool.shape[1:]),
        "out": torch.full(inputs.q.shape, torch.nan, dtype=half),
        "cu_seqlens_q": offsets(shape.q_lens),
        "max_seqlen_q": max(shape.q_lens),
        "seqused_k": torch.tensor(shape.k_lens),
        "max_seqlen_k": table.shape[1] * inputs.page_size,
        "softmax_scale": shape.head_dim**-0.5,
        "causal": True,
        "window_size": (-1, -1),
        "block_table": table,
        "softcap": 0.0,
        "q_descale": None,
        "k_descale": None,
        "v_descale": None,
    }


def gluon_arguments(inputs: PagedInputs) -> dict[str, Any]:
    """Keywords of pa_decode_gluon, for rows of one query each; an `output` of NaN."""
    k, v = vectorize(inputs.k_pool, inputs.v_pool, inputs.page_size)
    return {
        "output": torch.full_like(inputs.q, torch.nan),
        "query": inputs.q,
        "key_cache": k,
        "value_cache": v,
        "context_lengths": torch.tensor(inputs.shape.k_lens),
        "block_tables": make_block_table(inputs),
        "softmax_scale": inputs.shape.head_dim**-0.5,
        "query_length": 1,
        "max_context_partition_num": 1,
    }


def vectorize(
    k: torch.Tensor, v: torch.Tensor, page_size: int
) -> tuple[torch.Tensor, torch.Tensor]:
    """[slots, Hk, D] K and V in the 5D layout, x elements being 16 bytes.

    K becomes [pages, Hk, D / x, page_size, x], V [pages, Hk, page_size / x, D, x].
    """
    vector = VECTOR_BYTES // k.element_size()
    heads, dim = k.shape[1:]
    keys = k.view(-1, page_size, heads, dim // vector, vector)
    values = v.view(-1, page_size // vector, vector, heads, dim)
    return (
        keys.permute(0, 2, 3, 1, 4).contiguous(),
        values.permute(0, 3, 1, 4, 2).contiguous(),
    )
