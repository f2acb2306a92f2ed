"""When the comparison passes, fails, or says nothing."""

from __future__ import annotations

import pytest

from page_size_eval.arms import Arm, arms_for
from page_size_eval.errors import CannotMeasure
from page_size_eval.metrics import ContextPrefill
from page_size_eval.scoring import Score
from page_size_eval.verdict import ArmResult, failures, require_path_served


def result(page_size: int, strict: float) -> ArmResult:
    scores = {"strict-match": strict, "flexible-extract": 1.0}
    return ArmResult(Arm(page_size), Score(100, scores, []), ContextPrefill(5))


def test_a_loss_beyond_the_margin_is_a_failure_in_words() -> None:
    (line,) = failures([result(1, 0.995), result(16, 0.53), result(64, 0.99)])
    assert "page 16" in line and "0.5300" in line and "46.5 points" in line


@pytest.mark.parametrize("other", [0.98, 1.0])
def test_within_the_margin_or_better_passes(other: float) -> None:
    assert failures([result(1, 0.99), result(16, other)]) == []


def test_zero_hits_say_nothing() -> None:
    with pytest.raises(CannotMeasure, match="page 16: expected .* 0 hits"):
        require_path_served(Arm(16), ContextPrefill(0, {"slot_past_pool": 9}))
    require_path_served(Arm(64, page_view=True), ContextPrefill(0))


def test_arms_of_each_page_size() -> None:
    assert arms_for(1) == [Arm(1)]
    assert arms_for(16) == [Arm(1), Arm(16)]
    assert arms_for(64) == [Arm(1), Arm(64), Arm(64, page_view=True)]
