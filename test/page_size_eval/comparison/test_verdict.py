"""What a difference allows to be said."""

from __future__ import annotations

import pytest

from page_size_eval.comparison.difference import Difference, FlipTable
from page_size_eval.comparison.interval import Interval
from page_size_eval.comparison.verdict import Verdict, decide, decide_beside_noise


def difference(
    estimate: float, p_equivalence: float = 1.0, p_mcnemar: float = 1.0
) -> Difference:
    moved = round(abs(estimate) * 100)
    lost, gained = (moved, 0) if estimate < 0 else (0, moved)
    table = FlipTable(100 - moved, lost, gained, 0)
    interval = Interval(-1, 1)
    return Difference(table, 100, 1, estimate, interval, p_mcnemar, p_equivalence, 0.1)


@pytest.mark.parametrize(
    ("estimate", "p_equivalence", "p_flips", "verdict"),
    [
        (-0.01, 0.04, 0.9, Verdict.EQUIVALENT),
        (-0.01, 0.04, 0.001, Verdict.EQUIVALENT),
        (-0.10, 0.06, 0.04, Verdict.WORSE),
        (+0.10, 0.06, 0.04, Verdict.BETTER),
        (-0.10, 0.06, 0.06, Verdict.CANNOT_TELL),
        (0.0, 0.06, 1.0, Verdict.CANNOT_TELL),
        (-0.10, 0.05, 0.05, Verdict.CANNOT_TELL),
    ],
)
def test_verdict_of_a_difference(
    estimate: float, p_equivalence: float, p_flips: float, verdict: Verdict
) -> None:
    assert decide(difference(estimate, p_equivalence), p_flips) is verdict


@pytest.mark.parametrize(("lost", "gained"), [(20, 5), (5, 20)])
def test_repeats_that_disagree_on_the_side_tell_nothing(lost: int, gained: int) -> None:
    # More questions moved down than up, and yet the mean rose; or the reverse.
    table = FlipTable(50, lost, gained, 25)
    mean = 0.01 if lost > gained else -0.01
    torn = Difference(table, 100, 3, mean, Interval(-1, 1), 0, 1, 1)
    assert decide(torn, 0.001) is Verdict.CANNOT_TELL


@pytest.mark.parametrize(
    ("estimate", "second", "verdict"),
    [
        (-0.1, difference(-0.1, p_mcnemar=0.01), Verdict.WORSE),
        (+0.1, difference(+0.1, p_mcnemar=0.01), Verdict.BETTER),
        (-0.1, difference(-0.1, p_mcnemar=0.20), Verdict.CANNOT_TELL),
        (-0.1, difference(+0.1, p_mcnemar=0.01), Verdict.CANNOT_TELL),
        (0.0, difference(0.0, p_equivalence=0.001), Verdict.CANNOT_TELL),
    ],
)
def test_beside_noise_only_what_both_runs_show_stands(
    estimate: float, second: Difference, verdict: Verdict
) -> None:
    first = difference(estimate, p_equivalence=0.001)
    assert decide_beside_noise(first, 0.01 if estimate else 1.0, second) is verdict
