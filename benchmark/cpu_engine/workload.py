"""The prompts of the benchmark, whether they are answered right, and what they take."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any, Self

import psutil

from benchmark.gsm8k.dataset import DATA_DIR, read_split
from benchmark.gsm8k.prompts import STOP, few_shot_prompts, final_answer
from page_size_eval.serving.endpoint import Endpoint

# The longest right answer of the tiny model has fewer tokens.
ANSWER_TOKENS = 256


@dataclass(frozen=True)
class Workload:
    """Five-shot prompts, the numbers that answer them, and how much is decoded."""

    prompts: list[str]
    answers: list[str | None]
    new_tokens: int

    @classmethod
    def of(cls, count: int, new_tokens: int) -> Self:
        """The first `count` questions of the test split."""
        questions = read_split(DATA_DIR, "test")[:count]
        return cls(
            few_shot_prompts(read_split(DATA_DIR, "train"), questions),
            [final_answer(question["answer"]) for question in questions],
            new_tokens,
        )


@dataclass(frozen=True)
class Cost:
    """What some tokens took; `cpu_s` over all processes of the server."""

    tokens: int
    wall_s: float
    cpu_s: float


@dataclass(frozen=True)
class Repeat:
    """Prefill of all prompts, and decode of all of them together."""

    prefill: Cost
    decode: Cost


def find_wrong_answers(server: Endpoint, work: Workload) -> list[str]:
    """The questions that are not answered right, in words."""
    replies = _ask(server, work, max_new_tokens=ANSWER_TOKENS, stop=STOP)
    pairs = zip(replies, work.answers, strict=True)
    return [
        f"question {i}: expected {answer}, got {reply['text']!r}"
        for i, (reply, answer) in enumerate(pairs)
        if final_answer(reply["text"]) != answer
    ]


def measure(server: Endpoint, work: Workload) -> Repeat:
    """One repeat: the prompts with one new token, then with all of them."""
    prefill = _time(server, work, 1)
    whole = _time(server, work, work.new_tokens)
    decoded = len(work.prompts) * (work.new_tokens - 1)
    wall_s, cpu_s = whole.wall_s - prefill.wall_s, whole.cpu_s - prefill.cpu_s
    return Repeat(prefill, Cost(decoded, wall_s, cpu_s))


def _time(server: Endpoint, work: Workload, new_tokens: int) -> Cost:
    """`tokens` are those of the prompts."""
    cpu_s, started = _cpu_s(), time.monotonic()
    replies = _ask(server, work, max_new_tokens=new_tokens, ignore_eos=True)
    wall_s = time.monotonic() - started
    tokens = sum(reply["meta_info"]["prompt_tokens"] for reply in replies)
    return Cost(tokens, wall_s, _cpu_s() - cpu_s)


def _ask(server: Endpoint, work: Workload, **sampling: Any) -> list[dict[str, Any]]:
    parameters = {"temperature": 0, **sampling}
    body = {"text": work.prompts, "sampling_params": parameters}
    return list(server.generate(body))


def _cpu_s() -> float:
    """CPU time of every process that this one started, which are the server's."""
    times = [p.cpu_times() for p in psutil.Process().children(recursive=True)]
    return sum(t.user + t.system for t in times)
