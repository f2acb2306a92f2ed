"""Attention sinks in decode."""

from __future__ import annotations

import pytest
import torch

from backend.bench import Bench, require_right
from backend.branches import recorded
from backend.shapes import Setup
from backend.switches import switched


@pytest.mark.parametrize(
    ("switches", "kernel"),
    [
        pytest.param(("unified",), "unified_attention", id="unified"),
        pytest.param(("5D",), "pa_decode_gluon", id="5D"),
        pytest.param(
            (),
            "paged_attention_ragged",
            id="ragged",
            marks=pytest.mark.xfail(
                strict=True,
                raises=AssertionError,
                reason="upstream: none known; ignored, where a window is refused",
            ),
        ),
    ],
)
def test_sinks_take_weight(switches: tuple[str, ...], kernel: str) -> None:
    with switched(*switches), recorded() as calls:
        bench = Bench(Setup())
        sinks = torch.tensor([-2.0, 0.0, 1.5, 4.0])
        outputs = bench.decode(bench.admit([5, 3]), sinks=sinks)
    assert [call.kernel for call in calls] == [kernel]
    require_right(outputs)
