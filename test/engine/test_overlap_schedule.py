"""Whether a batch is scheduled while another one runs does not show in the answers."""

from __future__ import annotations

import pytest

from engine.counters import LOOP, count_batches
from engine.engines import Answers, Engines, each_setup, selected_setups
from engine.rounds import OTHER_BATCHES, SAME_BATCHES, Rounds, ask_rounds, differing
from engine.setups import Setup
from page_size_eval.serving.endpoint import Endpoint

OVERLAPPED = Setup(16)
IN_TURN = [Setup(page_size, overlap=False) for page_size in (16, 64)]


def ask_loops(engine: Endpoint) -> tuple[Rounds, dict[str, int]]:
    return ask_rounds(engine), count_batches(engine, LOOP)


Looped = Answers[tuple[Rounds, dict[str, int]]]


@pytest.fixture(scope="module")
def answers(engines: Engines, request: pytest.FixtureRequest) -> Looped:
    return engines.ask(ask_loops, [OVERLAPPED, *selected_setups(request)])


@each_setup(IN_TURN)
def test_answers_are_those_of_the_overlap_schedule(
    setup: Setup, answers: Looped
) -> None:
    (overlapped, overlap), (in_turn, normal) = answers[OVERLAPPED], answers[setup]
    assert list(overlap) == ["overlap"] and list(normal) == ["normal"]
    alone, together = in_turn.alone, in_turn.together
    assert alone.cold_prefill == overlapped.alone.cold_prefill
    assert alone.cold_prefill.hits > 0 and together.prefill.fallbacks == {}
    assert not differing(overlapped.alone.cold, alone.cold, SAME_BATCHES)
    for name in ("cold", "backwards", "cached"):
        expected, got = getattr(overlapped.together, name), getattr(together, name)
        assert not differing(expected, got, OTHER_BATCHES), name
