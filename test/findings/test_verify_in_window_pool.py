"""Legacy verification of drafts in a layer with a pool of its own."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from backend.bench import VERIFY, Bench, require_right
from backend.branches import recorded
from backend.pools import FULL_LAYER, WINDOW_LAYER
from backend.shapes import Setup
from backend.switches import switched

WINDOW, DRAFTED = 20, 2


def test_unified_verify_reads_each_layers_own_pool() -> None:
    with switched(), recorded() as calls:
        bench = Bench(Setup(window=WINDOW, draft_tokens=DRAFTED))
        parts = bench.take(bench.admit([40, 5]), [DRAFTED] * 2)
        require_right(bench.run(parts, VERIFY, keys=WINDOW))
    assert [call.kernel for call in calls] == ["unified_attention"] * 2


@pytest.mark.xfail(
    strict=True,
    raises=AssertionError,
    reason="upstream: none known; sibling sgl-project/sglang#24617",
)
def test_legacy_verify_reads_each_layers_own_pool() -> None:
    """Which slots of which pool the kernel is given, layer by layer."""
    given: dict[int, torch.Tensor] = {}
    with switched("legacy verify"):
        bench = Bench(Setup(window=WINDOW, draft_tokens=DRAFTED))
        parts = bench.take(bench.admit([40, 5]), [DRAFTED] * 2)
        keys = {
            bench.backend.token_to_kv_pool.get_key_buffer(layer).data_ptr(): layer
            for layer in (FULL_LAYER, WINDOW_LAYER)
        }

        def keep(*args: Any, **kwargs: Any) -> None:
            given[keys[args[4].data_ptr()]] = args[8]
            args[3].zero_()

        bench.backend.extend_attention_fwd = keep
        bench.run(parts, VERIFY)
    assert set(given) == {FULL_LAYER, WINDOW_LAYER}
    table = bench.pools.requests.req_to_token
    slots = torch.cat([table[p.request.row, : p.start].long() for p in parts])
    for layer, indices in given.items():
        own = bench.pools.own_slots(layer, slots)
        assert torch.equal(indices, own), (layer, indices[:4], own[:4])
