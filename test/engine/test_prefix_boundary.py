"""Prefixes that end at, before and behind a page's end answer as computed ones.

SGLang issue 22819: a cached prefix of exactly one page was read wrong, beside requests
without a prefix that were right.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

import pytest

from engine.counters import MODE, count_batches
from engine.engines import Answers, Engines, each_setup, selected_setups
from engine.rounds import OTHER_BATCHES, continuations, differing
from engine.setups import WHOLE, Setup
from page_size_eval.parity.probes import Answer, ask
from page_size_eval.serving.endpoint import Endpoint
from page_size_eval.serving.metrics import ContextPrefill, read_context_prefill

# One chunk, so that all requests of a call share a batch.
PAGES = [
    Setup(16, chunk=WHOLE),
    Setup(64, chunk=WHOLE),
    Setup(64, page_view=True, chunk=WHOLE),
]


@dataclass(frozen=True)
class Prompt:
    """Digits, each of them a token: `prefix` of another request's, then new ones."""

    prefix: int
    text: str


@dataclass(frozen=True)
class Grid:
    """Answers to the grid's prompts, computed whole, and all in one batch.

    Attributes:
        batches: that the prompts, all at once, took.
        prefill: how their prefixes were served.
    """

    prompts: list[Prompt]
    whole: list[Answer]
    cached: list[Answer]
    batches: int
    prefill: ContextPrefill


def make_grid(page: int, seed: int) -> tuple[list[str], list[Prompt]]:
    """Texts of two pages and a token, and prompts that start like one of them each."""
    draw = random.Random(seed)
    prefixes = (0, 1, page - 1, page, page + 1, 2 * page - 1, 2 * page, 2 * page + 1)
    lengths = [
        (prefix, extend)
        for prefix in prefixes
        for extend in (1, page - 1, page, page + 1)
    ]
    draw.shuffle(lengths)
    first, prompts = [], []
    for prefix, extend in lengths:
        known = "".join(draw.choices("01234", k=2 * page + 1))
        # Other digits, so that no more than the prefix is the same.
        new = "".join(draw.choices("56789", k=extend))
        first.append(known)
        prompts.append(Prompt(prefix, known[:prefix] + new))
    return first, prompts


def ask_grid(engine: Endpoint) -> Grid:
    """Fill the cache with the first texts, then ask every prompt at once."""
    first, prompts = make_grid(int(engine.info()["page_size"]), seed=0)
    texts = [prompt.text for prompt in prompts]
    whole = ask(engine, texts)
    engine.flush_cache()
    ask(engine, first, whole=False)
    before = _counts(engine)
    cached = ask(engine, texts, whole=False)
    after = _counts(engine)
    return Grid(prompts, whole, cached, after[0] - before[0], after[1].since(before[1]))


def _counts(engine: Endpoint) -> tuple[int, ContextPrefill]:
    extends = count_batches(engine, MODE)["EXTEND"]
    return extends, read_context_prefill(engine.metrics())


@pytest.fixture(scope="module")
def answers(engines: Engines, request: pytest.FixtureRequest) -> Answers[Grid]:
    return engines.ask(ask_grid, selected_setups(request))


@each_setup(PAGES)
def test_prefixes_around_page_ends(setup: Setup, answers: Answers[Grid]) -> None:
    grid = answers[setup]
    assert [a.prompt_tokens for a in grid.cached] == [len(p.text) for p in grid.prompts]
    assert [a.cached_tokens for a in grid.cached] == [
        _pages(p, setup) for p in grid.prompts
    ]
    assert grid.batches == 1
    assert grid.prefill == ContextPrefill(hits=0 if setup.page_view else 1)
    assert not differing(continuations(grid.whole), grid.cached, OTHER_BATCHES)


def _pages(prompt: Prompt, setup: Setup) -> int:
    return prompt.prefix // setup.page_size * setup.page_size
