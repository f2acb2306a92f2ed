"""Gathered rows, up to slots whose byte offsets do not fit in 32 bits."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from benchmark.kv_gather.modules import GATHER_FILE, load_file
from producers.platform import load_aiter_backend
from properties.profile import examples

load_aiter_backend()
aiter_kv_gather = importlib.import_module("sglang.srt.layers.attention.aiter_kv_gather")
FP8 = torch.float8_e4m3fn


def numbered_rows(slots: int, heads: int, dim: int, seed: int) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    rows = torch.randint(0, 256, (slots, heads, dim), generator=generator)
    return rows.to(torch.uint8).view(FP8)


@examples(120)
@given(
    slots=st.integers(1, 40),
    heads=st.tuples(st.integers(1, 3), st.integers(1, 3)),
    dims=st.tuples(st.integers(1, 40), st.integers(1, 40)),
    dtype=st.sampled_from([torch.int32, torch.int64]),
    seed=st.integers(0, 3),
    data=st.data(),
)
def test_rows_are_those_of_the_slots_in_order(
    slots: int,
    heads: tuple[int, int],
    dims: tuple[int, int],
    dtype: torch.dtype,
    seed: int,
    data: st.DataObject,
) -> None:
    chosen = data.draw(st.lists(st.integers(0, slots - 1), max_size=20))
    caches = [
        numbered_rows(slots, h, d, seed + i)
        for i, (h, d) in enumerate(zip(heads, dims, strict=True))
    ]
    tok_idx = torch.tensor(chosen, dtype=dtype)
    gathered = aiter_kv_gather.gather_kv(*caches, tok_idx)
    for rows, cache in zip(gathered, caches, strict=True):
        want = cache.view(torch.uint8)[chosen]
        assert rows.dtype == cache.dtype and rows.is_contiguous()
        assert torch.equal(rows.view(torch.uint8), want)


def sparse_pool(folder: Path, slots: int, row_bytes: int) -> torch.Tensor:
    """[slots, 1, row_bytes] fp8 zeros in a file that takes no room until written."""
    file = folder / "pool"
    with file.open("wb") as handle:
        handle.truncate(slots * row_bytes)
    flat = torch.from_file(
        str(file), shared=True, size=slots * row_bytes, dtype=torch.uint8
    )
    return flat.view(FP8).view(slots, 1, row_bytes)


@pytest.fixture(params=["torch", "triton"])
def gather(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> Iterator[ModuleType]:
    """The module SGLang serves with; under "triton" its kernel, interpreted."""
    if request.param == "torch":
        yield aiter_kv_gather
        return
    triton = pytest.importorskip("triton", reason="the Triton path needs triton")
    with triton.knobs.runtime.scope():
        # Read when the kernel is decorated.
        triton.knobs.runtime.interpret = True
        module = load_file(GATHER_FILE)
        monkeypatch.setattr(module, "_gather_kv_torch", module._gather_kv_triton)
        yield module


@pytest.mark.parametrize("dtype", [torch.int32, torch.int64])
def test_slots_beyond_4_gib_of_rows(
    gather: ModuleType, dtype: torch.dtype, tmp_path: Path
) -> None:
    """Offsets of 2^31 and of 2^32 bytes, one slot before, at and one behind."""
    row = 256
    edges = [bits // row + d for bits in (2**31, 2**32) for d in (-1, 0, 1)]
    # Where the same offsets, cut to 32 bits, would land.
    wrapped = [slot % (2**31 // row) for slot in edges] + [1]
    pool = sparse_pool(tmp_path, max(edges) + 1, row)
    chosen = [*edges, *wrapped]
    marks = pool.view(torch.uint8)
    for number, slot in enumerate(sorted(set(chosen))):
        marks[slot] = number + 1
    want = marks[torch.tensor(chosen)]
    for rows in gather.gather_kv(pool, pool, torch.tensor(chosen, dtype=dtype)):
        assert torch.equal(rows.view(torch.uint8), want)
