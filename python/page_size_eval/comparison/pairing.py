"""Two arms' answers to the same questions, side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from page_size_eval.asking.question import Condition, Question
from page_size_eval.comparison.criteria import GATING_FILTER
from page_size_eval.errors import CannotMeasure
from page_size_eval.measured import MeasuredArm


def is_right(question: Question, name: str) -> bool:
    """Whether the answer counts as right under the filter `name`.

    What was cut, empty or never came counts as wrong, whatever the filter found in it.
    """
    return question.condition is Condition.ANSWERED and question.correct[name]


@dataclass(frozen=True)
class Pairing:
    """How often each question was answered right by two arms.

    Attributes:
        before: [question] passes of the baseline that were right, 0 to `passes`.
        after: [question] the same of the other arm.
        passes: how often each arm answered each question.
    """

    before: NDArray[np.int64]
    after: NDArray[np.int64]
    passes: int

    @property
    def n(self) -> int:
        """Questions, each counted once."""
        return len(self.before)

    @property
    def lost(self) -> NDArray[np.bool_]:
        """[question] right less often than with the baseline."""
        return self.after < self.before

    @property
    def gained(self) -> NDArray[np.bool_]:
        """[question] right more often than with the baseline."""
        return self.after > self.before


def pair(baseline: MeasuredArm, other: MeasuredArm, name: str) -> Pairing:
    """Pair two arms by doc_id under the filter `name`; see `require_same_questions`."""
    doc_ids = sorted(question.doc_id for question in baseline.passes[0])
    before, after = (_count_right(arm, name, doc_ids) for arm in (baseline, other))
    return Pairing(before, after, len(baseline.passes))


def _count_right(
    measured: MeasuredArm, name: str, doc_ids: Sequence[int]
) -> NDArray[np.int64]:
    counts = dict.fromkeys(doc_ids, 0)
    for questions in measured.passes:
        for question in questions:
            counts[question.doc_id] += is_right(question, name)
    return np.array([counts[doc_id] for doc_id in doc_ids], dtype=np.int64)


def require_same_questions(arms: Sequence[MeasuredArm]) -> None:
    """Refuse arms whose answers cannot be paired question by question.

    Raises:
        CannotMeasure: no questions, a doc_id twice in one pass, or passes, doc_ids,
            prompts or filters that are not the first arm's.
    """
    baseline = arms[0]
    if not (baseline.passes and baseline.passes[0]):
        raise _refuse(baseline, "at least one question", "none")
    prompts = {question.doc_id: question for question in baseline.passes[0]}
    filters = set(baseline.passes[0][0].correct)
    if GATING_FILTER not in filters:
        raise _refuse(baseline, f"the filter {GATING_FILTER}", f"{sorted(filters)}")
    for measured in arms:
        if len(measured.passes) != len(baseline.passes):
            wanted = f"{len(baseline.passes)} passes, as {baseline.arm.label} has"
            raise _refuse(measured, wanted, f"{len(measured.passes)}")
        for questions in measured.passes:
            _require_paired(measured, questions, prompts, filters)


def _require_paired(
    measured: MeasuredArm,
    questions: Sequence[Question],
    prompts: dict[int, Question],
    filters: set[str],
) -> None:
    doc_ids = {question.doc_id for question in questions}
    if len(doc_ids) != len(questions):
        twice = len(questions) - len(doc_ids)
        raise _refuse(measured, "each doc_id once", f"{twice} more than once")
    if doc_ids != set(prompts):
        differing = sorted(doc_ids ^ set(prompts))
        raise _refuse(
            measured,
            f"the baseline's {len(prompts)} doc_ids",
            f"{len(doc_ids)}, of which {len(differing)} differ, doc_id"
            f" {differing[0]} first",
        )
    for question in questions:
        expected = prompts[question.doc_id].prompt_hash
        if question.prompt_hash != expected:
            raise _refuse(
                measured,
                f"the baseline's prompt_hash {expected} of doc_id {question.doc_id}",
                question.prompt_hash,
            )
        if set(question.correct) != filters or set(question.parsed) != filters:
            found = sorted(set(question.correct) & set(question.parsed))
            wanted = f"the filters {sorted(filters)} of doc_id {question.doc_id}"
            raise _refuse(measured, wanted, f"{found}")


def _refuse(measured: MeasuredArm, wanted: str, found: str) -> CannotMeasure:
    return CannotMeasure(
        f"{measured.arm.label}: expected {wanted}, got {found}: the arms cannot be"
        " compared question by question. Next: measure every arm with the same task,"
        " limit and passes, and without another run's checkpoint"
    )
