"""The difference of two arms whose questions were asked more than once.

A question's share of right passes is one observation: its repeats are not independent.
Differences between those shares get a paired t test, which alone would call few or no
moved questions certain; so nothing here is surer than Tango's score method of as many
questions without a flip.
"""

from __future__ import annotations

import math

from scipy.stats import t

from page_size_eval.comparison.criteria import CONFIDENCE
from page_size_eval.comparison.interval import Interval
from page_size_eval.comparison.tango import quiet_half_width, quiet_p


def mean_interval(
    mean: float, spread: float, n: int, confidence: float = CONFIDENCE
) -> Interval:
    """Interval of the mean difference.

    Args:
        mean: of the questions' differences, in [-1, 1].
        spread: their standard deviation, of a sample.
        n: questions.
    """
    if n == 1:
        return Interval(-1.0, 1.0)
    by_t = float(t.isf((1 - confidence) / 2, n - 1)) * spread / math.sqrt(n)
    half = max(by_t, quiet_half_width(n, confidence))
    return Interval(max(-1.0, mean - half), min(1.0, mean + half))


def mean_equivalence_p(mean: float, spread: float, n: int, margin: float) -> float:
    """The larger p-value of the two one-sided tests at -`margin` and `margin`."""
    if n == 1:
        return 1.0
    return max(_one_sided_p(margin + side * mean, spread, n) for side in (-1, 1))


def _one_sided_p(distance: float, spread: float, n: int) -> float:
    error = spread / math.sqrt(n)
    by_t = float(t.sf(distance / error, n - 1)) if error > 0 else 0.0
    return max(by_t, quiet_p(n, distance))
