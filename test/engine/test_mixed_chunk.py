"""Requests that decode in the batches of other requests' chunks answer as ever."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from engine.counters import MODE, count_batches
from engine.engines import Answers, Engines, each_setup, selected_setups
from engine.rounds import OTHER_BATCHES, differing
from engine.setups import Setup
from page_size_eval.parity.probes import Answer, ask, make_prompts
from page_size_eval.serving.endpoint import Endpoint
from page_size_eval.serving.metrics import ContextPrefill, read_context_prefill

APART = Setup(chunk=64)
# At page 64 a chunk of 64 has no page left once a request decodes in it.
MIXED = [
    Setup(page, page_view=view, chunk=chunk, mixed_chunk=True)
    for page, view, chunk in ((1, False, 64), (16, False, 64), (64, False, 128))
] + [Setup(64, page_view=True, chunk=128, mixed_chunk=True)]


@dataclass(frozen=True)
class Texts:
    """Continuations, and the answers to the prompts with these at their ends."""

    token_ids: list[list[int]]
    afterwards: list[Answer]
    modes: dict[str, int]
    prefill: ContextPrefill


def ask_texts(engine: Endpoint) -> Texts:
    """Without logprobs first, which keep SGLang from mixing.

    The same texts as prompts then read back, with logprobs, what mixed batches wrote.
    """
    prompts = make_prompts(4, 2)
    sampling = {"temperature": 0, "max_new_tokens": 24, "ignore_eos": True}
    replies = engine.generate({"text": prompts, "sampling_params": sampling})
    modes = count_batches(engine, MODE)
    texts = [p + reply["text"] for p, reply in zip(prompts, replies, strict=True)]
    afterwards = ask(engine, texts, whole=False)
    prefill = read_context_prefill(engine.metrics())
    return Texts([reply["output_ids"] for reply in replies], afterwards, modes, prefill)


@pytest.fixture(scope="module")
def answers(engines: Engines, request: pytest.FixtureRequest) -> Answers[Texts]:
    return engines.ask(ask_texts, [APART, *selected_setups(request)])


@each_setup(MIXED)
def test_mixed_batches_answer_as_batches_apart(
    setup: Setup, answers: Answers[Texts]
) -> None:
    apart, mixed = answers[APART], answers[setup]
    assert "MIXED" not in apart.modes and mixed.modes["MIXED"] > 0
    assert (mixed.prefill.hits > 0) is not setup.page_view
    assert mixed.prefill.fallbacks == {}
    assert mixed.token_ids == apart.token_ids
    assert min(a.cached_tokens for a in mixed.afterwards) > 200
    assert not differing(apart.afterwards, mixed.afterwards, OTHER_BATCHES)
