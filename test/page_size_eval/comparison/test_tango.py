"""Tango's score method against published figures, its limits and a simulation."""

from __future__ import annotations

import functools
import math

import numpy as np
import pytest
from scipy.stats import norm

from page_size_eval.comparison.interval import Interval
from page_size_eval.comparison.tango import (
    equivalence_p,
    quiet_half_width,
    quiet_p,
    score,
    score_interval,
)


def test_score_of_the_paper_s_example() -> None:
    # Tango (1998), section 6.1: 44 pairs, 1 lost, 0 gained, margin 0.1. As printed.
    statistic = score(1, 0, 44, -0.1)
    assert round(statistic, 3) == 1.709
    assert round(float(norm.sf(statistic)), 3) == 0.044
    assert round(score_interval(1, 0, 44, 0.90).low, 3) == -0.096


@pytest.mark.parametrize(
    ("lost", "gained", "n", "confidence", "expected"),
    [
        # Cavo et al. (2012) in Fagerland, Lydersen and Laake, Statistical Analysis of
        # Contingency Tables (2017), chapter 8, as their R package prints it.
        (16, 6, 161, 0.95, (-0.1240, -0.0054)),
        # PropCIs 0.3-0, scoreci.mp(25, 28, 618), by R.
        (25, 28, 618, 0.90, (-0.0148, 0.0247)),
    ],
)
def test_interval_is_the_published_one(
    lost: int,
    gained: int,
    n: int,
    confidence: float,
    expected: tuple[float, float],
) -> None:
    assert score_interval(lost, gained, n, confidence) == pytest.approx(
        expected, abs=5e-5
    )


@pytest.mark.parametrize("n", [1, 50, 128, 200, 1319])
def test_interval_keeps_its_width_without_a_flip(n: int) -> None:
    z = norm.ppf(0.975)
    half = z**2 / (n + z**2)
    assert score_interval(0, 0, n) == pytest.approx((-half, half), abs=1e-9)
    assert quiet_half_width(n) == pytest.approx(half)


def test_two_points_are_provable_from_133_questions_on() -> None:
    assert equivalence_p(0, 0, 132, 0.02) > 0.05 > equivalence_p(0, 0, 133, 0.02)
    assert round(100 * quiet_half_width(128, 0.90), 2) == 2.07
    assert round(100 * quiet_half_width(200, 0.90), 2) == 1.33


@pytest.mark.parametrize("n", [1, 20, 1319])
def test_all_flips_one_way_reach_the_end(n: int) -> None:
    lost, gained = score_interval(n, 0, n), score_interval(0, n, n)
    assert lost.low == -1.0 and -1.0 < lost.high < 1.0
    assert gained == pytest.approx((-lost.high, 1.0), abs=1e-9)
    assert equivalence_p(n, 0, n, 0.02) > 0.5


@pytest.mark.parametrize(
    ("lost", "gained", "n"), [(19, 0, 20), (1, 0, 10**6), (10, 10, 20), (0, 3, 50)]
)
def test_limits_solve_the_score_equation(lost: int, gained: int, n: int) -> None:
    low, high = score_interval(lost, gained, n)
    z = float(norm.ppf(0.975))
    assert low <= (gained - lost) / n <= high
    assert score(lost, gained, n, low) == pytest.approx(z, rel=1e-4)
    assert score(lost, gained, n, high) == pytest.approx(-z, rel=1e-4)


@pytest.mark.parametrize("difference", [-0.3, -0.05, 0.05, 0.3])
def test_score_uses_the_likeliest_table_under_the_hypothesis(difference: float) -> None:
    lost, gained, n = 7, 4, 60
    grid = np.linspace(max(0.0, -difference), (1 - difference) / 2, 200_003)[1:-1]
    # Log-likelihood of P(lost) = q, P(gained) = q + difference.
    likelihood = (
        gained * np.log(grid + difference)
        + lost * np.log(grid)
        + (n - lost - gained) * np.log(1 - 2 * grid - difference)
    )
    q = float(grid[likelihood.argmax()])
    deviation = math.sqrt(n * (2 * q + difference - difference**2))
    expected = (gained - lost - n * difference) / deviation
    assert score(lost, gained, n, difference) == pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize("n", [40, 200, 640])
def test_equivalence_shows_where_the_90_percent_interval_is_within(n: int) -> None:
    seen = set()
    for lost in range(0, n // 8, 2):
        for gained in range(0, n // 8, 3):
            low, high = score_interval(lost, gained, n, 0.90)
            within = low > -0.05 and high < 0.05
            assert (equivalence_p(lost, gained, n, 0.05) < 0.05) == within, (
                lost,
                gained,
            )
            seen.add(within)
    assert seen == ({False} if n == 40 else {True, False})


def test_quiet_p_is_the_score_test_without_flips() -> None:
    assert quiet_p(150, 0.02) == pytest.approx(equivalence_p(0, 0, 150, 0.02))
    assert (quiet_p(150, 0.0), quiet_p(150, -0.1)) == (1.0, 1.0)
    assert quiet_p(150, 1.0) < 1e-12


@pytest.mark.parametrize(
    ("loss_rate", "gain_rate", "n"),
    [(0.02, 0.02, 200), (0.05, 0.01, 200), (0.10, 0.10, 60)],
)
def test_interval_covers_the_truth_19_times_in_20(
    loss_rate: float, gain_rate: float, n: int
) -> None:
    rates = [loss_rate, gain_rate, 1 - loss_rate - gain_rate]
    draws = np.random.default_rng(0).multinomial(n, rates, size=4000)

    @functools.cache
    def interval(lost: int, gained: int) -> Interval:
        return score_interval(lost, gained, n)

    truth = gain_rate - loss_rate
    covered = [
        interval(int(lost), int(gained)).low <= truth
        and truth <= interval(int(lost), int(gained)).high
        for lost, gained, _ in draws
    ]
    assert 0.93 < np.mean(covered) < 0.975, np.mean(covered)
