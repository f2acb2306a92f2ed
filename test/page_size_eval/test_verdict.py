"""When the comparison passes, fails, or says nothing."""

from __future__ import annotations

import pytest

from page_size_eval.arms import Arm, arms_for
from page_size_eval.errors import CannotMeasure
from page_size_eval.metrics import ContextPrefill
from page_size_eval.scoring import Score
from page_size_eval.verdict import (
    ArmResult,
    failures,
    require_comparable,
    require_path_served,
)


def result(page_size: int, strict: float, n: int = 100) -> ArmResult:
    scores = {"strict-match": strict, "flexible-extract": 1.0}
    return ArmResult(Arm(page_size), Score(n, 0, scores, []), ContextPrefill(5))


def test_a_loss_beyond_the_margin_is_a_failure_in_words() -> None:
    (line,) = failures([result(1, 0.995), result(16, 0.53), result(64, 0.99)])
    assert "page 16" in line and "0.5300" in line and "46.5 points" in line


@pytest.mark.parametrize("other", [0.97, 0.98, 1.0])
def test_within_the_margin_or_better_passes(other: float) -> None:
    assert failures([result(1, 0.99), result(16, other)]) == []


@pytest.mark.parametrize(
    ("arm", "prefill"),
    [
        (Arm(16), ContextPrefill(0)),
        (Arm(16), ContextPrefill(1, {"slot_past_pool": 500})),
        (Arm(64, page_view=True), ContextPrefill(77)),
    ],
    ids=["no hit", "mostly fallen back", "view that gathers"],
)
def test_another_path_than_the_one_under_test_says_nothing(
    arm: Arm, prefill: ContextPrefill
) -> None:
    with pytest.raises(CannotMeasure, match=f"{arm.label}: expected .*Next:"):
        require_path_served(arm, prefill)


def test_the_path_under_test_is_accepted() -> None:
    require_path_served(Arm(16), ContextPrefill(9, {"slot_past_pool": 2}))
    require_path_served(Arm(64, page_view=True), ContextPrefill(0))


@pytest.mark.parametrize(
    ("results", "why"),
    [
        ([result(1, 1.0)], "another page size"),
        ([result(1, 0.0), result(16, 0.0)], "a loss would not show"),
        ([result(1, 1.0), result(16, 1.0, n=3)], "same number of questions"),
    ],
)
def test_results_that_could_not_show_a_loss_are_refused(
    results: list[ArmResult], why: str
) -> None:
    with pytest.raises(CannotMeasure, match=why):
        require_comparable(results)


def test_arms_of_each_page_size() -> None:
    assert arms_for(1) == [Arm(1), Arm(1)]
    assert arms_for(16) == [Arm(1), Arm(16)]
    assert arms_for(64) == [Arm(1), Arm(64), Arm(64, page_view=True)]
