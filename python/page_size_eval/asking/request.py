"""What a server is asked, word for word as lm-eval's local-completions asks it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

SEED = 1234  # lm-eval's default, sent although greedy decoding ignores it
LONGEST_PAUSE_S = 10.0


def pause_exponentially(tries: int) -> float:
    """Seconds to wait after so many tries have failed."""
    return float(min(2 ** (tries - 1), LONGEST_PAUSE_S))


@dataclass(frozen=True)
class RequestSettings:
    """How the questions reach a server.

    Attributes:
        url: where it listens, without a path.
        model_name: the model's name in the requests. The checkpoint tells servers apart
            by it, so each process needs its own.
        concurrency: requests in flight.
        max_gen_toks: longest answer in tokens; lm-eval's own 256 cuts real models.
        timeout_s: for one try, from connecting to the last byte.
        tries: for connection errors and the statuses 429 and 5xx; whatever else goes
            wrong would go wrong again.
        pause_s: seconds to wait after so many tries.
    """

    url: str
    model_name: str
    concurrency: int
    max_gen_toks: int
    timeout_s: float = 600.0
    tries: int = 3
    pause_s: Callable[[int], float] = pause_exponentially


@dataclass(frozen=True)
class Request:
    """One question's request; `body` is what is posted, but for the model's name."""

    doc_id: int
    body: Mapping[str, Any]

    @cached_property
    def request_hash(self) -> str:
        """Of the prompt and the generation settings, whichever server is asked."""
        text = json.dumps(self.body, sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()


def build_request(doc_id: int, prompt: str, gen_kwargs: Mapping[str, Any]) -> Request:
    """The request for one of lm-eval's instances; the server tokenises, nothing is cut.

    Args:
        doc_id: the question's place in the task's split.
        prompt: few-shot examples included.
        gen_kwargs: the task's generation_kwargs, `max_gen_toks` among them.
    """
    left = dict(gen_kwargs)
    left.pop("do_sample", None)
    until = left.pop("until", None) or []
    body = {
        "prompt": prompt,
        "max_tokens": left.pop("max_gen_toks"),
        "temperature": left.pop("temperature", 0),
        "stop": [until] if isinstance(until, str) else list(until),
        "seed": SEED,
        **left,
    }
    return Request(doc_id, body)
