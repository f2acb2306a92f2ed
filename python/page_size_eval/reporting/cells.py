"""What every table says about an arm or a pair, as text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields

from page_size_eval.comparison.arm_score import Accuracy, AnswerCounts, ArmScore
from page_size_eval.comparison.outcome import Pair
from page_size_eval.comparison.residues import ResidueClass, Residues
from page_size_eval.comparison.wording import as_p, in_interval

NOT_COUNTED = "not counted"

# Fields of AnswerCounts, each a column of its own.
KINDS = tuple(field.name for field in fields(AnswerCounts))


def name_filters(accuracy: Mapping[str, Accuracy]) -> dict[str, str]:
    """By filter its short name, "strict" for strict-match."""
    return {name: name.partition("-")[0] for name in accuracy}


def show_accuracy(accuracy: Accuracy) -> str:
    """Share and Wilson interval."""
    low, high = accuracy.interval
    return f"{accuracy.share:.4f} [{low:.3f}, {high:.3f}]"


def show_served(score: ArmScore) -> tuple[str, str]:
    """ASM hits and all fallbacks."""
    if score.prefill is None:
        return NOT_COUNTED, NOT_COUNTED
    return str(score.prefill.hits), str(score.prefill.fallback_total)


def show_fallbacks(score: ArmScore) -> str:
    """Fallbacks by reason, the frequent ones first."""
    if score.prefill is None:
        return NOT_COUNTED
    reasons = sorted(score.prefill.fallbacks.items(), key=lambda item: -item[1])
    return ", ".join(f"{reason} {count}" for reason, count in reasons) or "none"


def show_pair(pair: Pair) -> tuple[str, str, str, str, str]:
    """Arm, points, flips, McNemar p and verdict."""
    table = pair.gating.table
    return (
        pair.arm.label,
        in_interval(pair.gating),
        f"{table.lost} / {table.gained}",
        as_p(pair.p_flips),
        pair.verdict.value if pair.arm.gates else f"({pair.verdict})",
    )


def show_residues(one: ResidueClass) -> tuple[str, ...]:
    """Range, n, right before and after, lost and gained."""
    span = f"{one.first}" if one.first == one.last else f"{one.first} to {one.last}"
    right = (f"{one.right_before:g}", f"{one.right_after:g}")
    return (span, str(one.n), *right, str(one.lost), str(one.gained))


def explain_residues(residues: Residues) -> str:
    """What the split by residue says."""
    whole = residues.whole_pages
    said = (
        "no losses to tell apart"
        if residues.p_value is None
        else f"dependence of losses on the residue: p = {as_p(residues.p_value)}"
    )
    partial_lost = sum(one.lost for one in residues.classes) - whole.lost
    partial_n = sum(one.n for one in residues.classes) - whole.n
    return (
        f"{said}; prompts that fill their last page (residue 0) lost {whole.lost} of"
        f" {whole.n}, those with a partly filled one {partial_lost} of {partial_n}"
        + (f"; {residues.unknown} of unknown length" if residues.unknown else "")
    )
