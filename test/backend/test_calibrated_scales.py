"""fp8 scales in the branches that are not the ASM kernel's."""

from __future__ import annotations

from typing import Any

import pytest

from backend.bench import DRAFT_EXTEND, VERIFY, Bench, require_right
from backend.branches import recorded
from backend.drafts import draft_chain, run_drafts
from backend.shapes import Setup
from backend.switches import switched

PREFIXES, TOKENS = [40, 5, 70, 16], [7, 1, 20, 1]
SCALES: dict[str, Any] = {"k_scale": 0.5, "v_scale": 0.25}
WINDOW = 20
UNIFIED, GLUON, RAGGED = (
    "unified_attention",
    "pa_decode_gluon",
    "paged_attention_ragged",
)


@pytest.mark.parametrize(
    ("setup", "switches", "kernel"),
    [
        ({"window": WINDOW}, (), UNIFIED),
        ({"head_dim": 64}, ("unified",), UNIFIED),
        ({}, ("unified",), UNIFIED),
        ({}, ("5D",), GLUON),
        ({}, (), RAGGED),
    ],
    ids=["window pool", "unified, head_dim 64", "unified", "5D", "flat"],
)
def test_calibrated_scales_are_used_in_every_branch(
    setup: dict[str, Any], switches: tuple[str, ...], kernel: str
) -> None:
    with switched(*switches), recorded() as calls:
        bench = Bench(Setup(**SCALES, **setup))
        requests = bench.admit(PREFIXES)
        if "5D" not in switches:  # Its later chunks: see test/findings.
            outputs = bench.run(bench.take(requests, TOKENS), keys=bench.setup.window)
            require_right(outputs, "extend")
        require_right(bench.decode(requests, keys=bench.setup.window), "decode")
    assert calls[-1].kernel == kernel


@pytest.mark.parametrize("mode", [VERIFY, DRAFT_EXTEND], ids=lambda mode: mode.name)
def test_calibrated_scales_are_used_for_drafts(mode: Any) -> None:
    drafted = 3
    with switched("unified"), recorded() as calls:
        bench = Bench(Setup(draft_tokens=drafted, **SCALES))
        parts = bench.take(bench.admit(PREFIXES), [drafted] * len(PREFIXES))
        require_right(run_drafts(bench, parts, mode))
    assert [call.kernel for call in calls] == [UNIFIED]


def test_calibrated_scales_are_used_in_draft_steps() -> None:
    bench = Bench(Setup(draft_tokens=4, **SCALES))
    require_right(draft_chain(bench, bench.admit(PREFIXES), 3))
