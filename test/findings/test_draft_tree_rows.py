"""Several drafts of one request: as many rows for the kernel as there are queries."""

from __future__ import annotations

import pytest
import torch

from backend.bench import Bench
from backend.branches import recorded
from backend.drafts import draft_batch, make_draft_backend
from backend.shapes import Setup
from backend.switches import switched

TOPK, STEPS = 2, 3


@pytest.mark.parametrize(
    "switches",
    [
        pytest.param((), id="flat"),
        pytest.param(
            ("unified",),
            id="unified",
            marks=pytest.mark.xfail(
                strict=True,
                raises=AssertionError,
                reason="upstream: none known; lengths of requests, not of branches",
            ),
        ),
    ],
)
def test_every_branch_is_a_row(switches: tuple[str, ...]) -> None:
    with switched(*switches), recorded() as calls:
        bench = Bench(Setup(page_size=1, topk=TOPK, draft_tokens=STEPS + 1))
        requests = bench.admit([2])
        # Slots for every step of every branch, one branch after the other.
        (part,) = bench.take(requests, [TOPK * STEPS])
        backend = make_draft_backend(bench, TOPK, STEPS)
        batch = draft_batch(bench, [part])
        batch.positions = batch.seq_lens.repeat_interleave(TOPK)
        backend.init_forward_metadata(batch)
        batch.out_cache_loc = part.slots[::STEPS]
        bench.backend = backend.attn_backends[0]
        (layer,) = bench.layers
        at = layer.layer_id
        q, k, v = (
            rows[-TOPK * STEPS :: STEPS].flatten(1)
            for rows in (part.q[at], part.request.k[at], part.request.v[at])
        )
        with torch.no_grad():
            bench.backend.forward_decode(q, k, v, layer, batch)
    (call,) = calls
    lens = call.arguments.get("seqused_k")
    rows = len(call.arguments["kv_indptr"]) - 1 if lens is None else len(lens)
    assert rows == len(q) == TOPK, (rows, len(q))
