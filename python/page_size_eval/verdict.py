"""Whether the other page sizes hold what page size 1 scores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from page_size_eval.arms import Arm
from page_size_eval.errors import CannotMeasure
from page_size_eval.metrics import ContextPrefill
from page_size_eval.scoring import Score

# Chosen before any run: the filter that decides, and the loss that is a failure.
GATING_FILTER = "strict-match"
MARGIN = 0.02
# Below this the baseline has too little left to lose.
LOWEST_BASELINE = 0.5


@dataclass(frozen=True)
class ArmResult:
    """One arm, measured."""

    arm: Arm
    score: Score
    prefill: ContextPrefill

    @property
    def gated(self) -> float:
        return self.score.exact_match[GATING_FILTER]

    def as_json(self) -> dict[str, Any]:
        return {
            "arm": self.arm.label,
            "page_size": self.arm.page_size,
            "page_view": self.arm.page_view,
            "n": self.score.n,
            "empty": self.score.empty,
            "exact_match": self.score.exact_match,
            "asm_context_prefill": {
                "hits": self.prefill.hits,
                "fallbacks": self.prefill.fallbacks,
            },
        }


def require_path_served(arm: Arm, prefill: ContextPrefill) -> None:
    """Raise CannotMeasure unless the path under test served most of an arm's batches.

    An arm of the page view must not have gathered at all.
    """
    if arm.gathers == (prefill.hits > 0) and prefill.fallback_total <= prefill.hits:
        return
    wanted = (
        "most context chunks served by the ASM path" if arm.gathers else "no gather"
    )
    raise CannotMeasure(
        f"{arm.label}: expected {wanted}, got {prefill.hits} hits and fallbacks"
        f" {prefill.fallbacks}: its score would say nothing. Next: check that the model"
        " has head_dim 256 full-attention layers, that prompts are longer than the"
        " chunk, that the release has the page view (0.5.21 and newer), and the"
        " server's log for fallbacks"
    )


def require_comparable(results: Sequence[ArmResult]) -> None:
    """Raise CannotMeasure for results that could not show a loss."""
    baseline = results[0]
    if len(results) < 2:
        raise CannotMeasure(
            f"{baseline.arm.label} alone: expected another page size to compare with."
            " Next: make gsm8k PAGE=16"
        )
    if baseline.gated < LOWEST_BASELINE:
        raise CannotMeasure(
            f"{baseline.arm.label} scores {baseline.gated:.4f} ({GATING_FILTER}):"
            f" expected at least {LOWEST_BASELINE}, below which a loss would not show."
            " Next: look at the answers in the samples files: empty, cut or unparsable"
        )
    counts = {result.arm.label: result.score.n for result in results}
    if len(set(counts.values())) > 1:
        raise CannotMeasure(
            f"expected the same number of questions in every arm, got {counts}."
            " Next: run again"
        )


def failures(results: Sequence[ArmResult]) -> list[str]:
    """What is wrong, in words; the first result is the baseline."""
    baseline = results[0]
    return [
        f"{other.arm.label} scores {other.gated:.4f}, {baseline.arm.label}"
        f" {baseline.gated:.4f} ({GATING_FILTER}): a loss of"
        f" {100 * (baseline.gated - other.gated):.1f} points, more than the margin of"
        f" {100 * MARGIN:.0f}"
        for other in results[1:]
        # A loss of the margin itself passes, whatever floats make of it.
        if baseline.gated - other.gated > MARGIN + 1e-9
    ]
