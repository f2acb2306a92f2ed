"""The benchmark of the CPU engine: wrong answers are found, tokens are counted."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from benchmark.cpu_engine.workload import Workload, find_wrong_answers, measure
from page_size_eval.serving.endpoint import Endpoint

PROMPT_TOKENS = 500


class Answering(Endpoint):
    """A server that gives these texts, whatever it is asked."""

    def __init__(self, texts: list[str]) -> None:
        super().__init__("http://nowhere")
        self.texts = texts
        self.asked: list[Mapping[str, Any]] = []

    def generate(self, body: Mapping[str, Any], timeout_s: float = 600) -> Any:
        self.asked.append(body)
        meta = {"prompt_tokens": PROMPT_TOKENS}
        return [{"text": text, "meta_info": meta} for text in self.texts]


def test_only_wrong_answers_are_found() -> None:
    work = Workload.of(3, 65)
    texts = [f" So it is {answer}.\n#### {answer}" for answer in work.answers]
    assert find_wrong_answers(Answering(texts), work) == []
    wrong = find_wrong_answers(Answering([texts[0], " #### -7", ""]), work)
    assert [line.split(":")[0] for line in wrong] == ["question 1", "question 2"], wrong


def test_decoded_tokens_are_those_after_each_first_one() -> None:
    server = Answering(["", "", ""])
    repeat = measure(server, Workload.of(3, 65))
    asked = [body["sampling_params"]["max_new_tokens"] for body in server.asked]
    assert asked == [1, 65]
    assert all(body["sampling_params"]["ignore_eos"] for body in server.asked)
    assert (repeat.prefill.tokens, repeat.decode.tokens) == (3 * PROMPT_TOKENS, 3 * 64)
