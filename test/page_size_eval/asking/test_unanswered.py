"""How many questions may stay without a whole answer."""

from __future__ import annotations

import pytest

from page_size_eval.asking.question import Condition, Question
from page_size_eval.asking.unanswered import require_answered
from page_size_eval.errors import CannotMeasure


def questions(total: int, **counts: int) -> list[Question]:
    """So many of each condition, named with underscores; the rest are answered."""
    odd = [Condition(k.replace("_", " ")) for k, n in counts.items() for _ in range(n)]
    conditions = odd + [Condition.ANSWERED] * (total - len(odd))
    # A truncated answer that is right all the same: not a whole one.
    right = {"strict-match": True}
    return [
        Question(n, "hash", 500, condition, "#### 7", right, right)
        for n, condition in enumerate(conditions)
    ]


@pytest.mark.parametrize("condition", ["failed", "timed_out", "truncated", "empty"])
def test_every_condition_counts_up_to_the_share(condition: str) -> None:
    require_answered(questions(100, **{condition: 2}), 0.02)
    with pytest.raises(CannotMeasure, match=rf"3 {condition.replace('_', ' ')}\b"):
        require_answered(questions(100, **{condition: 3}), 0.02)


def test_conditions_count_together_and_are_told_apart() -> None:
    odd = {"failed": 1, "timed_out": 2, "truncated": 4, "empty": 3}
    require_answered(questions(100, **odd), 0.1)
    with pytest.raises(CannotMeasure) as error:
        require_answered(questions(100, **odd), 0.09)
    said = "at most 9 (9.0%) without a whole answer, got 10 among 100 asked"
    counts = "1 failed, 2 timed out, 4 truncated, 3 empty"
    assert f"{said}: {counts}" in str(error.value)
    assert "Next: allow longer answers" in str(error.value)


def test_share_is_of_those_that_will_be_asked() -> None:
    require_answered(questions(3, failed=3), 0.02, total=150)
    with pytest.raises(CannotMeasure):
        require_answered(questions(4, failed=4), 0.02, total=150)


def test_binary_fractions_lose_no_question() -> None:
    require_answered(questions(100, failed=29), 0.29)


def test_no_share_allows_none() -> None:
    require_answered(questions(10), 0)
    with pytest.raises(CannotMeasure, match=r"at most 0 \(0.0%\)"):
        require_answered(questions(10, empty=1), 0)
