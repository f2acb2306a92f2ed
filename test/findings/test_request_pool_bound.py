"""Decode graphs of more rows than the request pool has (sglang#20978)."""

from __future__ import annotations

import pytest

from backend.bench import Bench
from backend.graph import DecodeGraph
from backend.shapes import Setup
from backend.switches import switched

REQUESTS, ROWS = 4, 8
BOUND = "upstream: none known; kept at the size of the request pool"


@pytest.mark.xfail(strict=True, raises=AssertionError, reason=BOUND)
def test_unified_graph_has_query_offsets_for_every_row() -> None:
    with switched("unified"):
        graph = DecodeGraph(Bench(Setup(requests=REQUESTS)), ROWS)
    assert graph.captured.qo_indptr.tolist() == list(range(ROWS + 1))


@pytest.mark.xfail(strict=True, raises=AssertionError, reason=BOUND)
def test_workspace_has_room_for_every_row() -> None:
    bench = Bench(Setup(requests=REQUESTS))
    DecodeGraph(bench, ROWS)
    setup, backend = bench.setup, bench.backend
    # Per row, head and partition: two float32, and D elements of the query's dtype.
    parts = ROWS * setup.q_heads * backend.max_num_partitions
    assert backend.workspace_buffer.numel() >= parts * (2 * 4 + setup.head_dim * 2)
