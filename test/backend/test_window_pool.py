"""Two pools: every table holds numbers of its own pool alone."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
import torch

from backend.bench import DECODE, EXTEND, MIXED, Bench, Part, require_right
from backend.graph import DecodeGraph
from backend.pools import WINDOW_LAYER
from backend.shapes import Setup

PREFIXES, TOKENS = [40, 5, 70, 16], [7, 1, 20, 1]
WINDOW = 20


def require_own_numbers(bench: Bench, parts: Sequence[Part], unit: int) -> None:
    """The live entries of both tables, as slots (unit 1) or as page ids."""
    metadata = bench.backend.forward_metadata
    full, window = metadata.kv_indices, metadata.swa_page_table
    assert full.dtype == window.dtype == torch.int32
    # The pools of a bench share no number, so a slip would be out of range.
    edge = (bench.setup.slots + bench.setup.page_size) // unit
    first = 0
    for row, part in enumerate(parts):
        every = bench.pools.requests.req_to_token[part.request.row, : part.end].long()
        slots = every[:: unit if full.ndim == 2 else 1]
        columns = slice(first, first + len(slots))
        first = 0 if full.ndim == 2 else columns.stop
        for table, own in (
            (full, slots),
            (window, bench.pools.own_slots(WINDOW_LAYER, slots)),
        ):
            entries = table[row, columns] if table.ndim == 2 else table[columns]
            assert torch.equal(entries.long(), own // unit), (row, entries, own // unit)
        assert int((slots // unit).min()) >= edge


@pytest.mark.parametrize("page", [1, 16, 64])
@pytest.mark.parametrize("mode", [EXTEND, MIXED, DECODE], ids=lambda mode: mode.name)
def test_tables_hold_numbers_of_their_own_pool(mode: object, page: int) -> None:
    bench = Bench(Setup(page_size=page, window=WINDOW))
    tokens = [1] * len(PREFIXES) if mode == DECODE else TOKENS
    parts = bench.take(bench.admit(PREFIXES), tokens)
    bench.backend.init_forward_metadata(bench.make_batch(parts, mode))
    require_own_numbers(bench, parts, page if mode == DECODE else 1)


@pytest.mark.parametrize("page", [1, 16, 64])
def test_graph_tables_hold_numbers_of_their_own_pool(page: int) -> None:
    bench = Bench(Setup(page_size=page, window=WINDOW))
    graph = DecodeGraph(bench, size=len(PREFIXES))
    parts = bench.take(bench.admit(PREFIXES), [1] * len(PREFIXES))
    require_right(graph.replay(parts, keys=WINDOW))
    require_own_numbers(bench, parts, page)


@pytest.mark.parametrize("page", [1, 16, 64])
def test_new_tokens_are_written_to_both_pools(page: int) -> None:
    """Each layer's row lies in its own pool, at the slot that the mapping gives."""
    bench = Bench(Setup(page_size=page, window=WINDOW))
    requests = bench.admit(PREFIXES)
    extended = bench.take(requests, TOKENS)
    bench.run(extended, keys=WINDOW)
    decoded = bench.take(requests, [1] * len(requests))
    bench.run(decoded, DECODE, keys=WINDOW)
    for part in [*extended, *decoded]:
        for layer in bench.layers:
            at = layer.layer_id
            slots = bench.pools.own_slots(at, part.slots)
            for buffer, rows in zip(
                bench.pools.buffers(at), (part.request.k, part.request.v), strict=True
            ):
                stored = buffer[slots].view(bench.setup.kv_dtype).float()
                want = rows[at][part.start : part.end].float()
                assert torch.equal(stored, want), (at, part.start)


@pytest.mark.parametrize("page", [1, 16, 64])
@pytest.mark.parametrize("mode", [EXTEND, DECODE], ids=lambda mode: mode.name)
def test_evicted_tokens_are_not_read(mode: object, page: int) -> None:
    """Their slots of the window's pool belong to another request by now."""
    bench = Bench(Setup(page_size=page, window=WINDOW))
    (request,) = bench.admit([200])
    slots = bench.pools.requests.req_to_token[request.row, :128].long()
    evicted = bench.pools.own_slots(WINDOW_LAYER, slots)
    bench.pools.allocator.free_swa(slots)
    assert not bench.pools.own_slots(WINDOW_LAYER, slots).any()
    # At page size 1 the allocator hands out what was freed last.
    allocator = bench.pools.allocator.swa_attn_allocator
    pages = allocator.free_pages
    freed = torch.isin(pages, evicted // page)
    allocator.free_pages = torch.cat((pages[freed], pages[~freed]))
    (other,) = bench.admit([128])
    taken = bench.pools.requests.req_to_token[other.row, :128].long()
    reused = bench.pools.own_slots(WINDOW_LAYER, taken)
    assert set(reused.tolist()) == set(evicted.tolist())
    tokens = [1, 1] if mode == DECODE else [7, 20]
    parts = bench.take([request, other], tokens)
    require_right(bench.run(parts, mode, keys=WINDOW))
