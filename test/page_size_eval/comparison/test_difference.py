"""The 2x2 table and the difference of a pair."""

from __future__ import annotations

from statistics import stdev

import pytest

from fakes.measured_arms import AGAIN, BASELINE, measured
from page_size_eval.comparison.difference import (
    Difference,
    FlipTable,
    measure_difference,
)
from page_size_eval.comparison.pairing import pair
from page_size_eval.comparison.repeats import mean_equivalence_p, mean_interval


def difference(before: list[list[int]], after: list[list[int]], n: int) -> Difference:
    """Of two arms with these doc_ids wrong, per pass."""
    arms = measured(BASELINE, n, *before), measured(AGAIN, n, *after)
    return measure_difference(pair(*arms, "strict-match"), margin=0.02)


def test_table_and_tests_of_one_pass() -> None:
    # Both wrong 0 and 1; gained 2; lost 3, 4 and 5.
    found = difference([[0, 1, 2]], [[0, 1, 3, 4, 5]], 44)
    assert found.table == FlipTable(both_right=38, lost=3, gained=1, both_wrong=2)
    assert found.table.flips == 4
    assert found.estimate == pytest.approx(-2 / 44)
    assert found.p_mcnemar == pytest.approx(10 / 16)
    assert found.interval.low < found.estimate < 0 < found.interval.high


def test_the_published_example_as_a_pair() -> None:
    # Tango (1998), section 6.1: 43 both right, 1 lost.
    found = difference([[]], [[7]], 44)
    arms = measured(BASELINE, 44), measured(AGAIN, 44, [7])
    wide = measure_difference(pair(*arms, "strict-match"), margin=0.1)
    assert found.table == FlipTable(43, 1, 0, 0)
    assert round(wide.p_equivalence, 3) == 0.044


def test_repeats_move_a_question_by_its_share_of_right_passes() -> None:
    # Right passes of three, before to after: 3 to 3, 3 to 1, 1 to 2, 0 to 0, 2 to 2.
    before = [[3], [2, 3], [2, 3, 4]]
    after = [[3], [1, 3], [1, 2, 3, 4]]
    found = difference(before, after, 5)
    assert found.table == FlipTable(both_right=2, lost=1, gained=1, both_wrong=1)
    assert found.estimate == pytest.approx((-2 / 3 + 1 / 3) / 5)
    assert found.p_mcnemar == 1.0
    assert (found.n, found.passes) == (5, 3)
    assert found.spread == pytest.approx(stdev([0, -2 / 3, 1 / 3, 0, 0]))
    assert found.interval == mean_interval(found.estimate, found.spread, 5)
    p_equivalence = mean_equivalence_p(found.estimate, found.spread, 5, 0.02)
    assert found.p_equivalence == p_equivalence


def test_half_of_the_passes_right_counts_as_right() -> None:
    found = difference([[0], [1, 2]], [[1, 2], [0]], 3)
    assert found.table == FlipTable(both_right=3, lost=0, gained=0, both_wrong=0)


@pytest.mark.parametrize("passes", [1, 2])
def test_one_question_cannot_be_certain(passes: int) -> None:
    found = difference([[]] * passes, [[]] * passes, 1)
    assert found.p_equivalence > 0.4
    assert found.interval.low < -0.7 and found.interval.high > 0.7
