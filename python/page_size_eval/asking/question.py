"""One question of one arm: what the server gave, and what lm-eval made of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum


class Condition(StrEnum):
    """In what state an answer came, before anything is said of its content."""

    ANSWERED = "answered"
    TRUNCATED = "truncated"  # the token budget ended it
    EMPTY = "empty"  # no text, or white space alone
    TIMED_OUT = "timed out"
    FAILED = "failed"  # no answer after every try


@dataclass(frozen=True)
class Question:
    """One question of one pass over an arm's questions.

    Attributes:
        doc_id: the question's place in the task's split.
        prompt_hash: of the whole prompt, few-shot examples included.
        prompt_tokens: as the server counted them; None if it gave no answer.
        text: the answer; "" if there is none.
        correct: by filter of the task, whether the answer is right.
        parsed: by filter, whether it found an answer in the text.
    """

    doc_id: int
    prompt_hash: str
    prompt_tokens: int | None
    condition: Condition
    text: str
    correct: Mapping[str, bool]
    parsed: Mapping[str, bool]
