"""The requests that every engine arm answers, and how two answers are compared."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from benchmark.gsm8k.dataset import DATA_DIR, read_split
from benchmark.gsm8k.prompts import document_text, question_text
from page_size_eval.serving.metrics import ContextPrefill, read_context_prefill
from page_size_eval.serving.server import Server

CHUNK = 256
PROMPTS = 13
SHOTS = 10
NEW_TOKENS = 16
# Logprobs of one token under two page sizes. The tables differ, and with them which
# requests share a batch; the order of bf16 sums follows.
LOGPROB_TOLERANCE = 0.1


@dataclass(frozen=True)
class Answer:
    """One request's greedy continuation; logprobs of the prompt, if asked, and of it.

    `cached_tokens` are prompt tokens that the prefix cache had.
    """

    prompt_tokens: int
    cached_tokens: int
    token_ids: list[int]
    logprobs: list[float]


@dataclass(frozen=True)
class Run:
    """What one server answered, and how its context chunks were served.

    `cold`: prompt logprobs from the first token on, for which SGLang computes the
    whole prompt, in chunks. `warm`: the same again, now from the prefix cache.
    """

    cold: list[Answer]
    warm: list[Answer]
    prefill: ContextPrefill


def prompts() -> list[str]:
    """Prompts with a common prefix of several chunks and tails of ragged lengths."""
    shots = read_split(DATA_DIR, "train")[:SHOTS]
    questions = read_split(DATA_DIR, "test")[:PROMPTS]
    shared = "".join(document_text(shot) for shot in shots)
    return [shared + question_text(question) for question in questions]


def ask(server: Server) -> Run:
    """Send all prompts at once, twice, and read the counters back."""
    body = {
        "text": prompts(),
        "sampling_params": {"temperature": 0, "max_new_tokens": NEW_TOKENS},
        "return_logprob": True,
    }
    cold = server.generate({**body, "logprob_start_len": 0})
    warm = server.generate(body)
    return Run(
        [_answer(reply["meta_info"]) for reply in cold],
        [_answer(reply["meta_info"]) for reply in warm],
        read_context_prefill(server.metrics()),
    )


def differences(
    expected: Sequence[Answer], got: Sequence[Answer], tolerance: float
) -> list[str]:
    """Every request whose tokens differ or whose logprobs differ too much, in words."""
    found = []
    for i, (want, have) in enumerate(zip(expected, got, strict=True)):
        gaps = [abs(a - b) for a, b in zip(want.logprobs, have.logprobs, strict=True)]
        # NaN is no small difference.
        wrong = [at for at, gap in enumerate(gaps) if not gap <= tolerance]
        if want.token_ids != have.token_ids or wrong:
            found.append(
                f"request {i} ({want.prompt_tokens} prompt tokens): tokens"
                f" {have.token_ids} for {want.token_ids}; {len(wrong)} of {len(gaps)}"
                f" logprobs differ, the first at {wrong[:1]}, by at most"
                f" {max(gaps):.4f}"
            )
    return found


def _answer(meta: dict[str, Any]) -> Answer:
    prompt = meta["input_token_logprobs"]
    # The first token of a prompt has no logprob.
    if prompt and prompt[0][0] is None:
        prompt = prompt[1:]
    tokens = [*prompt, *meta["output_token_logprobs"]]
    return Answer(
        prompt_tokens=int(meta["prompt_tokens"]),
        cached_tokens=int(meta["cached_tokens"]),
        token_ids=[int(token) for _, token, *_ in meta["output_token_logprobs"]],
        logprobs=[float(p) for p, *_ in tokens],
    )
