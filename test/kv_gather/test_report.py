"""The tables in docs/performance.md are those of the committed measurements."""

from __future__ import annotations

import json
from typing import Any

from benchmark.kv_gather.environment import REPOSITORY
from benchmark.kv_gather.report import replace_tables

PAGE = REPOSITORY / "docs/performance.md"
# The first one's environment is shown.
RESULTS = (
    "benchmark/kv_gather/results/h200.json",
    "benchmark/kv_gather/results/h200_sweep.json",
    "benchmark/prefill/results/h200.json",
)


def test_tables_of_the_page_are_those_of_the_runs() -> None:
    page = PAGE.read_text()
    result: dict[str, Any] = {}
    for file in reversed(RESULTS):
        result |= json.loads((REPOSITORY / file).read_text())
    assert replace_tables(page, result) == page, (
        "renew with python -m benchmark.kv_gather.run"
        f" --from-json {' '.join(RESULTS)} --markdown docs/performance.md"
    )
