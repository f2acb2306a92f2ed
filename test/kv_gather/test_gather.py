"""Both paths of `gather_kv` against plain indexing; the Triton one is interpreted."""

from __future__ import annotations

from collections.abc import Iterator
from types import ModuleType

import pytest
import torch

from kv_gather.gather_cases import (
    FP8,
    SHAPES,
    SLOTS,
    U8,
    as_bytes,
    load_gather,
    make_cache,
    make_indices,
    require_rows,
)

GUARD = 64
CANARY = 0xA5


@pytest.fixture(params=["torch", "triton"])
def gather(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> Iterator[ModuleType]:
    """The module; under "triton" its CPU tensors take the interpreted kernel too."""
    torch.manual_seed(7)
    if request.param == "torch":
        yield load_gather()
        return
    triton = pytest.importorskip("triton", reason="the Triton path needs triton")
    with triton.knobs.runtime.scope():
        # Read when the kernel is decorated.
        triton.knobs.runtime.interpret = True
        module = load_gather()
        monkeypatch.setattr(module, "_gather_kv_torch", module._gather_kv_triton)
        yield module


@pytest.mark.parametrize(("k_shape", "v_shape", "dtype"), SHAPES)
@pytest.mark.parametrize("index_dtype", [torch.int32, torch.int64])
@pytest.mark.parametrize("total_k", [0, 1, 37])
def test_rows_equal_indexing(
    gather: ModuleType,
    k_shape: tuple[int, int],
    v_shape: tuple[int, int],
    dtype: torch.dtype,
    index_dtype: torch.dtype,
    total_k: int,
) -> None:
    caches = make_cache(k_shape, dtype), make_cache(v_shape, dtype)
    tok_idx = make_indices(total_k, index_dtype)
    for rows, cache in zip(gather.gather_kv(*caches, tok_idx), caches, strict=True):
        require_rows(rows, cache, tok_idx)


@pytest.mark.parametrize("row_bytes", [128, 512, 2048])
def test_rows_equal_indexing_in_every_launch_class(
    gather: ModuleType, row_bytes: int
) -> None:
    cache = make_cache((1, row_bytes), FP8)
    for total in (2**20, 9 * 2**20):
        if total > 2**20 and row_bytes < 2048:
            continue  # The interpreter runs a program at a time.
        tok_idx = make_indices(total // 2 // row_bytes, torch.int32)
        for rows in gather.gather_kv(cache, cache, tok_idx):
            require_rows(rows, cache, tok_idx)


@pytest.mark.parametrize("pad", [16, 4, 3])
def test_rows_of_a_strided_pool(gather: ModuleType, pad: int) -> None:
    caches = make_cache((2, 128), FP8, pad), make_cache((1, 64), FP8, 2 * pad)
    assert not caches[0].is_contiguous()
    tok_idx = make_indices(37, torch.int32)
    for rows, cache in zip(gather.gather_kv(*caches, tok_idx), caches, strict=True):
        require_rows(rows, cache, tok_idx)


def test_repeated_slots(gather: ModuleType) -> None:
    cache = make_cache((2, 256), FP8)
    tok_idx = torch.tensor([SLOTS - 1] * 9 + [0] * 9 + [SLOTS - 1], dtype=torch.int32)
    for rows in gather.gather_kv(cache, cache, tok_idx):
        require_rows(rows, cache, tok_idx)


@pytest.mark.parametrize("total_k", [0, 1, 37])
def test_given_buffers_are_written_and_nothing_beside_them(
    gather: ModuleType, total_k: int
) -> None:
    caches = make_cache((1, 256), FP8), make_cache((3, 20), FP8)
    tok_idx = make_indices(total_k, torch.int64)
    sizes = [total_k * cache.shape[1] * cache.shape[2] for cache in caches]
    scratches = [torch.full((size + 2 * GUARD,), CANARY, dtype=U8) for size in sizes]
    out = [
        scratch[GUARD:-GUARD].view(FP8).view(total_k, *cache.shape[1:])
        for scratch, cache in zip(scratches, caches, strict=True)
    ]
    gathered = gather.gather_kv(*caches, tok_idx, tuple(out))
    for rows, buffer, cache in zip(gathered, out, caches, strict=True):
        assert rows.data_ptr() == buffer.data_ptr()
        require_rows(rows, cache, tok_idx)
    for scratch in scratches:
        guards = torch.cat((scratch[:GUARD], scratch[-GUARD:]))
        assert guards.eq(CANARY).all(), guards.tolist()


def test_poison_in_unused_slots_is_not_read(gather: ModuleType) -> None:
    nan = 0x7F  # Of float8_e4m3fn.
    cache = torch.full((SLOTS, 2, 256), nan, dtype=U8)
    cache[::2] = torch.randint(0, nan, (len(cache[::2]), 2, 256), dtype=U8)
    tok_idx = torch.randint(0, len(cache[::2]), (37,), dtype=torch.int32) * 2
    for rows in gather.gather_kv(cache.view(FP8), cache.view(FP8), tok_idx):
        assert not as_bytes(rows).eq(nan).any()
        require_rows(rows, cache.view(FP8), tok_idx)


def test_cpu_tensors_take_the_torch_path(monkeypatch: pytest.MonkeyPatch) -> None:
    module = load_gather()
    monkeypatch.setattr(module, "_gather_kv_triton", None)
    cache = make_cache((2, 256), FP8)
    module.gather_kv(cache, cache, make_indices(3, torch.int32))
