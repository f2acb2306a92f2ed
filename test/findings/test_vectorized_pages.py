"""Page sizes of the 5D layout."""

from __future__ import annotations

import pytest

from backend.bench import Bench, require_right
from backend.shapes import Setup
from backend.switches import switched


@pytest.mark.parametrize(
    "page",
    [
        16,
        64,
        pytest.param(
            32,
            marks=pytest.mark.xfail(
                strict=True,
                raises=ValueError,
                reason="upstream: none known; the pool takes what no kernel decodes",
            ),
        ),
    ],
)
def test_page_sizes_of_the_pool_are_those_of_decode(page: int) -> None:
    with switched("5D"):
        bench = Bench(Setup(page_size=page))
        require_right(bench.decode(bench.admit([5, 3])))
