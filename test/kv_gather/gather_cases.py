"""Caches to gather from, and what a gather must return."""

from __future__ import annotations

from types import ModuleType

import torch

from benchmark.kv_gather.modules import GATHER_FILE, load_file

FP8, BF16, U8 = torch.float8_e4m3fn, torch.bfloat16, torch.uint8
SLOTS = 67
# K [heads, dim], V [heads, dim], dtype.
SHAPES = [
    ((1, 256), (1, 256), FP8),
    ((2, 256), (2, 256), FP8),
    ((4, 256), (4, 256), U8),
    ((8, 256), (8, 256), FP8),
    ((2, 256), (1, 128), BF16),
    ((3, 20), (3, 20), U8),
    ((1, 13), (5, 7), FP8),
    ((1, 6), (1, 2), BF16),
]


def load_gather() -> ModuleType:
    """The overlay's file, as it stands."""
    return load_file(GATHER_FILE)


def make_cache(
    shape: tuple[int, int], dtype: torch.dtype, pad: int = 0
) -> torch.Tensor:
    """[SLOTS, heads, dim] of random bytes; rows lie `pad` bytes further apart."""
    heads, dim = shape
    row = heads * dim * dtype.itemsize
    pool = torch.randint(0, 256, (SLOTS, row + pad), dtype=torch.uint8)
    size = (SLOTS, heads, dim)
    return pool.view(dtype).as_strided(size, ((row + pad) // dtype.itemsize, dim, 1))


def make_indices(total_k: int, dtype: torch.dtype) -> torch.Tensor:
    """Slots with repeats; the last of the pool is among them."""
    tok_idx = torch.randint(0, SLOTS, (total_k,), dtype=dtype)
    tok_idx[-1:] = SLOTS - 1
    return tok_idx


def as_bytes(rows: torch.Tensor) -> torch.Tensor:
    """[rows, row bytes] of any contiguous rows."""
    return rows.contiguous().flatten(1).view(torch.uint8)


def require_rows(
    rows: torch.Tensor, cache: torch.Tensor, tok_idx: torch.Tensor
) -> None:
    """Fail unless `rows` are `cache[tok_idx]`, byte for byte and contiguous."""
    assert rows.shape == (tok_idx.numel(), *cache.shape[1:]), rows.shape
    assert rows.dtype == cache.dtype and rows.is_contiguous()
    expected = as_bytes(cache)[tok_idx.long()]
    wrong = (as_bytes(rows) != expected).any(1).nonzero().flatten().tolist()
    assert not wrong, f"rows {wrong[:8]} differ, slots {tok_idx[wrong[:8]].tolist()}"
