"""One proportion, and the exact test of flips both ways."""

from __future__ import annotations

import math

from scipy.stats import binomtest, fisher_exact, norm

from page_size_eval.comparison.criteria import CONFIDENCE
from page_size_eval.comparison.interval import Interval


def wilson_interval(share: float, n: int, confidence: float = CONFIDENCE) -> Interval:
    """Wilson's score interval (1927, JASA 22, 209-212).

    SciPy's takes counts alone; a mean over repeats is none.

    Args:
        share: of the `n` questions that is right, in [0, 1].
        n: questions, however often each was asked: repeats are not independent.
    """
    z = norm.isf((1 - confidence) / 2)
    middle = (share + z**2 / (2 * n)) / (1 + z**2 / n)
    half = z / (1 + z**2 / n) * math.sqrt(share * (1 - share) / n + (z / (2 * n)) ** 2)
    # At 0 and 1 rounding could leave the share outside its own interval.
    low = min(share, max(0.0, float(middle - half)))
    return Interval(low, max(share, min(1.0, float(middle + half))))


def mcnemar_p(lost: int, gained: int) -> float:
    """Exact two-sided McNemar test: the sign test over the questions that moved."""
    moved = lost + gained
    return float(binomtest(lost, moved).pvalue) if moved else 1.0


def more_flips_p(flips: int, n: int, noise_flips: int, noise_n: int) -> float:
    """One-sided exact p-value (Fisher) of flipping more often than the noise does."""
    table = [[flips, n - flips], [noise_flips, noise_n - noise_flips]]
    return float(fisher_exact(table, alternative="greater").pvalue)
