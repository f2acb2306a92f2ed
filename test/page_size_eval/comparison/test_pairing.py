"""Which arms can be compared question by question, and what counts as right."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fakes.measured_arms import AGAIN, BASELINE, change, measured
from page_size_eval.asking.question import Condition
from page_size_eval.comparison.pairing import pair, require_same_questions
from page_size_eval.errors import CannotMeasure
from page_size_eval.measured import MeasuredArm

STRICT = "strict-match"
FIRST = measured(BASELINE, 5)


def test_questions_pair_by_doc_id_whatever_their_order() -> None:
    other = measured(AGAIN, 5, [0, 1])
    shuffled = replace(other, passes=(other.passes[0][::-1],))
    pairing = pair(FIRST, shuffled, STRICT)
    assert pairing.lost.tolist() == [True, True, False, False, False]
    assert not pairing.gained.any()


@pytest.mark.parametrize("condition", [c for c in Condition if c != "answered"])
def test_an_answer_that_did_not_come_whole_is_wrong(condition: Condition) -> None:
    # Whatever the filter found in it.
    other = change(measured(AGAIN, 5), {2: {"condition": condition}})
    assert pair(FIRST, other, STRICT).after.tolist() == [1, 1, 0, 1, 1]


def test_filters_pair_apart() -> None:
    verdicts = {STRICT: False, "flexible-extract": True}
    other = change(measured(AGAIN, 5), {0: {"correct": verdicts}})
    assert pair(FIRST, other, STRICT).lost.sum() == 1
    assert pair(FIRST, other, "flexible-extract").lost.sum() == 0


def test_repeats_count_the_right_passes_of_a_question() -> None:
    three = measured(BASELINE, 2, [], [0], [0, 1])
    pairing = pair(three, measured(AGAIN, 2, [], [], [1]), STRICT)
    assert (pairing.before.tolist(), pairing.after.tolist()) == ([1, 2], [3, 2])
    assert pairing.n == 2 and pairing.passes == 3


def without_filter(arm: MeasuredArm) -> MeasuredArm:
    return change(arm, {3: {"correct": {STRICT: True}}})


@pytest.mark.parametrize(
    ("arms", "why"),
    [
        (
            [FIRST, measured(AGAIN, 4)],
            "the baseline's 5 doc_ids, got 4.*doc_id 4 first",
        ),
        (
            [FIRST, change(measured(AGAIN, 5), {2: {"prompt_hash": "other"}})],
            "prompt_hash hash 2 of doc_id 2, got other",
        ),
        (
            [FIRST, change(measured(AGAIN, 5), {2: {"doc_id": 1}})],
            "each doc_id once, got 1 more than once",
        ),
        ([FIRST, measured(AGAIN, 5, [], [])], "1 passes, as page 1 has, got 2"),
        ([measured(BASELINE, 0), measured(AGAIN, 0)], "at least one question"),
        ([replace(FIRST, passes=()), measured(AGAIN, 5)], "at least one question"),
        ([FIRST, without_filter(measured(AGAIN, 5))], "the filters .* of doc_id 3"),
        (
            [change(FIRST, {0: {"correct": {"flexible-extract": True}}}), FIRST],
            "the filter strict-match",
        ),
    ],
    ids=[
        "fewer questions",
        "another prompt",
        "a doc_id twice",
        "more passes",
        "no question",
        "no pass",
        "a filter less",
        "without the gating filter",
    ],
)
def test_what_cannot_be_paired_is_refused(arms: list[MeasuredArm], why: str) -> None:
    with pytest.raises(CannotMeasure, match=rf"page 1.*: expected .*{why}.*Next:"):
        require_same_questions(arms)


def test_a_second_pass_with_another_prompt_is_refused() -> None:
    twice = measured(AGAIN, 5, [], [])
    second = change(measured(AGAIN, 5), {4: {"prompt_hash": "other"}})
    bad = replace(twice, passes=(twice.passes[0], second.passes[0]))
    with pytest.raises(CannotMeasure, match="of doc_id 4, got other"):
        require_same_questions([measured(BASELINE, 5, [], []), bad])


def test_the_same_questions_are_accepted() -> None:
    require_same_questions([FIRST, measured(AGAIN, 5, [0, 1, 2])])
