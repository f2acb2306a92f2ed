"""One arm's answers, counted."""

from __future__ import annotations

from dataclasses import asdict

import pytest

from fakes.measured_arms import BASELINE, change, measured
from page_size_eval.asking.question import Condition
from page_size_eval.comparison.arm_score import score_arm
from page_size_eval.comparison.proportions import wilson_interval


def test_every_answer_is_counted_once_for_what_it_is() -> None:
    unparsed = {"strict-match": False, "flexible-extract": True}
    arm = change(
        measured(BASELINE, 10, [1, 2]),
        {
            2: {"parsed": unparsed},
            # Right and parsed as far as the filter saw, but not whole.
            3: {"condition": Condition.TRUNCATED},
            4: {"condition": Condition.EMPTY, "text": " "},
            5: {"condition": Condition.TIMED_OUT, "text": ""},
            6: {"condition": Condition.FAILED, "text": ""},
        },
    )
    score = score_arm(arm)
    assert asdict(score.counts) == {
        "right": 4,
        "wrong": 1,
        "unparsable": 1,
        "truncated": 1,
        "empty": 1,
        "timed_out": 1,
        "failed": 1,
    }
    assert score.gating.share == pytest.approx(0.4)
    assert score.gating.interval == wilson_interval(0.4, 10)
    assert score.duplicates == 0


def test_repeats_widen_no_interval_and_narrow_none() -> None:
    score = score_arm(measured(BASELINE, 30, [0, 1, 2], [0], [0, 1]))
    share = 84 / 90
    assert score.gating.share == pytest.approx(share)
    assert score.gating.interval == pytest.approx(wilson_interval(share, 30))
    assert (score.n, score.passes, score.counts.right) == (30, 3, 84)


def test_the_same_text_for_several_questions_is_counted() -> None:
    same = {i: {"text": "#### 7"} for i in (1, 4, 8)}
    arm = change(measured(BASELINE, 10), {**same, 5: {"text": ""}, 6: {"text": ""}})
    assert score_arm(arm).duplicates == 3


def test_filters_have_accuracies_of_their_own() -> None:
    verdicts = {"strict-match": False, "flexible-extract": True}
    score = score_arm(change(measured(BASELINE, 4), {0: {"correct": verdicts}}))
    assert {name: one.share for name, one in score.accuracy.items()} == {
        "strict-match": 0.75,
        "flexible-extract": 1.0,
    }
