"""A comparison with something of everything to report."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from fakes.measured_arms import AGAIN, BASELINE, change, measured
from page_size_eval.arms import Arm
from page_size_eval.asking.question import Condition
from page_size_eval.comparison.comparison import compare
from page_size_eval.comparison.outcome import Comparison
from page_size_eval.reporting.titles import Title
from page_size_eval.serving.metrics import ContextPrefill

N = 400
UNPATCHED = Arm(256, tree=Path("elsewhere"))


def length(doc_id: int) -> int:
    return 480 + doc_id


@pytest.fixture
def comparison() -> Comparison:
    """Page 16 worse in residues 0 to 8 alone, page 64 equivalent, one arm unpatched."""
    lost = [i for i in range(N) if i % 16 < 9 and i % 3]
    fallen = ContextPrefill(55, {"slot_past_pool": 33, "batch_size_mismatch": 40})
    conditions: dict[int, dict[str, object]] = {
        1: {"condition": Condition.TRUNCATED},
        2: {"condition": Condition.EMPTY, "text": ""},
        3: {"condition": Condition.TIMED_OUT, "text": ""},
        4: {"condition": Condition.FAILED, "text": ""},
    }
    arms = [
        measured(BASELINE, N, tokens=length),
        replace(measured(AGAIN, N, tokens=length), servers=2, asked_before=310),
        measured(Arm(16), N, lost, tokens=length, prefill=fallen),
        change(measured(Arm(64), N, [5], tokens=length), conditions),
        replace(measured(UNPATCHED, N, range(N), tokens=length), prefill=None),
    ]
    return compare(arms, margin=0.03)


@pytest.fixture
def title() -> Title:
    return Title("gsm8k", "a_[$m$]", "MI355X")
