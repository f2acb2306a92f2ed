"""Valid random inputs of the kernels, with everything that must not be read poisoned.

A pool is filled with NaN but for the rows' own tokens; pages are shuffled over the
pool; the tables end in entries that are no page of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

import torch

from aiter_reference.fp8 import FP8_DTYPES

HOSTILE_ENTRIES = (-1, 2**31 - 1, -(2**31))
SPARE_PAGES = 7


@dataclass(frozen=True)
class Shape:
    """Heads and lengths of a batch: row i has q_lens[i] queries and k_lens[i] keys."""

    q_lens: Sequence[int]
    k_lens: Sequence[int]
    q_heads: int = 4
    kv_heads: int = 2
    head_dim: int = 256
    dtype: torch.dtype = torch.float8_e4m3fn

    def random(
        self, generator: torch.Generator, tokens: int, heads: int
    ) -> torch.Tensor:
        """[tokens, heads, head_dim] of unit variance in the dtype of the batch."""
        values = torch.randn(tokens, heads, self.head_dim, generator=generator)
        return values.to(self.dtype)


@dataclass(frozen=True)
class PagedInputs:
    """A batch over a paged pool.

    Attributes:
        q: [query tokens, Hq, D].
        k_pool, v_pool: [slots, Hk, D].
        slots: [keys of all rows] int32, the slot of every token, then hostile entries.
        pages: [pages of all rows] int32, the page ids, then hostile entries.
        last_page_lens: [rows] int32.
    """

    shape: Shape
    page_size: int
    q: torch.Tensor
    k_pool: torch.Tensor
    v_pool: torch.Tensor
    slots: torch.Tensor
    pages: torch.Tensor
    last_page_lens: torch.Tensor

    def prefill_arguments(self, paged: bool) -> dict[str, Any]:
        """Keywords of mha_batch_prefill_func: by page, or by token at page size 1."""
        arguments = {
            "q": self.q,
            "cu_seqlens_q": offsets(self.shape.q_lens),
            "max_seqlen_q": max(self.shape.q_lens),
            "max_seqlen_k": max(self.shape.k_lens),
            "causal": True,
        }
        if not paged:
            return arguments | {
                "k": self.k_pool,
                "v": self.v_pool,
                "kv_indptr": offsets(self.shape.k_lens),
                "kv_page_indices": self.slots,
            }
        return arguments | {
            "k": _in_pages(self.k_pool, self.page_size),
            "v": _in_pages(self.v_pool, self.page_size),
            "kv_indptr": offsets(self.page_counts()),
            "kv_page_indices": self.pages,
            "kv_last_page_lens": self.last_page_lens,
        }

    def decode_arguments(self, paged: bool) -> dict[str, Any]:
        """Keywords of paged_attention_ragged, for rows of one query each."""
        block_size = self.page_size if paged else 1
        lens = self.last_page_lens
        return {
            "out": torch.full_like(self.q, torch.nan),
            "workspace_buffer": torch.empty(0, dtype=torch.uint8),
            "query": self.q,
            "key_cache": _in_pages(self.k_pool, block_size),
            "value_cache": _in_pages(self.v_pool, block_size),
            "scale": self.shape.head_dim**-0.5,
            "kv_indptr": offsets(self.page_counts() if paged else self.shape.k_lens),
            "kv_page_indices": self.pages if paged else self.slots,
            "kv_last_page_lens": lens if paged else torch.ones_like(lens),
            "block_size": block_size,
            "max_num_partitions": 1 + max(self.shape.k_lens) // 256,
            "alibi_slopes": None,
            "kv_cache_dtype": "fp8_e4m3" if _is_fp8(self.k_pool) else "auto",
            "kv_cache_layout": "NHD",
            "logits_soft_cap": 0.0,
            "k_scale": torch.ones(1),
            "v_scale": torch.ones(1),
        }

    def page_counts(self) -> list[int]:
        return [-(-k_len // self.page_size) for k_len in self.shape.k_lens]


def make_paged_inputs(
    seed: int, shape: Shape, page_size: int, cache_dtype: torch.dtype | None = None
) -> PagedInputs:
    """A batch over a pool of shuffled pages; the pool is in the dtype of q by default.

    Page 0 belongs to no row.
    """
    generator = torch.Generator().manual_seed(seed)
    counts = [-(-k_len // page_size) for k_len in shape.k_lens]
    num_pages = 1 + sum(counts) + SPARE_PAGES
    order = 1 + torch.randperm(num_pages - 1, generator=generator)
    pages = order[: sum(counts)]
    slots = torch.cat(
        [
            (row[:, None] * page_size + torch.arange(page_size)).flatten()[:k_len]
            for row, k_len in zip(torch.split(pages, counts), shape.k_lens, strict=True)
        ]
    )
    q = shape.random(generator, sum(shape.q_lens), shape.q_heads)
    k_pool, v_pool = (
        _make_pool(generator, shape, num_pages * page_size, slots, cache_dtype)
        for _ in range(2)
    )
    return PagedInputs(
        shape=shape,
        page_size=page_size,
        q=q,
        k_pool=k_pool,
        v_pool=v_pool,
        slots=_end_hostile(slots, num_pages * page_size),
        pages=_end_hostile(pages, num_pages),
        last_page_lens=torch.tensor(
            [(k_len - 1) % page_size + 1 for k_len in shape.k_lens], dtype=torch.int32
        ),
    )


def make_varlen_inputs(seed: int, shape: Shape) -> dict[str, Any]:
    """Keywords of flash_attn_varlen_fp8_pertensor_func; K and V end in NaN tokens."""
    generator = torch.Generator().manual_seed(seed)
    k_tokens = sum(shape.k_lens)
    packed = []
    for _ in range(2):
        tokens = shape.random(generator, k_tokens + SPARE_PAGES, shape.kv_heads).float()
        tokens[k_tokens:] = torch.nan
        packed.append(tokens.to(shape.dtype))
    return {
        "q": shape.random(generator, sum(shape.q_lens), shape.q_heads),
        "k": packed[0],
        "v": packed[1],
        "q_descale": torch.ones(1),
        "k_descale": torch.ones(1),
        "v_descale": torch.ones(1),
        "cu_seqlens_q": offsets(shape.q_lens),
        "cu_seqlens_k": offsets(shape.k_lens),
        "max_seqlen_q": max(shape.q_lens),
        "max_seqlen_k": max(shape.k_lens),
        "causal": True,
    }


def offsets(lens: Sequence[int]) -> torch.Tensor:
    """[rows + 1] int32 row offsets."""
    return torch.tensor([0, *accumulate(lens)], dtype=torch.int32)


def _make_pool(
    generator: torch.Generator,
    shape: Shape,
    num_slots: int,
    slots: torch.Tensor,
    dtype: torch.dtype | None,
) -> torch.Tensor:
    pool = torch.full((num_slots, shape.kv_heads, shape.head_dim), torch.nan)
    pool[slots] = torch.randn(
        len(slots), shape.kv_heads, shape.head_dim, generator=generator
    )
    return pool.to(dtype or shape.dtype)


def _end_hostile(entries: torch.Tensor, bound: int) -> torch.Tensor:
    tail = torch.tensor([*HOSTILE_ENTRIES, bound])
    return torch.cat([entries, tail]).to(torch.int32)


def _in_pages(pool: torch.Tensor, page_size: int) -> torch.Tensor:
    return pool.view(-1, page_size, *pool.shape[1:])


def _is_fp8(tensor: torch.Tensor) -> bool:
    return tensor.dtype in FP8_DTYPES
