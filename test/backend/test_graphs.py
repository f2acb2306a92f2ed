"""Graphs other than the plain decode one, and batches that follow a graph's set-up."""

from __future__ import annotations

from typing import Any

import pytest

from backend.bench import VERIFY, Bench, Request, require_right
from backend.branches import recorded
from backend.drafts import draft_batch, make_draft_backend, run_steps
from backend.graph import HOSTILE, DecodeGraph
from backend.shapes import Setup
from backend.switches import switched

FIRST, SECOND = [40, 1, 64], [15, 70, 16]
DRAFTED, STEPS, WINDOW = 4, 3, 20


@pytest.mark.parametrize("page", [1, 16, 64])
def test_extend_is_right_beside_a_graph_of_more_rows_than_requests(page: int) -> None:
    """sglang#20978: the backend then makes new offsets, the updater keeps its own."""
    bench = Bench(Setup(page_size=page, requests=6))
    before = bench.backend.kv_indptr.data_ptr()
    DecodeGraph(bench, 8)
    assert bench.backend.kv_indptr.data_ptr() != before
    with recorded() as calls:
        require_right(bench.extend(FIRST, [7, 20, 1]))
        require_right(bench.extend([0] * 3, [5, 1, 20]))
    assert len(calls) == 2


@pytest.mark.parametrize("page", [2, 16, 64])
@pytest.mark.parametrize("window", [None, WINDOW])
def test_verify_of_a_replay_reads_its_own_pages(window: int | None, page: int) -> None:
    with switched("unified"), recorded() as calls:
        bench = Bench(Setup(page_size=page, draft_tokens=DRAFTED, window=window))
        backend, rows = bench.backend, len(FIRST)
        backend.init_cuda_graph_state(rows, rows * DRAFTED)
        captured = None
        for prefixes in (FIRST, SECOND):
            parts = bench.take(bench.admit(prefixes), [DRAFTED] * rows)
            batch = bench.make_batch(parts, VERIFY)
            backend.cuda_graph_page_table.fill_(HOSTILE)
            backend.init_forward_metadata_out_graph(batch, in_capture=captured is None)
            captured = captured or backend.forward_metadata
            backend.forward_metadata = captured
            if captured.swa_out_cache_loc is not None and prefixes is FIRST:
                continue  # A capture writes to the sink of the window's pool.
            require_right(bench.forward(batch, parts, keys=window), f"{prefixes}")
    assert {call.kernel for call in calls} == {"unified_attention"}


def run_draft_graph(bench: Bench, backend: Any, requests: list[Request]) -> None:
    chain = [bench.take(requests, [1] * len(requests)) for _ in range(STEPS)]
    batch = draft_batch(bench, chain[0])
    backend.cuda_graph_kv_indices.fill_(HOSTILE)
    backend.init_forward_metadata_out_graph(batch)
    require_right(run_steps(bench, backend, batch, chain))


@pytest.mark.parametrize("page", [1, 16, 64])
def test_draft_steps_of_a_graph_see_the_tokens_before(page: int) -> None:
    with recorded() as calls:
        bench = Bench(Setup(page_size=page, draft_tokens=STEPS + 1))
        backend = make_draft_backend(bench, topk=1, steps=STEPS)
        backend.init_cuda_graph_state(len(FIRST), len(FIRST))
        for prefixes in (FIRST, SECOND):
            run_draft_graph(bench, backend, bench.admit(prefixes))
    form = "paged_attention_ragged: fp8 slots"
    assert [call.form for call in calls] == [form] * 2 * (STEPS - 1)


def test_replays_write_to_the_windows_own_slots_in_the_5d_layout() -> None:
    """The only layout whose write takes the graph's translated slots."""
    with switched("5D"):
        bench = Bench(Setup(window=WINDOW, head_dim=128, context_len=256))
        graph = DecodeGraph(bench, 3)
        requests = bench.admit(FIRST)
        for _ in range(2):
            parts = bench.take(requests, [1] * 3)
            require_right(graph.replay(parts, keys=WINDOW - 1))
