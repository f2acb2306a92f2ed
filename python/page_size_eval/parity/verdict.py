"""Whether servers answer alike, at the tolerance that an A/A run gives."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from page_size_eval.arms import Arm
from page_size_eval.errors import CannotMeasure
from page_size_eval.parity.difference import Gap, compare_answers, describe
from page_size_eval.parity.rounds import MODES, Rounds

# An A/A run of few prompts may by luck show less than the noise there is.
NOISE_FACTOR = 3.0
# A baseline that is further from itself tells nothing, and may be at fault.
MOST_NOISE = 1.0


@dataclass(frozen=True)
class Parity:
    """One arm against the baseline, in one mode.

    Attributes:
        noise: the largest gap of the baseline against itself.
        tolerance: what a gap may be without saying anything.
    """

    arm: Arm
    mode: str
    gaps: Sequence[Gap]
    noise: float
    tolerance: float

    @property
    def problems(self) -> list[str]:
        """The prompts that differ by more than rounding, in words."""
        return describe(self.gaps, self.tolerance)

    @property
    def values(self) -> list[float]:
        """Every gap, of all prompts and positions."""
        return [value for gap in self.gaps for value in gap.gaps]

    @property
    def largest(self) -> float:
        return max(gap.largest for gap in self.gaps)

    @property
    def divergences(self) -> int:
        return sum(gap.diverges_at is not None for gap in self.gaps)

    def quantile(self, percent: int) -> float:
        """The gap that `percent` of all positions do not exceed."""
        return statistics.quantiles(self.values, n=100, method="inclusive")[percent - 1]

    def as_json(self) -> dict[str, Any]:
        return {
            "arm": self.arm.label,
            "mode": self.mode,
            "positions": len(self.values),
            "largest": self.largest,
            "mean": statistics.fmean(self.values),
            "p99": self.quantile(99),
            "divergences": self.divergences,
            "noise": self.noise,
            "tolerance": self.tolerance,
            "problems": self.problems,
            "prompts": [gap.as_json() for gap in self.gaps],
        }


def judge(
    rounds: Sequence[tuple[Arm, Rounds]],
    again: Rounds,
    floors: Mapping[str, float],
    given: float | None = None,
) -> list[Parity]:
    """Every arm but the first against the first, by mode.

    Args:
        again: the first arm's second run.
        floors: by mode, the smallest tolerance.
        given: the tolerance, whatever the noise.

    Raises:
        CannotMeasure: the first arm differs from itself by more than any rounding.
    """
    baseline = rounds[0][1]
    found = []
    for mode in MODES:
        repeated = compare_answers(baseline.answers[mode], again.answers[mode])
        noise = max(gap.largest for gap in repeated)
        if given is None and not noise <= MOST_NOISE:
            raise CannotMeasure(
                f"{rounds[0][0].label}, {mode}: expected the same prompts to give"
                f" logprobs within {MOST_NOISE} of each other when asked again, they"
                f" differ by {noise:.4f}. Next: look at the baseline first, with make"
                " test; page size 1 can be wrong too"
            )
        tolerance = given
        if tolerance is None:
            tolerance = max(floors[mode], NOISE_FACTOR * noise)
        found += [
            Parity(
                arm,
                mode,
                compare_answers(baseline.answers[mode], other.answers[mode]),
                noise,
                tolerance,
            )
            for arm, other in rounds[1:]
        ]
    return found
