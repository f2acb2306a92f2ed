"""Wilson's interval, and the exact tests of flips."""

from __future__ import annotations

import math

import pytest
from scipy.stats import binomtest

from page_size_eval.comparison.proportions import (
    mcnemar_p,
    more_flips_p,
    wilson_interval,
)


@pytest.mark.parametrize("n", [1, 10, 57, 1319])
def test_wilson_interval_is_scipy_s_for_counts(n: int) -> None:
    for right in sorted({0, 1, n // 3, n - 1, n}):
        expected = binomtest(right, n).proportion_ci(0.95, method="wilson")
        low, high = wilson_interval(right / n, n)
        assert (low, high) == pytest.approx((expected.low, expected.high), abs=1e-12)
        assert 0 <= low <= right / n <= high <= 1


def test_wilson_interval_of_a_mean_over_repeats_lies_between_the_counts() -> None:
    below, between, above = (wilson_interval(k / 30, 10) for k in (27, 28, 30))
    assert below.low < between.low < above.low
    assert below.high < between.high < above.high


@pytest.mark.parametrize(
    ("lost", "gained", "expected"),
    [
        (0, 0, 1.0),
        (1, 0, 1.0),
        (0, 6, 2 / 2**6),
        (10, 10, 1.0),
        # Cavo et al. (2012) in Fagerland, Lydersen and Laake (2017), chapter 8.
        (16, 6, 0.052479),
    ],
)
def test_mcnemar_p_is_exact(lost: int, gained: int, expected: float) -> None:
    assert mcnemar_p(lost, gained) == pytest.approx(expected, abs=5e-7)
    assert mcnemar_p(gained, lost) == mcnemar_p(lost, gained)


def test_more_flips_p_is_one_sided_and_exact() -> None:
    # All 10 flips in one of two arms of 100: one table of C(200, 10).
    expected = math.comb(100, 10) / math.comb(200, 10)
    assert more_flips_p(10, 100, 0, 100) == pytest.approx(expected)
    assert more_flips_p(0, 100, 10, 100) == pytest.approx(1.0)
