"""One arm's answers, counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from page_size_eval.arms import Arm
from page_size_eval.asking.question import Condition, Question
from page_size_eval.comparison.criteria import GATING_FILTER
from page_size_eval.comparison.interval import Interval
from page_size_eval.comparison.pairing import is_right
from page_size_eval.comparison.proportions import wilson_interval
from page_size_eval.measured import MeasuredArm
from page_size_eval.serving.metrics import ContextPrefill


@dataclass(frozen=True)
class AnswerCounts:
    """Answers of all passes, each in one of these, by the filter that decides."""

    right: int = 0
    wrong: int = 0
    unparsable: int = 0
    truncated: int = 0
    empty: int = 0
    timed_out: int = 0
    failed: int = 0


@dataclass(frozen=True)
class Accuracy:
    """Share of right answers under one filter, with Wilson's 95 % interval."""

    share: float
    interval: Interval


@dataclass(frozen=True)
class ArmScore:
    """What one arm scored, and how it was served.

    Attributes:
        n: questions, each counted once; the intervals rest on it.
        passes: how often each was answered.
        duplicates: answers whose whole text another question got in the same pass.
    """

    arm: Arm
    n: int
    passes: int
    accuracy: Mapping[str, Accuracy]
    counts: AnswerCounts
    duplicates: int
    prefill: ContextPrefill | None
    servers: int
    asked_before: int

    @property
    def gating(self) -> Accuracy:
        """Under the filter that decides."""
        return self.accuracy[GATING_FILTER]

    def as_json(self) -> dict[str, Any]:
        """Every figure, the arm by its label."""
        figures = asdict(self)
        del figures["arm"]
        return {**describe_arm(self.arm), **figures}


def describe_arm(arm: Arm) -> dict[str, Any]:
    """An arm for JSON."""
    return {
        "arm": arm.label,
        "page_size": arm.page_size,
        "page_view": arm.page_view,
        "again": arm.again,
        "gates": arm.gates,
    }


def score_arm(measured: MeasuredArm) -> ArmScore:
    """Count an arm's answers."""
    questions = [question for one in measured.passes for question in one]
    n = len(measured.passes[0])
    accuracy = {}
    for name in measured.passes[0][0].correct:
        right = sum(is_right(question, name) for question in questions)
        share = right / len(questions)
        accuracy[name] = Accuracy(share, wilson_interval(share, n))
    return ArmScore(
        arm=measured.arm,
        n=n,
        passes=len(measured.passes),
        accuracy=accuracy,
        counts=AnswerCounts(**Counter(map(_classify, questions))),
        duplicates=sum(map(_count_duplicates, measured.passes)),
        prefill=measured.prefill,
        servers=measured.servers,
        asked_before=measured.asked_before,
    )


def _classify(question: Question) -> str:
    """The field of AnswerCounts that the answer belongs to."""
    if question.condition is not Condition.ANSWERED:
        return question.condition.value.replace(" ", "_")
    if is_right(question, GATING_FILTER):
        return "right"
    return "wrong" if question.parsed[GATING_FILTER] else "unparsable"


def _count_duplicates(questions: Sequence[Question]) -> int:
    texts = Counter(question.text for question in questions if question.text.strip())
    return sum(count for count in texts.values() if count > 1)
