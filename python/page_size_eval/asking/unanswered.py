"""How many questions may stay without a whole answer before a score says nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection

from page_size_eval.asking.answer import Answer
from page_size_eval.asking.question import Condition, Question
from page_size_eval.errors import CannotMeasure

MAX_UNANSWERED = 0.02
NEXT_STEP = {
    Condition.FAILED: "read the server's log",
    Condition.TIMED_OUT: "read the server's log, or allow each request more time",
    Condition.TRUNCATED: "allow longer answers (--max-gen-toks)",
    Condition.EMPTY: (
        "read some replies of the server: a reasoning parser moves the answer out of"
        " the text, and a chat model may not go on from a plain prompt"
    ),
}


def require_answered(
    questions: Collection[Question] | Collection[Answer],
    share: float = MAX_UNANSWERED,
    total: int | None = None,
) -> None:
    """Refuse a pass with too many failed, timed out, truncated or empty answers.

    A truncated answer counts even if it is right: those that would have come right
    later are lost, and no fairly chosen part of them is left.

    Args:
        questions: those that are done with.
        share: of `total`, so many may be without a whole answer.
        total: how many there will be; None: as many as given.

    Raises:
        CannotMeasure: there are more, which further answers cannot mend.
    """
    total = len(questions) if total is None else total
    counts = Counter(question.condition for question in questions)
    missing = {condition: counts[condition] for condition in NEXT_STEP}
    # Not 28.999999999999996 questions where 29 are meant.
    allowed = int(share * total + 1e-9)
    if sum(missing.values()) <= allowed:
        return
    commonest = max(missing, key=lambda condition: missing[condition])
    reasons = [
        f" Question {answer.doc_id}: {answer.reason}."
        for answer in questions
        if isinstance(answer, Answer) and answer.reason
    ]
    raise CannotMeasure(
        f"answers to {total} questions: expected at most {allowed} ({share:.1%})"
        f" without a whole answer, got {sum(missing.values())} among"
        f" {len(questions)} asked:"
        f" {', '.join(f'{count} {name}' for name, count in missing.items())}."
        f"{''.join(reasons[:1])} Next: {NEXT_STEP[commonest]}"
    )
