"""The engine gives the same answers at every page size, and a wrong gather shows.

The real scheduler, paged allocator, radix cache, index producers and AMD backend on a
CPU. One server per arm, so each arm is started once for the module.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import pytest

from benchmark.gsm8k.model import MODEL_DIR
from engine.probes import (
    CHUNK,
    LOGPROB_TOLERANCE,
    PROMPTS,
    Answer,
    Run,
    ask,
    differences,
)
from page_size_eval.arms import Arm
from page_size_eval.defect import VARIABLE
from page_size_eval.serving.hardware import CPU
from page_size_eval.serving.server import Server, ServerSpec, pick_port

VIEW = Arm(64, page_view=True)
DEFECT = "page_granular"
CASES: tuple[tuple[Arm, str | None], ...] = (
    (Arm(1), None),
    (Arm(16), None),
    (Arm(64), None),
    (VIEW, None),
    (Arm(16), DEFECT),
    (Arm(64), DEFECT),
)
Runs = dict[tuple[Arm, str | None], Run]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Runs:
    """Answers of each arm, and of the arms with the defect planted."""
    logs = tmp_path_factory.mktemp("servers")
    done: Runs = {}
    # A start is mostly imports on one core, so two servers start at a time.
    for i in range(0, len(CASES), 2):
        pair = CASES[i : i + 2]
        with ExitStack() as stack:
            servers = [
                stack.enter_context(Server(_spec(arm, defect, logs)))
                for arm, defect in pair
            ]
            for case, server in zip(pair, servers, strict=True):
                server.wait_until_ready()
                info = server.info()
                assert info["served_model_name"] == server.spec.name
                assert info["page_size"] == case[0].page_size
            for case, server in zip(pair, servers, strict=True):
                done[case] = ask(server)
    return done


def _spec(arm: Arm, defect: str | None, logs: Path) -> ServerSpec:
    environment = {
        **CPU.environment,
        **arm.environment(),
        VARIABLE: defect or "",
        # Every batch's indices, as the real producer made them, go through the helper.
        "SGLANG_GFX_ASM_CTX_GATHER_CHECK": "1",
    }
    # With the radix cache, so that prefixes come from other requests' pages too.
    arguments = [a for a in CPU.arguments if a != "--disable-radix-cache"]
    return ServerSpec(
        model=MODEL_DIR,
        page_size=arm.page_size,
        chunk=CHUNK,
        port=pick_port(None),
        log=logs / f"{arm.slug}_{defect}.log",
        arguments=arguments,
        environment=environment,
    )


@pytest.mark.parametrize("arm", [Arm(16), Arm(64), VIEW], ids=lambda arm: arm.slug)
def test_answers_equal_page_1(arm: Arm, runs: Runs) -> None:
    baseline, other = runs[Arm(1), None], runs[arm, None]
    assert len(baseline.cold) == PROMPTS >= 8
    assert min(a.prompt_tokens for a in baseline.cold) > 3 * CHUNK
    assert not differences(baseline.cold, other.cold, LOGPROB_TOLERANCE)
    assert not differences(baseline.warm, other.warm, LOGPROB_TOLERANCE)


@pytest.mark.parametrize(
    "arm", [Arm(1), Arm(16), Arm(64), VIEW], ids=lambda arm: arm.slug
)
def test_cached_prefix_answers_as_the_computed_one(arm: Arm, runs: Runs) -> None:
    cold, warm = runs[arm, None].cold, runs[arm, None].warm
    assert all(a.cached_tokens == 0 for a in cold), cold
    assert all(a.cached_tokens > 3 * CHUNK for a in warm), warm
    assert not differences(_continuations(cold), warm, LOGPROB_TOLERANCE)


@pytest.mark.parametrize("arm", [Arm(1), Arm(16), Arm(64)], ids=lambda arm: arm.slug)
def test_context_chunks_are_gathered(arm: Arm, runs: Runs) -> None:
    prefill = runs[arm, None].prefill
    assert prefill.hits > 0
    assert prefill.fallbacks == {}


def test_page_view_leaves_the_gather_unused(runs: Runs) -> None:
    prefill = runs[VIEW, None].prefill
    assert (prefill.hits, prefill.fallbacks) == (0, {})


@pytest.mark.parametrize("arm", [Arm(16), Arm(64)], ids=lambda arm: arm.slug)
def test_page_granular_defect_is_seen(arm: Arm, runs: Runs) -> None:
    baseline, faulty = runs[Arm(1), None], runs[arm, DEFECT]
    assert faulty.prefill.hits > 0, "the defect fell back everywhere: nothing planted"
    for expected, got in (
        (baseline.cold, faulty.cold),
        (baseline.warm, faulty.warm),
    ):
        seen = differences(expected, got, LOGPROB_TOLERANCE)
        assert len(seen) >= PROMPTS // 2, seen


def _continuations(answers: Sequence[Answer]) -> list[Answer]:
    """The answers without the logprobs of their prompts."""
    return [
        replace(a, logprobs=a.logprobs[len(a.logprobs) - len(a.token_ids) :])
        for a in answers
    ]
