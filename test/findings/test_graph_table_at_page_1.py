"""The page table of a decode graph at page size 1."""

from __future__ import annotations

import pytest
import torch

from backend.bench import Bench, require_right
from backend.branches import recorded
from backend.graph import DecodeGraph
from backend.shapes import Setup
from backend.switches import switched


@pytest.mark.xfail(
    strict=True,
    raises=IndexError,
    reason="upstream: sgl-project/sglang#40410 and #34833, the table is not refreshed",
)
def test_replay_refreshes_the_table() -> None:
    with switched("unified"):
        bench = Bench(Setup(page_size=1))
        graph = DecodeGraph(bench, size=2)
        parts = bench.take(bench.admit([1, 4]), [1, 1])
        require_right(graph.replay(parts))


def test_without_a_graph_the_table_is_right() -> None:
    with switched("unified"), recorded() as calls:
        bench = Bench(Setup(page_size=1))
        require_right(bench.decode(bench.admit([1, 4])))
    (call,) = calls
    assert call.kernel == "unified_attention"
    assert torch.is_tensor(call.arguments["block_table"])
