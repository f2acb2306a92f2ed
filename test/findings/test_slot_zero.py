"""Slot 0, which padding writes and evicted tokens of a window pool point at."""

from __future__ import annotations

import pytest
import torch
from sglang.kernels.ops.kvcache.cache_ops import launch_reshape_and_cache_flash

from backend.bench import EXTEND, Bench
from backend.pools import WINDOW_LAYER
from backend.shapes import Setup

WINDOW, PAGE = 31, 16


def test_evicted_tokens_point_at_page_0() -> None:
    """aiter reads whole tiles, page 0 among them, and 0 * NaN is NaN."""
    bench = Bench(Setup(window=WINDOW, page_size=PAGE))
    (request,) = bench.admit([200])
    slots = bench.pools.requests.req_to_token[request.row, :160].long()
    bench.pools.allocator.free_swa(slots)
    parts = bench.take([request], [16])
    batch = bench.make_batch(parts, EXTEND)
    backend = bench.backend
    _, table = backend._build_extend_unified_page_table(
        1, batch.seq_lens, batch.req_pool_indices, 216
    )
    live = bench.pools.own_slots(
        WINDOW_LAYER, bench.pools.requests.req_to_token[request.row, 160:216].long()
    )
    assert table.tolist() == [[0] * 10 + (live[::PAGE] // PAGE).tolist()]


@pytest.mark.xfail(
    strict=True,
    raises=AssertionError,
    reason="upstream: none known; the write skips negative slots alone",
)
def test_padding_leaves_slot_0_as_it_is() -> None:
    cache = torch.zeros(2, PAGE, 1, 64)
    padding = torch.full((1, 1, 64), torch.nan)
    slots = torch.zeros(1, dtype=torch.int64)
    launch_reshape_and_cache_flash(padding, padding, cache, cache.clone(), slots)
    assert not cache.isnan().any()
