"""The page-64 view beside what it stands in for."""

from __future__ import annotations

import pytest
from sglang.srt.layers.attention import aiter_backend

from backend.bench import EXTEND, Bench, require_right
from backend.shapes import Setup

NONE = "upstream: none known"


@pytest.mark.xfail(strict=True, raises=AssertionError, reason=NONE)
def test_one_stale_host_length_leaves_the_other_requests_alone() -> None:
    """The table is made from the device's lengths, its view from the host's."""
    bench = Bench(Setup(page_size=64))
    parts = bench.take(bench.admit([40, 70]), [7, 20])
    batch = bench.make_batch(parts, EXTEND)
    batch.seq_lens_cpu[0] -= 1
    bench.backend.init_forward_metadata(batch)
    _, page_ids, _ = bench.backend.forward_metadata.paged_kv_view
    second = bench.pools.requests.req_to_token[parts[1].request.row, : parts[1].end]
    assert page_ids[1:].tolist() == (second[::64] // 64).tolist()


def test_exact_host_lengths_give_every_page() -> None:
    bench = Bench(Setup(page_size=64))
    require_right(bench.extend([40, 70], [7, 20]))


DISAGREE = pytest.mark.xfail(strict=True, raises=AssertionError, reason=NONE)


@pytest.mark.parametrize(
    "ratio",
    [1, 2, 3, 4, 6, 8, 16, *(pytest.param(n, marks=DISAGREE) for n in (32, 64))],
)
def test_view_and_gather_agree_on_the_gqa_ratios_of_asm_kernels(ratio: int) -> None:
    view = aiter_backend._paged_prefill_asm_supports_gqa(ratio, 1)
    assert view == aiter_backend._aiter_fp8_asm_supports_gqa(ratio, 1), ratio
