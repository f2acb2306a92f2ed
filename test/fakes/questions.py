"""Requests for the questions that a fake server knows, without lm-eval's prompts."""

from __future__ import annotations

from collections.abc import Iterable

from benchmark.gsm8k.dataset import DATA_DIR, read_split
from fakes.listening import FakeServer
from page_size_eval.asking.request import Request, RequestSettings, build_request

GEN_KWARGS = {"max_gen_toks": 64, "temperature": 0.0, "until": ["Question:"]}


def requests_for(numbers: Iterable[int]) -> list[Request]:
    """A zero-shot request for each of these questions of gsm_tiny's test split."""
    problems = read_split(DATA_DIR, "test")
    return [
        build_request(n, f"Question: {problems[n]['question']}\nAnswer:", GEN_KWARGS)
        for n in numbers
    ]


def settings_for(
    url: str, name: str = "a server", concurrency: int = 4, timeout_s: float = 30
) -> RequestSettings:
    """Settings that never wait long between tries."""
    return RequestSettings(
        url=url,
        model_name=name,
        concurrency=concurrency,
        max_gen_toks=64,
        timeout_s=timeout_s,
        pause_s=lambda tries: 0.01,
    )


def numbers_asked(server: FakeServer) -> list[int]:
    """Which questions a server was asked, in order."""
    return [server.replies.number(body) for body in server.replies.asked]
