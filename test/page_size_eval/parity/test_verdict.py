"""The tolerance comes from the baseline against itself."""

from __future__ import annotations

import pytest

from page_size_eval.arms import Arm
from page_size_eval.errors import CannotMeasure
from page_size_eval.parity.probes import Answer
from page_size_eval.parity.rounds import ALONE, MODES, TOGETHER, Rounds
from page_size_eval.parity.verdict import Parity, judge
from page_size_eval.serving.metrics import ContextPrefill

FLOORS = {ALONE: 0.001, TOGETHER: 0.1}


def rounds(shift: float) -> Rounds:
    """Every logprob moved by `shift`."""
    answer = Answer(3, 0, [4], [-9.0], [-1.0 + shift, -2.0 + shift, -0.5 + shift])
    return Rounds({mode: [answer] for mode in MODES}, ContextPrefill(1))


def judged(again: float, other: float) -> dict[str, Parity]:
    arms = [(Arm(1), rounds(0.0)), (Arm(16), rounds(other))]
    return {p.mode: p for p in judge(arms, rounds(again), FLOORS)}


def test_small_noise_leaves_the_floor() -> None:
    found = judged(again=0.0, other=0.01)
    assert found[ALONE].tolerance == 0.001
    assert len(found[ALONE].problems) == 1, found[ALONE]
    assert found[TOGETHER].tolerance == 0.1
    assert found[TOGETHER].problems == []


def test_larger_noise_widens_the_tolerance() -> None:
    found = judged(again=0.5, other=1.4)
    assert found[ALONE].tolerance == pytest.approx(1.5)
    assert found[ALONE].problems == []


def test_baseline_far_from_itself_is_no_baseline() -> None:
    with pytest.raises(CannotMeasure, match="page 1, alone: .* differ by 1.5000"):
        judged(again=1.5, other=0.0)


def test_tolerance_that_is_given_replaces_the_noise() -> None:
    arms = [(Arm(1), rounds(0.0)), (Arm(16), rounds(1.9))]
    assert not any(p.problems for p in judge(arms, rounds(1.5), FLOORS, given=2.0))
    assert all(p.problems for p in judge(arms, rounds(1.5), FLOORS, given=1.0))


def test_report_has_every_position() -> None:
    content = judged(again=0.0, other=0.25)[TOGETHER].as_json()
    assert content["largest"] == pytest.approx(0.25)
    assert content["mean"] == pytest.approx(0.25)
    assert content["positions"] == 3
    assert content["arm"] == "page 16"
    assert len(content["prompts"][0]["gaps"]) == 3
