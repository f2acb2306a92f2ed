"""How far one arm lies from the baseline under one filter."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from page_size_eval.comparison.interval import Interval
from page_size_eval.comparison.pairing import Pairing
from page_size_eval.comparison.proportions import mcnemar_p
from page_size_eval.comparison.repeats import mean_equivalence_p, mean_interval
from page_size_eval.comparison.tango import equivalence_p, score_interval


@dataclass(frozen=True)
class FlipTable:
    """The questions by what became of them, the baseline first.

    With repeats a question is lost or gained if the share of its right passes moved at
    all; one that did not move counts as right from one half on.
    """

    both_right: int
    lost: int
    gained: int
    both_wrong: int

    @property
    def flips(self) -> int:
        return self.lost + self.gained


@dataclass(frozen=True)
class Difference:
    """The other arm's accuracy less the baseline's.

    Attributes:
        estimate: in [-1, 1]; negative is a loss.
        interval: 95 %, paired: Tango's, or by t with repeats.
        p_mcnemar: exact, two-sided: could flips that lose and gain equally often give
            this? Large says nothing of equality.
        p_equivalence: of two one-sided tests: below 5 % the difference is within the
            margin.
        spread: standard deviation of the questions' differences.
    """

    table: FlipTable
    n: int
    passes: int
    estimate: float
    interval: Interval
    p_mcnemar: float
    p_equivalence: float
    spread: float


def measure_difference(pairing: Pairing, margin: float) -> Difference:
    """The difference of a pairing, and whether it is within `margin`."""
    table = _count_flips(pairing)
    n = pairing.n
    changes = (pairing.after - pairing.before) / pairing.passes
    mean = float(changes.mean())
    spread = float(changes.std(ddof=1)) if n > 1 else 0.0
    if pairing.passes == 1:
        interval = score_interval(table.lost, table.gained, n)
        p_equivalence = equivalence_p(table.lost, table.gained, n, margin)
    else:
        interval = mean_interval(mean, spread, n)
        p_equivalence = mean_equivalence_p(mean, spread, n, margin)
    p_mcnemar = mcnemar_p(table.lost, table.gained)
    return Difference(
        table, n, pairing.passes, mean, interval, p_mcnemar, p_equivalence, spread
    )


def _count_flips(pairing: Pairing) -> FlipTable:
    still = ~(pairing.lost | pairing.gained)
    mostly_right = 2 * pairing.before >= pairing.passes
    groups = (
        still & mostly_right,
        pairing.lost,
        pairing.gained,
        still & ~mostly_right,
    )
    return FlipTable(*(int(np.count_nonzero(group)) for group in groups))
