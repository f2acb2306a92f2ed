"""Verdicts as sentences."""

from __future__ import annotations

from page_size_eval.comparison.criteria import LEVEL
from page_size_eval.comparison.difference import Difference
from page_size_eval.comparison.planning import MOST_QUESTIONS
from page_size_eval.comparison.verdict import Verdict


def in_points(share: float, signed: bool = True) -> str:
    """A share as percentage points: -0.4, +1.2, 0.0."""
    text = f"{100 * share:+.1f}" if signed else f"{100 * abs(share):.1f}"
    return "0.0" if float(text) == 0 else text


def in_interval(difference: Difference) -> str:
    """The estimate and its 95 % interval, in points."""
    low, high = difference.interval
    return f"{in_points(difference.estimate)} [{in_points(low)}, {in_points(high)}]"


def as_p(p_value: float) -> str:
    """A p-value: precise around 5 %, tiny ones by their magnitude."""
    if p_value >= 0.1:
        return f"{p_value:.2f}"
    return f"{p_value:.4f}" if p_value >= 0.001 else f"{p_value:.0e}"


def as_margin(margin: float) -> str:
    """The margin in points."""
    return f"{100 * margin:g} point{'' if margin == 0.01 else 's'}"


def explain(
    verdict: Verdict, difference: Difference, p_flips: float, margin: float
) -> str:
    """Why the verdict is what it is, after "page 16 is worse than page 1" or such."""
    table = difference.table
    size = f"{in_points(difference.estimate, signed=False)} points"
    flips = f"{table.lost} lost, {table.gained} gained, McNemar p = {as_p(p_flips)}"
    if verdict is Verdict.EQUIVALENT:
        text = f"within {as_margin(margin)} (p = {as_p(difference.p_equivalence)})"
        if p_flips < LEVEL:
            kind = "loss" if difference.estimate < 0 else "gain"
            text += f", though a {kind} of {size} is clear ({flips})"
        return text
    if verdict in (Verdict.WORSE, Verdict.BETTER):
        return f"by {size} ({flips})"
    if abs(difference.estimate) < margin:
        return f"{in_interval(difference)} points may lie beyond {as_margin(margin)}"
    return f"{in_interval(difference)} points may be chance ({flips})"


def explain_need(within_margin: bool, questions: int | None) -> str:
    """How many questions would settle an open verdict."""
    what = "equivalence" if within_margin else "a difference"
    if questions is None:
        return f"showing {what} would take more than {MOST_QUESTIONS:,} questions"
    return f"about {questions:,} questions that flip as often would show {what}"


def explain_noise(
    difference: Difference, noise: Difference, margin: float, baseline: str
) -> str:
    """Why nothing is equivalent where the baseline is not to itself."""
    most = in_points(max(map(abs, noise.interval)), signed=False)
    return (
        f"{in_interval(difference)} points, but {baseline} may lie {most} points from"
        f" its own second run, more than {as_margin(margin)}"
    )


def explain_apart(noise: Difference, margin: float, baseline: str) -> str:
    """Two runs of the baseline that lie further apart than the margin."""
    return (
        f"{in_interval(noise)} points between two runs of {baseline}, not less than"
        f" {as_margin(margin)}"
    )


def explain_more_flips(
    flips: int, noise_flips: int, p_value: float, baseline: str
) -> str:
    """A remark: it does not decide, as another page size batches requests otherwise."""
    return (
        f"flips {flips} answers, {baseline} against itself {noise_flips}"
        f" (p = {as_p(p_value)})"
    )
