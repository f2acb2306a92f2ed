"""How many questions would settle what a run left open."""

from __future__ import annotations

from collections.abc import Callable

from page_size_eval.comparison.criteria import LEVEL
from page_size_eval.comparison.difference import Difference
from page_size_eval.comparison.proportions import mcnemar_p
from page_size_eval.comparison.repeats import mean_equivalence_p
from page_size_eval.comparison.tango import equivalence_p

# About 75 times the gsm8k test split: beyond it no number is worth naming.
MOST_QUESTIONS = 100_000


def questions_to_tell(
    difference: Difference, margin: float, tests: int = 1
) -> int | None:
    """The fewest questions that would tell, were they to flip as often as these did.

    Within the margin that is where equivalence shows, at or over it where the exact
    McNemar test does. Rounding of the flips makes the latter approximate.

    Args:
        tests: McNemar tests that Holm's adjustment counts.

    Returns:
        None if more than MOST_QUESTIONS would be needed.
    """
    table, asked = difference.table, difference.n
    loss_rate, gain_rate = table.lost / asked, table.gained / asked

    def shows_equivalence(n: int) -> bool:
        if difference.passes == 1:
            p = equivalence_p(loss_rate * n, gain_rate * n, n, margin)
        else:
            p = mean_equivalence_p(difference.estimate, difference.spread, n, margin)
        return p < LEVEL

    def shows_difference(n: int) -> bool:
        lost, gained = round(loss_rate * n), round(gain_rate * n)
        return tests * mcnemar_p(lost, gained) < LEVEL

    within = abs(difference.estimate) < margin
    return _first(shows_equivalence if within else shows_difference)


def _first(tells: Callable[[int], bool]) -> int | None:
    """The smallest count that `tells`, which holds from some count on."""
    if not tells(MOST_QUESTIONS):
        return None
    low, high = 0, MOST_QUESTIONS
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if tells(middle) else (middle, high)
    return high
