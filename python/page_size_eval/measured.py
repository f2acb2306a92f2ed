"""One arm of a run, measured."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from page_size_eval.arms import Arm
from page_size_eval.asking.question import Question
from page_size_eval.serving.metrics import ContextPrefill


@dataclass(frozen=True)
class MeasuredArm:
    """What one arm answered and how it was served.

    Attributes:
        passes: the arm's questions by doc_id, once per repeat.
        prefill: hits and fallbacks of all passes; None where nothing counts them (an
            SGLang without the overlay).
        in_force: the part of the server's own account that a report shows.
        servers: how many server processes answered; more than one if a run was resumed
            or a server had died.
        asked_before: answers taken from the checkpoint of an earlier, interrupted run.
    """

    arm: Arm
    passes: tuple[tuple[Question, ...], ...]
    prefill: ContextPrefill | None
    in_force: Mapping[str, Any] = field(default_factory=dict)
    servers: int = 1
    asked_before: int = 0

    def chunks_with_prefix(self) -> int:
        """The fewest chunks with a prefix that the prompts' lengths allow.

        Prompts share the chunk's budget, so that there can be more, never fewer.
        """
        chunk = int(self.in_force["chunked_prefill_size"])
        questions = (question for one in self.passes for question in one)
        return sum((q.prompt_tokens - 1) // chunk for q in questions if q.prompt_tokens)
