"""Arms as they come out of a measurement, with chosen answers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

from page_size_eval.arms import Arm
from page_size_eval.asking.question import Condition, Question
from page_size_eval.measured import MeasuredArm
from page_size_eval.serving.metrics import ContextPrefill

BASELINE = Arm(1)
AGAIN = Arm(1, again=True)
FILTERS = ("strict-match", "flexible-extract")


def question(doc_id: int, right: bool = True, tokens: int | None = 500) -> Question:
    """An answered question, right or wrong under both filters."""
    verdicts = dict.fromkeys(FILTERS, right)
    return Question(
        doc_id,
        f"hash {doc_id}",
        tokens,
        Condition.ANSWERED,
        f"answer {doc_id}",
        verdicts,
        dict.fromkeys(FILTERS, True),
    )


def measured(
    arm: Arm,
    n: int,
    *wrong: Iterable[int],
    tokens: Callable[[int], int] = lambda doc_id: 500,
    prefill: ContextPrefill | None = None,
) -> MeasuredArm:
    """An arm of `n` questions.

    Args:
        wrong: per pass, the doc_ids answered wrong; without any, one pass, all right.
        tokens: length of the prompt by doc_id.
    """
    passes = tuple(
        tuple(question(i, i not in lacking, tokens(i)) for i in range(n))
        for lacking in (set(one) for one in wrong or ((),))
    )
    return MeasuredArm(arm, passes, prefill or ContextPrefill(265))


def change(
    arm: MeasuredArm, changes: Mapping[int, Mapping[str, object]]
) -> MeasuredArm:
    """The arm with fields of some questions of the first pass replaced, by doc_id."""
    first = tuple(
        replace(one, **changes.get(one.doc_id, {}))  # type: ignore[arg-type]
        for one in arm.passes[0]
    )
    return replace(arm, passes=(first, *arm.passes[1:]))
