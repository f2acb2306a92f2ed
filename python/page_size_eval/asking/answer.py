"""What came back for one request."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from page_size_eval.asking.question import Condition

FINISHED = frozenset({Condition.ANSWERED, Condition.TRUNCATED, Condition.EMPTY})
SHOWN_CHARACTERS = 200


@dataclass(frozen=True)
class Answer:
    """One request's outcome.

    Attributes:
        request_hash: of the request that was answered.
        server: name of the server process that gave it.
        prompt_tokens: as the server counted them; None if it did not say.
        reason: why there is no answer; "" if there is one.
    """

    doc_id: int
    request_hash: str
    server: str
    condition: Condition
    text: str = ""
    finish_reason: str | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    reason: str = ""

    @property
    def finished(self) -> bool:
        """Whether the server gave its answer, so that it need not be asked again."""
        return self.condition in FINISHED


class MalformedReply(Exception):
    """A reply that holds no one answer; the message says what is wrong with it."""


@dataclass(frozen=True)
class Completion:
    """The one choice of a /v1/completions reply; a null text is an empty one."""

    text: str
    finish_reason: str
    prompt_tokens: int | None
    completion_tokens: int | None

    @property
    def condition(self) -> Condition:
        if not self.text.strip():
            return Condition.EMPTY
        cut = self.finish_reason == "length"
        return Condition.TRUNCATED if cut else Condition.ANSWERED


def read_completion(content: bytes) -> Completion:
    """The completion in the body of a reply.

    Raises:
        MalformedReply: no JSON, not one choice, a text that is none, a generation that
            neither stopped nor reached its limit, or tokens that are no counts.
    """
    try:
        reply = json.loads(content)
    except ValueError as error:
        raise MalformedReply(f"no JSON: {shorten(content)}") from error
    choices = reply.get("choices") if isinstance(reply, dict) else None
    if not isinstance(choices, list) or not all(isinstance(c, dict) for c in choices):
        raise MalformedReply(f"no choices: {shorten(content)}")
    if len(choices) != 1:
        raise MalformedReply(f"{len(choices)} choices for one prompt")
    text, finish_reason = choices[0].get("text"), choices[0].get("finish_reason")
    if text is not None and not isinstance(text, str):
        raise MalformedReply(f"a text that is a {type(text).__name__}")
    # SGLang says "abort" for a request that it gave up half-way.
    if finish_reason not in ("stop", "length"):
        raise MalformedReply(f"finish_reason {finish_reason!r}, not stop or length")
    usage = reply.get("usage") or {}
    return Completion(
        text=text or "",
        finish_reason=finish_reason,
        prompt_tokens=_count(usage, "prompt_tokens"),
        completion_tokens=_count(usage, "completion_tokens"),
    )


def shorten(content: bytes) -> str:
    """The beginning of a reply, for a message."""
    return repr(content[:SHOWN_CHARACTERS].decode(errors="replace"))


def _count(usage: Any, name: str) -> int | None:
    count = usage.get(name) if isinstance(usage, dict) else None
    if count is not None and not isinstance(count, int):
        raise MalformedReply(f"{name} {count!r}, not a number of tokens")
    return count
