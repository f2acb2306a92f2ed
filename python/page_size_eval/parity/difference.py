"""How far apart two servers' answers to the same prompts are."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from page_size_eval.parity.probes import Answer


@dataclass(frozen=True)
class Gap:
    """One prompt's answers, compared.

    Attributes:
        gaps: absolute difference of the logprobs, by position, up to and with the first
            token of the continuation that differs. Later tokens answer another text.
        diverges_at: the first token of the continuation that differs, or None.
        margin: how much the expected answer preferred that token to its runner-up, 0
            if none differs. A small one is a tie that rounding may decide.
    """

    prompt_tokens: int
    gaps: list[float]
    diverges_at: int | None
    margin: float

    @property
    def largest(self) -> float:
        # NaN is no small difference.
        return max((g if g == g else math.inf for g in self.gaps), default=0.0)

    def first_above(self, tolerance: float) -> int | None:
        """The first position whose gap is above `tolerance`, or None."""
        above = (at for at, gap in enumerate(self.gaps) if not gap <= tolerance)
        return next(above, None)

    def exceeds(self, tolerance: float) -> bool:
        """Whether rounding of `tolerance` per logprob does not explain the gap."""
        return self.largest > tolerance or self.margin > 2 * tolerance

    def as_json(self) -> dict[str, Any]:
        return {
            "prompt_tokens": self.prompt_tokens,
            "largest": self.largest,
            "diverges_at": self.diverges_at,
            "margin": self.margin,
            "gaps": self.gaps,
        }


def compare_answers(expected: Sequence[Answer], got: Sequence[Answer]) -> list[Gap]:
    """The gap of each prompt."""
    return [_compare(want, have) for want, have in zip(expected, got, strict=True)]


def describe(gaps: Sequence[Gap], tolerance: float) -> list[str]:
    """The prompts whose gap `tolerance` does not explain, in words."""
    return [
        f"prompt {i} ({gap.prompt_tokens} tokens): logprobs differ by at most"
        f" {gap.largest:.4f}, first above {tolerance:.4f} at position"
        f" {gap.first_above(tolerance)}; first other token: {gap.diverges_at}"
        + (f", preferred by {gap.margin:.4f}" if gap.diverges_at is not None else "")
        for i, gap in enumerate(gaps)
        if gap.exceeds(tolerance)
    ]


def _compare(want: Answer, have: Answer) -> Gap:
    tokens = zip(want.token_ids, have.token_ids, strict=True)
    at = next((i for i, (a, b) in enumerate(tokens) if a != b), None)
    last = len(want.logprobs) if at is None else want.first_new + at + 1
    pairs = zip(want.logprobs[:last], have.logprobs[:last], strict=True)
    margin = 0.0
    if at is not None:
        margin = want.logprobs[want.first_new + at] - want.runner_up[at]
    return Gap(want.prompt_tokens, [abs(a - b) for a, b in pairs], at, margin)
