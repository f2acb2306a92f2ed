"""How a prompt is cut into chunks does not show in its answer.

vLLM issue 26042: gsm8k 0.65 for 0.93 with chunked prefill, worse as chunks shrank.
"""

from __future__ import annotations

import statistics
from itertools import pairwise

import pytest

from engine.engines import Answers, Engines, each_setup, selected_setups
from engine.rounds import OTHER_BATCHES, Alone, ask_alone, continuations, differing
from engine.setups import WHOLE, Setup
from page_size_eval.parity.difference import compare_answers
from page_size_eval.serving.metrics import ContextPrefill

UNCUT = Setup(chunk=WHOLE)
# By page size, multiples of it.
CHUNKS = {1: (50, 128), 16: (48, 128), 64: (64, 192)}
CUT = [Setup(page, chunk=chunk) for page, sizes in CHUNKS.items() for chunk in sizes]
# Of the mean gap. Measured: 0 to 0.0004, at chunks of 16 to 400 tokens, the same at
# small and at large ones.
MEAN = 0.002


@pytest.fixture(scope="module")
def answers(engines: Engines, request: pytest.FixtureRequest) -> Answers[Alone]:
    return engines.ask(ask_alone, [UNCUT, *selected_setups(request)])


@each_setup(CUT)
def test_chunked_prompts_answer_as_uncut_ones(
    setup: Setup, answers: Answers[Alone]
) -> None:
    uncut, cut = answers[UNCUT], answers[setup]
    assert uncut.cold_prefill == ContextPrefill()
    chunks = sum((a.prompt_tokens - 1) // setup.chunk for a in cut.cold)
    assert cut.cold_prefill == ContextPrefill(hits=chunks)
    assert not differing(uncut.cold, cut.cold, OTHER_BATCHES)
    assert all(a.cached_tokens > setup.chunk for a in cut.cached), cut.cached
    assert not differing(continuations(uncut.cold), cut.cached, OTHER_BATCHES)


@pytest.mark.parametrize("page_size", CHUNKS)
def test_smaller_chunks_add_no_error(page_size: int, answers: Answers[Alone]) -> None:
    errors = {}
    for chunk in CHUNKS[page_size]:
        cut = answers[Setup(page_size, chunk=chunk)]
        gaps = compare_answers(answers[UNCUT].cold, cut.cold)
        errors[chunk] = statistics.fmean(value for gap in gaps for value in gap.gaps)
    for smaller, larger in pairwise(errors):
        assert errors[smaller] <= errors[larger] + MEAN, errors
