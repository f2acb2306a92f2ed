"""The compiled gather, byte for byte against indexing."""

from __future__ import annotations

from types import ModuleType

import pytest
import torch

from benchmark.kv_gather.timing import count_synchronisations
from gpu.requests import load_kernels, make_requests, make_table
from kv_gather.gather_cases import (
    FP8,
    SHAPES,
    U8,
    as_bytes,
    load_gather,
    make_cache,
    make_indices,
    require_rows,
)

# Beyond 2^31 and 2^32 bytes: an offset of 32 bits would wrap to other rows.
FAR_BYTES = 5 * 2**30
ROW = 512


@pytest.fixture(scope="module")
def gather() -> ModuleType:
    torch.manual_seed(7)
    return load_gather()


@pytest.mark.parametrize(("k_shape", "v_shape", "dtype"), SHAPES)
@pytest.mark.parametrize("index_dtype", [torch.int32, torch.int64])
@pytest.mark.parametrize("total_k", [0, 1, 37, 5000])
@pytest.mark.parametrize("pad", [0, 16])
def test_rows_equal_indexing(
    gather: ModuleType,
    k_shape: tuple[int, int],
    v_shape: tuple[int, int],
    dtype: torch.dtype,
    index_dtype: torch.dtype,
    total_k: int,
    pad: int,
) -> None:
    caches = [make_cache(s, dtype, pad) for s in (k_shape, v_shape)]
    on_gpu = [cache.cuda() if pad == 0 else to_gpu(cache, pad) for cache in caches]
    tok_idx = make_indices(total_k, index_dtype)
    rows = gather.gather_kv(*on_gpu, tok_idx.cuda())
    for got, cache in zip(rows, caches, strict=True):
        require_rows(got.cpu(), cache, tok_idx)


def to_gpu(cache: torch.Tensor, pad: int) -> torch.Tensor:
    """The same rows on a GPU, as far apart as here: `.cuda()` would close the gaps."""
    slots, heads, dim = cache.shape
    row = heads * dim * cache.element_size() + pad
    pool = torch.zeros((slots, row), dtype=U8, device="cuda")
    pool[:, : row - pad] = as_bytes(cache).cuda()
    stride = (row // cache.element_size(), dim, 1)
    return pool.view(cache.dtype).as_strided(cache.shape, stride)


def test_slots_beyond_4_gib_are_read(gather: ModuleType) -> None:
    slots = FAR_BYTES // ROW
    pool = torch.zeros((slots, ROW), dtype=U8, device="cuda")
    far = [2**31 // ROW, 2**31 // ROW + 1, 2**32 // ROW, slots - 1, 0]
    for value, slot in enumerate(far, start=1):
        pool[slot] = value
    cache = pool.view(FP8).view(slots, 2, 256)
    tok_idx = torch.tensor(far, dtype=torch.int32, device="cuda")
    k, v = gather.gather_kv(cache, cache, tok_idx)
    for rows in (k, v):
        assert as_bytes(rows)[:, 0].tolist() == [1, 2, 3, 4, 5]
        assert as_bytes(rows)[:, -1].tolist() == [1, 2, 3, 4, 5]


@pytest.mark.parametrize("page_size", [1, 16, 64])
def test_producer_table_is_gathered_as_it_lies(
    page_size: int, gather: ModuleType
) -> None:
    requests = make_requests([700, 33, 1, 64], page_size)
    table = make_table(requests, load_kernels())
    total = int(requests.kv_indptr[-1])
    shape = (requests.num_kv_slots, 2, 256)
    cache = torch.randint(0, 256, shape, dtype=U8, device="cuda").view(FP8)
    k, _ = gather.gather_kv(cache, cache, table[:total])
    require_rows(k.cpu(), cache.cpu(), requests.slots().cpu())


def test_gather_waits_for_nothing(gather: ModuleType) -> None:
    cache = make_cache((2, 256), FP8).cuda()
    tok_idx = make_indices(5000, torch.int32).cuda()
    gather.gather_kv(cache, cache, tok_idx)
    assert count_synchronisations(lambda: gather.gather_kv(cache, cache, tok_idx)) == 0
