"""One arm judged against the baseline and its second run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from page_size_eval.comparison.criteria import GATING_FILTER, LEVEL
from page_size_eval.comparison.difference import Difference, measure_difference
from page_size_eval.comparison.outcome import Pair
from page_size_eval.comparison.pairing import pair
from page_size_eval.comparison.planning import questions_to_tell
from page_size_eval.comparison.proportions import more_flips_p
from page_size_eval.comparison.residues import split_by_residue
from page_size_eval.comparison.verdict import Verdict, decide, decide_beside_noise
from page_size_eval.comparison.wording import (
    explain,
    explain_apart,
    explain_more_flips,
    explain_need,
    explain_noise,
)
from page_size_eval.measured import MeasuredArm


@dataclass(frozen=True)
class Reference:
    """What every arm is held against.

    Attributes:
        second: the second run of the baseline, if there is one.
        noise: its difference from the first.
        tests: how many arms Holm's adjustment counts.
    """

    baseline: MeasuredArm
    second: MeasuredArm | None
    noise: Difference | None
    margin: float
    tests: int

    @property
    def noisy(self) -> bool:
        """Whether the baseline was not shown to be equivalent to itself."""
        return self.noise is not None and self.noise.p_equivalence >= LEVEL


def judge(
    other: MeasuredArm,
    by_filter: Mapping[str, Difference],
    p_holm: float | None,
    reference: Reference,
) -> Pair:
    """Judge one arm.

    Args:
        by_filter: its difference from the baseline under each filter.
        p_holm: its adjusted McNemar p-value; None if it is not adjusted.
    """
    difference = by_filter[GATING_FILTER]
    p_flips = difference.p_mcnemar if p_holm is None else p_holm
    verdict = _decide(other, difference, p_flips, reference)
    reason, needed = _explain(other, verdict, difference, p_flips, reference)
    more_flips, remark = _compare_flips(other, difference, reference)
    pairing = pair(reference.baseline, other, GATING_FILTER)
    return Pair(
        arm=other.arm,
        baseline=reference.baseline.arm,
        by_filter=by_filter,
        p_holm=p_holm,
        verdict=verdict,
        reason=reason,
        questions_to_tell=needed,
        more_flips_p=more_flips,
        remark=remark,
        residues=split_by_residue(pairing, reference.baseline, other),
    )


def _decide(
    other: MeasuredArm, difference: Difference, p_flips: float, reference: Reference
) -> Verdict:
    if reference.second is not None and reference.noisy:
        # The second run flips nothing against itself: it can only be too noisy.
        pairing = pair(reference.second, other, GATING_FILTER)
        second = measure_difference(pairing, reference.margin)
        return decide_beside_noise(difference, p_flips, second)
    return decide(difference, p_flips)


def _explain(
    other: MeasuredArm,
    verdict: Verdict,
    difference: Difference,
    p_flips: float,
    reference: Reference,
) -> tuple[str, int | None]:
    """The reason in words, and the number of questions that would settle it."""
    margin, baseline = reference.margin, reference.baseline.arm.label
    if verdict is not Verdict.CANNOT_TELL:
        reason = explain(verdict, difference, p_flips, margin)
        if reference.noisy:
            reason += f", likewise against {baseline}'s second run"
        if verdict is Verdict.BETTER:
            reason += f": {baseline} is not a safe baseline"
        return reason, None
    if reference.noise is not None and reference.noisy and not other.arm.again:
        return explain_noise(difference, reference.noise, margin, baseline), None
    within = abs(difference.estimate) < margin
    if other.arm.again and not within:
        return explain_apart(difference, margin, baseline), None
    tests = reference.tests if other.arm.gates else 1
    needed = questions_to_tell(difference, margin, tests)
    reason = explain(verdict, difference, p_flips, margin)
    return f"{reason}; {explain_need(within, needed)}", needed


def _compare_flips(
    other: MeasuredArm, difference: Difference, reference: Reference
) -> tuple[float | None, str | None]:
    """P-value and remark: whether the arm flips more than the baseline by itself."""
    if reference.noise is None or other.arm.again:
        return None, None
    flips, noise_flips = difference.table.flips, reference.noise.table.flips
    p_value = more_flips_p(flips, difference.n, noise_flips, reference.noise.n)
    if p_value >= LEVEL:
        return p_value, None
    baseline = reference.baseline.arm.label
    return p_value, explain_more_flips(flips, noise_flips, p_value, baseline)
