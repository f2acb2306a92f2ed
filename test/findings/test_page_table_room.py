"""Room for drafted tokens in page tables, near the context length."""

from __future__ import annotations

import pytest

from backend.bench import VERIFY, Bench, require_right
from backend.branches import recorded
from backend.graph import DecodeGraph
from backend.shapes import Setup
from backend.switches import switched

CONTEXT, DRAFTED = 64, 4
NARROW = "upstream: none for aiter; siblings sgl-project/sglang#35985 and #19016"


@pytest.mark.parametrize("page", [1, 16])
def test_verify_is_right_below_the_context_length(page: int) -> None:
    with switched("unified"), recorded() as calls:
        bench = _bench(page)
        parts = bench.take(bench.admit([CONTEXT - DRAFTED, 10]), [DRAFTED] * 2)
        require_right(bench.run(parts, VERIFY))
    assert [call.kernel for call in calls] == ["unified_attention"]


@pytest.mark.xfail(strict=True, raises=ValueError, reason=NARROW)
@pytest.mark.parametrize("page", [1, 16])
def test_verify_is_right_at_the_context_length(page: int) -> None:
    """The first row's last page id is written over the second row's first."""
    with switched("unified"):
        bench = _bench(page)
        parts = bench.take(bench.admit([CONTEXT - 1, 10]), [DRAFTED] * 2)
        require_right(bench.run(parts, VERIFY))


@pytest.mark.xfail(strict=True, raises=AssertionError, reason=NARROW)
@pytest.mark.parametrize("page", [1, 16])
def test_graph_tables_have_the_room_that_flat_ones_have(page: int) -> None:
    with switched("unified"):
        graph = DecodeGraph(_bench(page), size=2)
    flat, table = graph.tables()
    assert flat.numel() >= 2 * (CONTEXT + DRAFTED)
    assert table.shape[1] * page >= CONTEXT + DRAFTED


def _bench(page: int) -> Bench:
    return Bench(Setup(page_size=page, context_len=CONTEXT, draft_tokens=DRAFTED))
