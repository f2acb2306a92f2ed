"""What a difference allows to be said."""

from __future__ import annotations

from enum import StrEnum

from page_size_eval.comparison.criteria import LEVEL
from page_size_eval.comparison.difference import Difference


class Verdict(StrEnum):
    """Of one arm against the baseline."""

    EQUIVALENT = "equivalent"
    WORSE = "worse"
    # A failure as well: then the baseline loses answers.
    BETTER = "better"
    CANNOT_TELL = "cannot tell"


def decide(difference: Difference, p_flips: float) -> Verdict:
    """The verdict on a difference by itself.

    Equivalence goes first: a difference can be clear and yet within the margin.

    Args:
        p_flips: of the McNemar test, adjusted if others go with it.
    """
    if difference.p_equivalence < LEVEL:
        return Verdict.EQUIVALENT
    return find_direction(difference, p_flips)


def find_direction(difference: Difference, p_flips: float) -> Verdict:
    """WORSE or BETTER if the flips show it, whatever the margin; else CANNOT_TELL."""
    table = difference.table
    if p_flips < LEVEL and table.lost > table.gained and difference.estimate < 0:
        return Verdict.WORSE
    if p_flips < LEVEL and table.lost < table.gained and difference.estimate > 0:
        return Verdict.BETTER
    return Verdict.CANNOT_TELL


def decide_beside_noise(
    difference: Difference, p_flips: float, second: Difference
) -> Verdict:
    """The verdict where the baseline was not shown to be equivalent to itself.

    Nothing is equivalent then. A difference stands if the arm differs from both runs of
    the baseline to the same side: what is between those two does not explain it.

    Args:
        second: the arm's difference from the baseline's second run.
    """
    direction = find_direction(difference, p_flips)
    if direction is find_direction(second, second.p_mcnemar):
        return direction
    return Verdict.CANNOT_TELL
