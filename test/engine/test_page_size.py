"""The page size, which tokens share a batch and who computed a prefix do not show."""

from __future__ import annotations

import pytest

from engine.engines import Answers, Engines, each_setup, selected_setups
from engine.rounds import (
    OTHER_BATCHES,
    SAME_BATCHES,
    TOGETHER,
    Rounds,
    ask_rounds,
    continuations,
    differing,
)
from engine.setups import CHUNK, WHOLE, Setup
from page_size_eval.serving.metrics import ContextPrefill

PAGE_1 = Setup()
AGAIN = Setup(repeat=1)
# A prompt is one chunk, without a prefix: none of its logprobs is from a gather.
UNCUT = Setup(chunk=WHOLE)
VIEW = Setup(64, page_view=True)
GATHERING = (PAGE_1, *(Setup(page_size) for page_size in (2, 16, 32, 64, 128, 256)))
PAGES = (*GATHERING, VIEW)


@pytest.fixture(scope="module")
def answers(engines: Engines, request: pytest.FixtureRequest) -> Answers[Rounds]:
    setups = selected_setups(request)
    return engines.ask(ask_rounds, [UNCUT, PAGE_1, VIEW, *setups])


def test_two_runs_answer_alike_to_the_bit(answers: Answers[Rounds]) -> None:
    first, again = answers[PAGE_1], answers[AGAIN]
    assert len(first.together.cold) == TOGETHER
    assert min(a.prompt_tokens for a in first.together.cold) > 3 * CHUNK
    assert first == again


@each_setup(PAGES[1:])
def test_every_page_size_answers_as_page_1(
    setup: Setup, answers: Answers[Rounds]
) -> None:
    page_1, other = answers[PAGE_1], answers[setup]
    assert not differing(page_1.alone.cold, other.alone.cold, SAME_BATCHES)
    assert not differing(page_1.together.cold, other.together.cold, OTHER_BATCHES)


@each_setup(GATHERING)
def test_gathering_answers_as_the_page_view(
    setup: Setup, answers: Answers[Rounds]
) -> None:
    in_place, gathered = answers[VIEW].alone.cold, answers[setup].alone.cold
    assert not differing(in_place, gathered, SAME_BATCHES)


@each_setup(PAGES)
def test_chunked_prompts_answer_as_uncut_ones(
    setup: Setup, answers: Answers[Rounds]
) -> None:
    uncut, chunked = answers[UNCUT].alone, answers[setup].alone
    assert uncut.cold_prefill == ContextPrefill()
    assert not differing(uncut.cold, chunked.cold, OTHER_BATCHES)


@each_setup(PAGES)
def test_neither_company_nor_order_shows(
    setup: Setup, answers: Answers[Rounds]
) -> None:
    alone, together = answers[setup].alone.cold, answers[setup].together
    assert not differing(alone, together.cold[: len(alone)], OTHER_BATCHES)
    assert not differing(together.cold, together.backwards, OTHER_BATCHES)


@each_setup(PAGES)
def test_a_cached_prefix_answers_as_a_computed_one(
    setup: Setup, answers: Answers[Rounds]
) -> None:
    got = answers[setup]
    for cold, cached in (
        (got.alone.cold, got.alone.cached),
        (got.together.cold, got.together.cached),
    ):
        assert all(a.cached_tokens == 0 for a in cold), cold
        for answer in cached:
            # Whole pages, short of the one token that has to be computed.
            pages = (answer.prompt_tokens - 1) // setup.page_size
            assert answer.cached_tokens == pages * setup.page_size > 0, answer
        assert not differing(continuations(cold), cached, OTHER_BATCHES)


@each_setup(GATHERING)
def test_chunks_and_cached_prefixes_are_gathered(
    setup: Setup, answers: Answers[Rounds]
) -> None:
    alone, together = answers[setup].alone, answers[setup].together
    # Every chunk of a prompt but its first, and what a cached prompt leaves.
    chunks = sum((a.prompt_tokens - 1) // CHUNK for a in alone.cold)
    assert alone.cold_prefill == ContextPrefill(hits=chunks)
    assert alone.cached_prefill == ContextPrefill(hits=len(alone.cached))
    assert together.prefill.hits > chunks and together.prefill.fallbacks == {}


def test_the_page_view_leaves_the_gather_unused(answers: Answers[Rounds]) -> None:
    alone, together = answers[VIEW].alone, answers[VIEW].together
    for prefill in (alone.cold_prefill, alone.cached_prefill, together.prefill):
        assert prefill == ContextPrefill()
