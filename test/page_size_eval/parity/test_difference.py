"""Two answers to one prompt, compared position by position."""

from __future__ import annotations

import math

import pytest

from page_size_eval.parity.difference import compare_answers, describe
from page_size_eval.parity.probes import Answer


def answer(logprobs: list[float], tokens: list[int], runner_up: float = -9.0) -> Answer:
    return Answer(
        prompt_tokens=len(logprobs) - len(tokens) + 1,
        cached_tokens=0,
        token_ids=tokens,
        runner_up=[runner_up] * len(tokens),
        logprobs=logprobs,
    )


def test_equal_answers_have_no_gap() -> None:
    same = answer([-1.0, -2.0, -0.5], [7, 8])
    (gap,) = compare_answers([same], [same])
    assert (gap.largest, gap.diverges_at, gap.exceeds(0.0)) == (0.0, None, False)


def test_gap_is_found_where_it_is() -> None:
    expected = answer([-1.0, -2.0, -0.5], [7])
    (gap,) = compare_answers([expected], [answer([-1.0, -2.25, -0.5], [7])])
    assert gap.gaps == [0.0, 0.25, 0.0]
    assert gap.first_above(0.2) == 1
    assert not gap.exceeds(0.25)
    assert "position 1" in describe([gap], 0.2)[0]


def test_nan_is_no_small_difference() -> None:
    expected = answer([-1.0, -2.0], [7])
    (gap,) = compare_answers([expected], [answer([math.nan, -2.0], [7])])
    assert gap.largest == math.inf
    assert gap.exceeds(1e9)


def test_tokens_after_a_divergence_are_not_compared() -> None:
    expected = answer([-1.0, -0.1, -0.2, -0.3], [5, 6, 7])
    (gap,) = compare_answers([expected], [answer([-1.0, -0.1, -0.2, -8.0], [5, 9, 1])])
    assert gap.diverges_at == 1
    assert gap.gaps == [0.0, 0.0, 0.0]


@pytest.mark.parametrize(("runner_up", "explained"), [(-0.25, True), (-4.0, False)])
def test_another_token_is_explained_by_a_near_tie_alone(
    runner_up: float, explained: bool
) -> None:
    expected = answer([-1.0, -0.2], [5], runner_up)
    (gap,) = compare_answers([expected], [answer([-1.0, -0.2], [6])])
    assert gap.margin == pytest.approx(-0.2 - runner_up)
    assert gap.exceeds(0.1) is not explained


def test_answers_of_unlike_number_are_no_pair() -> None:
    with pytest.raises(ValueError):
        compare_answers([answer([-1.0], [5])], [])
