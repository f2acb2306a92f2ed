"""Faults of the catalogue show in the answers of an engine that has them."""

from __future__ import annotations

import pytest

from engine.engines import Answers, Engines, each_setup, selected_setups
from engine.rounds import (
    ALONE,
    OTHER_BATCHES,
    SAME_BATCHES,
    Alone,
    ask_alone,
    continuations,
    differing,
)
from engine.setups import Setup

SOUND = Setup(defect="")
PAGE_GRANULAR = [Setup(page, defect="page_granular") for page in (16, 64)]
# One page among sixty, and one token among nine hundred.
SMALL = [
    Setup(16, defect=name) for name in ("last_partial_page", "single_swapped_slot")
]


@pytest.fixture(scope="module")
def answers(engines: Engines, request: pytest.FixtureRequest) -> Answers[Alone]:
    return engines.ask(ask_alone, [SOUND, *selected_setups(request)])


@each_setup(PAGE_GRANULAR)
def test_a_page_granular_reading_spoils_every_answer(
    setup: Setup, answers: Answers[Alone]
) -> None:
    sound, faulty = answers[SOUND], answers[setup]
    assert faulty.cold_prefill.hits > 0 and faulty.cached_prefill.hits > 0
    assert len(differing(sound.cold, faulty.cold, OTHER_BATCHES)) == ALONE
    cold = continuations(sound.cold)
    assert len(differing(cold, faulty.cached, OTHER_BATCHES)) == ALONE


@each_setup(SMALL)
def test_a_fault_of_few_tokens_shows(setup: Setup, answers: Answers[Alone]) -> None:
    sound, faulty = answers[SOUND], answers[setup]
    assert faulty.cold_prefill == sound.cold_prefill
    assert len(differing(sound.cold, faulty.cold, SAME_BATCHES)) == ALONE
