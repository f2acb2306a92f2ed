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
            "exact_match": self.score.exact_match,
            "asm_context_prefill": {
                "hits": self.prefill.hits,
                "fallbacks": self.prefill.fallbacks,
            },
        }


def require_path_served(arm: Arm, prefill: ContextPrefill) -> None:
    """Raise CannotMeasure if an arm under test never took the path under test."""
    if arm.gathers and not prefill.hits:
        raise CannotMeasure(
            f"{arm.label}: expected context chunks to be served by the ASM path, got"
            f" 0 hits and fallbacks {prefill.fallbacks}: its score would say nothing."
            " Next: check that the model has head_dim 256 full-attention layers, that"
            " prompts are longer than the chunk, and the server's log for fallbacks"
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
        if baseline.gated - other.gated > MARGIN
    ]
