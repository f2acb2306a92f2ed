"""A server answers and counts over HTTP as the engines of this folder do without it."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import pytest

from engine.engines import Answers, Engines, each_setup
from engine.rounds import SAME_BATCHES, Rounds, ask_rounds, differing
from engine.setups import Setup
from page_size_eval.serving.hardware import CPU
from page_size_eval.serving.in_force import read_in_force, require_arguments
from page_size_eval.serving.server import Server, pick_port

PAGES = [Setup(), Setup(16)]


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> dict[Setup, Rounds]:
    """The answers of one server each."""
    logs = tmp_path_factory.mktemp("servers")
    with ExitStack() as stack:
        # A start is mostly imports on one core, so both start at the same time.
        servers = [stack.enter_context(_start(setup, logs)) for setup in PAGES]
        for setup, server in zip(PAGES, servers, strict=True):
            server.wait_until_ready()
            require_arguments(read_in_force(server.info()), setup.in_force())
        return dict(zip(PAGES, map(ask_rounds, servers), strict=True))


def _start(setup: Setup, logs: Path) -> Server:
    spec = setup.spec(logs / f"{setup.slug}.log")
    environment = {**CPU.environment, **spec.environment}
    return Server(replace(spec, port=pick_port(None), environment=environment))


@pytest.fixture(scope="module")
def answers(engines: Engines) -> Answers[Rounds]:
    return engines.ask(ask_rounds, PAGES)


@each_setup(PAGES)
def test_http_changes_no_answer(
    setup: Setup, served: dict[Setup, Rounds], answers: Answers[Rounds]
) -> None:
    http, direct = served[setup], answers[setup]
    assert http.alone.cold_prefill.hits > 0
    assert http.alone.cold_prefill == direct.alone.cold_prefill
    assert http.alone.cached_prefill == direct.alone.cached_prefill
    assert http.together.prefill == direct.together.prefill
    for name in ("cold", "cached"):
        for got, expected in (
            (http.alone, direct.alone),
            (http.together, direct.together),
        ):
            want, have = getattr(expected, name), getattr(got, name)
            assert not differing(want, have, SAME_BATCHES), name
