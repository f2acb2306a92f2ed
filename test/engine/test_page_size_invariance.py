"""The engine gives the same answers at every page size, and a wrong gather shows.

The real scheduler, paged allocator, radix cache, index producers and AMD backend on a
CPU. One server per arm, so each arm is started once for the module.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from benchmark.gsm8k.model import MODEL_DIR

from engine.probes import (
    CHUNK,
    LOGPROB_TOLERANCE,
    PROMPTS,
    Run,
    ask,
    differences,
)
from page_size_eval.arms import Arm
from page_size_eval.defect import VARIABLE
from page_size_eval.hardware import CPU
from page_size_eval.server import Server, ServerSpec, pick_port

Runner = Callable[[Arm, str | None], Run]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Runner:
    """Answers of an arm, with a planted defect or without, from a server of its own."""
    logs = tmp_path_factory.mktemp("servers")
    done: dict[tuple[Arm, str | None], Run] = {}

    def measure(arm: Arm, defect: str | None) -> Run:
        if (arm, defect) not in done:
            done[arm, defect] = _measure(arm, defect, logs)
        return done[arm, defect]

    return measure


def _measure(arm: Arm, defect: str | None, logs: Path) -> Run:
    environment = {**CPU.environment, **arm.environment()}
    if defect:
        environment[VARIABLE] = defect
    # With the radix cache, so that prefixes come from other requests' pages too.
    arguments = [a for a in CPU.arguments if a != "--disable-radix-cache"]
    spec = ServerSpec(
        model=MODEL_DIR,
        page_size=arm.page_size,
        chunk=CHUNK,
        port=pick_port(None),
        log=logs / f"{arm.slug}_{defect}.log",
        arguments=arguments,
        environment=environment,
    )
    with Server(spec) as server:
        server.wait_until_ready()
        assert server.info()["page_size"] == arm.page_size
        return ask(server)


@pytest.mark.parametrize(
    "arm", [Arm(16), Arm(64), Arm(64, page_view=True)], ids=lambda arm: arm.slug
)
def test_answers_equal_page_1(arm: Arm, run: Runner) -> None:
    baseline, other = run(Arm(1), None), run(arm, None)
    assert len(baseline.answers) == PROMPTS >= 8
    assert min(a.prompt_tokens for a in baseline.answers) > 3 * CHUNK
    assert not differences(baseline.answers, other.answers, LOGPROB_TOLERANCE)


@pytest.mark.parametrize("arm", [Arm(1), Arm(16), Arm(64)], ids=lambda arm: arm.slug)
def test_context_chunks_are_gathered(arm: Arm, run: Runner) -> None:
    prefill = run(arm, None).prefill
    assert prefill.hits > 0
    assert prefill.fallbacks == {}


def test_page_view_leaves_the_gather_unused(run: Runner) -> None:
    prefill = run(Arm(64, page_view=True), None).prefill
    assert (prefill.hits, prefill.fallbacks) == (0, {})


@pytest.mark.parametrize("arm", [Arm(16), Arm(64)], ids=lambda arm: arm.slug)
def test_page_granular_defect_is_seen(arm: Arm, run: Runner) -> None:
    baseline, faulty = run(Arm(1), None), run(arm, "page_granular")
    assert faulty.prefill.hits > 0, "the defect fell back everywhere: nothing planted"
    seen = differences(baseline.answers, faulty.answers, LOGPROB_TOLERANCE)
    assert len(seen) >= PROMPTS // 2, seen
