"""Metadata that is wrong in the ways of this family of faults fails the benches.

Each is a reading that some kernel or producer somewhere has had.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest
import torch

from backend.bench import DECODE, EXTEND, Bench, require_right
from backend.shapes import Setup
from backend.switches import switched

PREFIXES, TOKENS = [40, 70, 33], [7, 20, 2]
WINDOW = 20
# How a wrong table shows: a wrong output, or an entry that no pool has.
SEEN = (AssertionError, IndexError)


def _rows(fm: Any) -> list[tuple[int, int]]:
    """(first entry, end) of each request in a flat table; the buffer is longer."""
    return list(pairwise(fm.kv_indptr[: len(PREFIXES) + 1].tolist()))


def read_slots_by_page(bench: Bench, fm: Any) -> None:
    """A table of one entry per token read as one of one per page (sglang#36758)."""
    page, table = bench.setup.page_size, fm.kv_indices.clone()
    for start, end in _rows(fm):
        token = torch.arange(end - start)
        entries = table[start + token // page]
        fm.kv_indices[start:end] = entries * page + token % page


def read_slots_as_pages(bench: Bench, fm: Any) -> None:
    fm.kv_indices *= bench.setup.page_size


def read_pages_as_slots(bench: Bench, fm: Any) -> None:
    fm.kv_indices //= bench.setup.page_size


def view_by_slots(bench: Bench, fm: Any) -> None:
    fm.paged_kv_view[1].mul_(bench.setup.page_size)


def view_of_full_last_pages(bench: Bench, fm: Any) -> None:
    fm.paged_kv_view[2].fill_(bench.setup.page_size)


def shift_by_a_page(bench: Bench, fm: Any) -> None:
    fm.kv_indices += bench.setup.page_size if fm.kv_indices.ndim == 1 else 1


def drop_the_last_page(bench: Bench, fm: Any) -> None:
    """The first page's tokens stand in for those of the last, partial one."""
    page, table = bench.setup.page_size, fm.kv_indices
    if table.ndim == 2:
        table[:, -1] = table[:, 0]
        return
    for start, end in _rows(fm):
        kept = (end - start - 1) // page * page
        table[start + kept : end] = table[start : end - kept]


def swap_two_rows(bench: Bench, fm: Any) -> None:
    table = fm.kv_indices
    if table.ndim == 2:
        table[[0, 1]] = table[[1, 0]]
        return
    (first, second), (_, third), _ = _rows(fm)
    rows = table[first:second].clone(), table[second:third].clone()
    table[first:third] = torch.cat(rows[::-1])


def keep_the_last_batchs_table(bench: Bench, fm: Any) -> None:
    """Of other requests of the same lengths."""
    parts = bench.take(bench.admit(PREFIXES), TOKENS)
    bench.backend.init_forward_metadata(bench.make_batch(parts, EXTEND))
    fm.kv_indices = bench.backend.forward_metadata.kv_indices
    bench.backend.forward_metadata = fm


def swap_the_pools(bench: Bench, fm: Any) -> None:
    fm.kv_indices, fm.swa_page_table = fm.swa_page_table, fm.kv_indices


def drop_the_scales(bench: Bench, fm: Any) -> None:
    for layer in bench.layers:
        layer.k_scale = layer.v_scale = None


Mutation = Callable[[Bench, Any], None]
FLAT: dict[str, Any] = {}
CASES: list[tuple[Mutation, Any, dict[str, Any], tuple[str, ...]]] = [
    (read_slots_by_page, EXTEND, FLAT, ()),
    (read_slots_by_page, EXTEND, {"head_dim": 128}, ()),
    (read_slots_by_page, EXTEND, {"kv_dtype": torch.bfloat16}, ()),
    (read_slots_by_page, DECODE, FLAT, ()),
    (read_slots_as_pages, DECODE, FLAT, ()),
    (read_pages_as_slots, DECODE, FLAT, ("unified",)),
    (view_by_slots, EXTEND, {"page_size": 64}, ()),
    (view_of_full_last_pages, EXTEND, {"page_size": 64}, ()),
    (shift_by_a_page, EXTEND, FLAT, ()),
    (shift_by_a_page, DECODE, FLAT, ("unified",)),
    (drop_the_last_page, EXTEND, FLAT, ()),
    (drop_the_last_page, DECODE, FLAT, ()),
    (drop_the_last_page, DECODE, FLAT, ("unified",)),
    (swap_two_rows, EXTEND, FLAT, ()),
    (swap_two_rows, DECODE, FLAT, ()),
    (swap_two_rows, DECODE, FLAT, ("unified",)),
    (keep_the_last_batchs_table, EXTEND, FLAT, ()),
    (swap_the_pools, DECODE, {"window": WINDOW}, ()),
    (swap_the_pools, EXTEND, {"window": WINDOW}, ()),
    (drop_the_scales, EXTEND, {"k_scale": 0.5, "v_scale": 0.25}, ()),
    (drop_the_scales, DECODE, {"k_scale": 0.5, "v_scale": 0.25}, ()),
]


def serve(bench: Bench, mode: Any, mutate: Mutation | None) -> None:
    tokens = [1] * len(PREFIXES) if mode == DECODE else TOKENS
    parts = bench.take(bench.admit(PREFIXES), tokens)
    batch = bench.make_batch(parts, mode)
    bench.backend.init_forward_metadata(batch)
    if mutate is not None:
        mutate(bench, bench.backend.forward_metadata)
    require_right(bench.forward(batch, parts, keys=bench.setup.window))


@pytest.mark.parametrize(("mutate", "mode", "setup", "switches"), CASES)
def test_mutation_is_seen_and_its_absence_is_right(
    mutate: Mutation, mode: Any, setup: dict[str, Any], switches: tuple[str, ...]
) -> None:
    with switched(*switches):
        bench = Bench(Setup(**{"page_size": 16} | setup))
        serve(bench, mode, None)
        with pytest.raises(SEEN):
            serve(bench, mode, mutate)


@pytest.mark.parametrize("mode", [EXTEND, DECODE], ids=["extend", "decode"])
def test_reading_by_page_is_invisible_at_page_1(mode: Any) -> None:
    """Why every other test here runs at larger pages too."""
    serve(Bench(Setup(page_size=1)), mode, read_slots_by_page)
