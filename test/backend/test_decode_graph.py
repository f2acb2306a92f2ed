"""A decode graph captured on dummy rows serves every later batch.

sglang#40410 and #34833: tables that only the capture filled; sglang#24587: tables too
small for what a replay writes.
"""

from __future__ import annotations

from typing import Any

import pytest
import torch

from backend.bench import Bench, require_right
from backend.branches import recorded
from backend.graph import DecodeGraph
from backend.shapes import Setup
from backend.switches import switched

FLAT = "paged_attention_ragged: fp8 slots"
ONE = "unified_attention: fp8 pages of {page}, one query"
WINDOW = 20
LAYOUTS = [
    ("flat", (), {}, [FLAT], (1, 16, 64, 256)),
    ("unified", ("unified",), {}, [ONE], (2, 16, 64)),
    ("window pool", (), {"window": WINDOW}, [ONE, f"{ONE}, window 19"], (1, 16, 64)),
    ("5D", ("5D",), {}, ["pa_decode_gluon: fp8 5D pages of {page}"], (16,)),
]


@pytest.mark.parametrize(
    ("page", "switches", "setup", "forms"),
    [
        pytest.param(page, switches, setup, forms, id=f"{name}, page {page}")
        for name, switches, setup, forms, pages in LAYOUTS
        for page in pages
    ],
)
def test_replays_are_right(
    page: int, switches: tuple[str, ...], setup: dict[str, Any], forms: list[str]
) -> None:
    keys = setup.get("window")
    with switched(*switches):
        slots = 24 * max(page, 32)
        bench = Bench(Setup(page_size=page, slots=slots, context_len=256, **setup))
        graph = DecodeGraph(bench, size=6)
        # Shorter, fewer, longer than before; each replay finds its predecessor's rows.
        for prefixes in ([70, 15, 33], [1, 16], [5, 31, 32, 100, 64, 2]):
            requests = bench.admit(prefixes)
            for _ in range(2):
                parts = bench.take(requests, [1] * len(requests))
                with recorded() as calls:
                    outputs = graph.replay(parts, keys=keys)
                assert [call.form for call in calls] == [
                    form.format(page=page) for form in forms
                ]
                require_right(outputs, f"prefixes {prefixes}")


@pytest.mark.parametrize("page", [1, 16, 64])
def test_flat_table_holds_every_row_at_the_context_length(page: int) -> None:
    size, context = 4, 128
    bench = Bench(Setup(page_size=page, slots=1024, context_len=context))
    graph = DecodeGraph(bench, size)
    table = bench.backend.cuda_graph_kv_indices
    requests = bench.admit([context - 1] * size)
    require_right(graph.replay(bench.take(requests, [1] * size)))
    assert (table[size * context :] == torch.iinfo(torch.int32).max).all()
