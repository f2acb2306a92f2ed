"""Differences of arms whose questions were asked more than once."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import ttest_1samp

from page_size_eval.comparison.repeats import mean_equivalence_p, mean_interval
from page_size_eval.comparison.tango import equivalence_p, score_interval

CHANGES = np.random.default_rng(0).choice([-1, -1 / 3, 0, 1 / 3, 1], size=400)
MEAN, SPREAD = float(CHANGES.mean()), float(CHANGES.std(ddof=1))


def test_interval_is_the_paired_t_interval_where_much_moves() -> None:
    expected = ttest_1samp(CHANGES, 0).confidence_interval(0.95)
    assert mean_interval(MEAN, SPREAD, 400) == pytest.approx(
        (expected.low, expected.high)
    )


def test_equivalence_p_is_the_larger_of_two_t_tests_where_much_moves() -> None:
    above = ttest_1samp(CHANGES, -0.1, alternative="greater").pvalue
    below = ttest_1samp(CHANGES, 0.1, alternative="less").pvalue
    assert mean_equivalence_p(MEAN, SPREAD, 400, 0.1) == pytest.approx(
        max(above, below)
    )


@pytest.mark.parametrize("n", [2, 50, 1319])
def test_nothing_moved_is_no_surer_than_by_the_score_method(n: int) -> None:
    assert mean_interval(0.0, 0.0, n) == pytest.approx(score_interval(0, 0, n))
    assert mean_equivalence_p(0.0, 0.0, n, 0.01) == pytest.approx(
        equivalence_p(0, 0, n, 0.01)
    )


def test_all_moved_alike_is_not_certain() -> None:
    low, high = mean_interval(-1.0, 0.0, 50)
    assert low == -1.0 and high > -0.95
    assert mean_equivalence_p(-1.0, 0.0, 50, 0.01) == 1.0


def test_one_question_tells_nothing() -> None:
    assert mean_interval(0.0, 0.0, 1) == (-1.0, 1.0)
    assert mean_equivalence_p(0.0, 0.0, 1, 0.02) == 1.0


@pytest.mark.parametrize("spread", [0.0, 0.1, 0.4])
def test_equivalence_shows_where_the_90_percent_interval_is_within(
    spread: float,
) -> None:
    seen = set()
    for mean in np.linspace(-0.06, 0.06, 41):
        low, high = mean_interval(float(mean), spread, 400, 0.90)
        within = low > -0.05 and high < 0.05
        p_value = mean_equivalence_p(float(mean), spread, 400, 0.05)
        assert (p_value < 0.05) == within, (mean, p_value, low, high)
        seen.add(within)
    assert seen == {True, False}
