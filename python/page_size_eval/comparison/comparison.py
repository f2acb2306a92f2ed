"""Every arm against the baseline, question by question."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from page_size_eval.comparison.arm_score import ArmScore, score_arm
from page_size_eval.comparison.criteria import (
    GATING_FILTER,
    LOWEST_BASELINE,
    choose_margin,
)
from page_size_eval.comparison.difference import Difference, measure_difference
from page_size_eval.comparison.holm import adjust
from page_size_eval.comparison.judging import Reference, judge
from page_size_eval.comparison.outcome import Comparison
from page_size_eval.comparison.pairing import pair, require_same_questions
from page_size_eval.errors import CannotMeasure
from page_size_eval.measured import MeasuredArm


def compare(arms: Sequence[MeasuredArm], margin: float | None = None) -> Comparison:
    """Compare each arm with the first, as a rule page size 1.

    Args:
        arms: the baseline first, then its second run and the other page sizes.
        margin: differences up to it are equivalence, a share of the questions; by
            default 0.02, or 0.01 from three passes on.

    Raises:
        CannotMeasure: nothing to compare with, answers that cannot be paired, a
            baseline with too little to lose, or a margin that is none.
    """
    if len(arms) < 2:
        raise CannotMeasure(
            f"{', '.join(one.arm.label for one in arms) or 'no arm'}: expected at least"
            " two arms to compare. Next: make gsm8k PAGE=16"
        )
    require_same_questions(arms)
    baseline, *others = arms
    scores = tuple(map(score_arm, arms))
    require_a_baseline(scores[0])
    chosen = choose_margin(len(baseline.passes), margin)
    differences = [_measure(baseline, other, chosen) for other in others]
    adjusted = _adjust(others, differences)
    reference = _find_reference(baseline, others, differences, chosen, len(adjusted))
    pairs = tuple(
        judge(other, by_filter, adjusted.get(place), reference)
        for place, (other, by_filter) in enumerate(
            zip(others, differences, strict=True)
        )
    )
    return Comparison(scores, pairs, chosen)


def require_a_baseline(score: ArmScore) -> None:
    """Raise CannotMeasure if the baseline has too little left to lose."""
    share = score.gating.share
    if share < LOWEST_BASELINE:
        raise CannotMeasure(
            f"{score.arm.label} scores {share:.4f} ({GATING_FILTER}): expected at least"
            f" {LOWEST_BASELINE}, below which a loss would not show. Next: check the"
            " model, the task and the server's log"
        )


def _measure(
    baseline: MeasuredArm, other: MeasuredArm, margin: float
) -> dict[str, Difference]:
    return {
        name: measure_difference(pair(baseline, other, name), margin)
        for name in baseline.passes[0][0].correct
    }


def _adjust(
    others: Sequence[MeasuredArm], differences: Sequence[Mapping[str, Difference]]
) -> dict[int, float]:
    """By place, Holm's p-value of every arm that can make the run fail.

    The baseline's second run is none of them: it can only be too noisy.
    """
    places = [
        place
        for place, other in enumerate(others)
        if other.arm.gates and not other.arm.again
    ]
    raw = [differences[place][GATING_FILTER].p_mcnemar for place in places]
    return dict(zip(places, adjust(raw), strict=True))


def _find_reference(
    baseline: MeasuredArm,
    others: Sequence[MeasuredArm],
    differences: Sequence[Mapping[str, Difference]],
    margin: float,
    tests: int,
) -> Reference:
    for other, by_filter in zip(others, differences, strict=True):
        if other.arm.again:
            noise = by_filter[GATING_FILTER]
            return Reference(baseline, other, noise, margin, tests)
    return Reference(baseline, None, None, margin, tests)
