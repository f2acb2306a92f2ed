"""Tango's score test and interval for a difference of paired proportions.

Tango (1998), Statistics in Medicine 17, 891-908, equations 24 to 26. Unlike Wald's, the
interval keeps a width when nothing flips: z**2 / (n + z**2) to either side.
"""

from __future__ import annotations

import math

from scipy.optimize import brentq
from scipy.stats import norm

from page_size_eval.comparison.criteria import CONFIDENCE
from page_size_eval.comparison.interval import Interval

# Stands for a variance of zero: at -1 and 1, and at 0 where nothing flips.
TINY = 1e-300


def score(lost: float, gained: float, n: float, difference: float) -> float:
    """How many standard errors the observed difference lies above `difference`.

    Args:
        lost: pairs right at first and wrong then.
        gained: pairs wrong at first and right then.
        n: all pairs.
        difference: the hypothesis, P(gained) - P(lost), in [-1, 1].
    """
    # q: P(lost) of maximal likelihood under the hypothesis, the root of 2nq^2 + bq + c.
    b = (2 * n - gained + lost) * difference - lost - gained
    c = -lost * difference * (1 - difference)
    q = (math.sqrt(max(0.0, b * b - 8 * n * c)) - b) / (4 * n)
    variance = n * (2 * q + difference * (1 - difference))
    return (gained - lost - n * difference) / math.sqrt(max(variance, TINY))


def score_interval(
    lost: float, gained: float, n: float, confidence: float = CONFIDENCE
) -> Interval:
    """The differences that the score test does not reject at 1 - `confidence`."""
    z = float(norm.isf((1 - confidence) / 2))
    observed = (gained - lost) / n

    def limit(end: float, sign: int) -> float:
        if observed == end:
            return end

        def beyond(difference: float) -> float:
            return score(lost, gained, n, difference) + sign * z

        return float(brentq(beyond, *sorted((end, observed)), xtol=1e-12))

    return Interval(limit(-1.0, -1), limit(1.0, 1))


def equivalence_p(lost: float, gained: float, n: float, margin: float) -> float:
    """The larger p-value of the two one-sided score tests at -`margin` and `margin`.

    Below 5 % the difference is shown to lie within the margin.
    """
    above = norm.sf(score(lost, gained, n, -margin))
    below = norm.cdf(score(lost, gained, n, margin))
    return float(max(above, below))


def quiet_p(n: float, distance: float) -> float:
    """One-sided score test of `n` pairs without a flip against a difference.

    Args:
        distance: from the observed difference to the hypothesis; beyond it if negative.
    """
    if distance <= 0:
        return 1.0
    return float(norm.sf(math.sqrt(n * distance / max(1 - distance, TINY))))


def quiet_half_width(n: float, confidence: float = CONFIDENCE) -> float:
    """Half of the interval of `n` pairs without a flip."""
    z = float(norm.isf((1 - confidence) / 2))
    return z**2 / (n + z**2)
