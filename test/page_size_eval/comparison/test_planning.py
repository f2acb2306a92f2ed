"""How many questions would settle an open verdict."""

from __future__ import annotations

import pytest

from page_size_eval.comparison.difference import Difference, FlipTable
from page_size_eval.comparison.interval import Interval
from page_size_eval.comparison.planning import MOST_QUESTIONS, questions_to_tell
from page_size_eval.comparison.repeats import mean_equivalence_p
from page_size_eval.comparison.tango import equivalence_p


def difference(lost: int, gained: int, n: int, passes: int = 1) -> Difference:
    table = FlipTable(n - lost - gained, lost, gained, 0)
    estimate = (gained - lost) / n
    spread = ((lost + gained) / n - estimate**2) ** 0.5
    return Difference(table, n, passes, estimate, Interval(-1, 1), 1.0, 1.0, spread)


def test_without_a_flip_133_questions_show_two_points() -> None:
    assert questions_to_tell(difference(0, 0, 50), 0.02) == 133


def test_within_the_margin_it_is_where_equivalence_begins_to_show() -> None:
    found = questions_to_tell(difference(3, 2, 200), 0.02)
    assert found is not None and found > 200

    def p_value(n: int) -> float:
        return equivalence_p(0.015 * n, 0.010 * n, n, 0.02)

    assert p_value(found) < 0.05 <= p_value(found - 1), found


def test_over_the_margin_it_is_where_flips_begin_to_show() -> None:
    # 3 % lost and none gained: McNemar needs 6 flips one way, 2 / 2**6 < 0.05.
    found = questions_to_tell(difference(3, 0, 100), 0.02)
    assert found is not None and round(0.03 * found) == 6 > round(0.03 * (found - 1))


def test_adjustment_asks_for_more_flips() -> None:
    # 3 x 2 / 2**7 < 0.05, and 5 x 2 / 2**8 < 0.05 < 5 x 2 / 2**7.
    found = questions_to_tell(difference(3, 0, 100), 0.02, tests=3)
    assert found is not None and round(0.03 * found) == 7
    five = questions_to_tell(difference(3, 0, 100), 0.02, tests=5)
    assert five is not None and round(0.03 * five) == 8


def test_repeats_plan_by_the_spread() -> None:
    found = questions_to_tell(difference(3, 2, 200, passes=3), 0.01)
    one = difference(3, 2, 200)

    def p_value(n: int) -> float:
        return mean_equivalence_p(one.estimate, one.spread, n, 0.01)

    assert found is not None and p_value(found) < 0.05 <= p_value(found - 1)


@pytest.mark.parametrize("margin", [0.0100001, 0.000001])
def test_what_no_reasonable_number_shows_has_none(margin: float) -> None:
    barely = difference(2, 1, 100) if margin > 0.01 else difference(0, 0, 100)
    assert questions_to_tell(barely, margin) is None
    assert questions_to_tell(barely, 0.5) in range(1, MOST_QUESTIONS)
