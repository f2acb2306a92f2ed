"""A whole comparison, its servers replaced by ones that behave as told."""

from __future__ import annotations

import functools
import json
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from benchmark.gsm8k.model import MODEL_DIR
from fakes.server import FakeSpec
from page_size_eval import run
from page_size_eval.errors import CannotMeasure
from page_size_eval.hardware import CPU

LIMIT = 12


@pytest.fixture
def settings(tmp_path: Path) -> run.Settings:
    return run.Settings(
        page_size=16,
        model=MODEL_DIR,
        task="gsm_tiny",
        limit=LIMIT,
        concurrency=4,
        max_gen_toks=64,
        chunk=256,
        port=None,
        defect=None,
        server_arguments=(),
        output=tmp_path / "results",
    )


def compare(
    settings: run.Settings, mode: str, monkeypatch: pytest.MonkeyPatch
) -> tuple[list[float], list[str]]:
    monkeypatch.setattr(run, "ServerSpec", functools.partial(FakeSpec, mode=mode))
    console = Console(quiet=True)
    results, wrong = run.compare(settings, run.check(settings), CPU, console)
    return [result.gated for result in results], wrong


def saved(settings: run.Settings) -> dict[str, object]:
    text = (settings.output / "results.json").read_text()
    return dict(json.loads(text))


def test_equal_arms_pass(
    settings: run.Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    scores, wrong = compare(settings, "sound", monkeypatch)
    assert (scores, wrong) == ([1.0, 1.0], [])
    assert saved(settings)["complete"] is True


def test_a_loss_at_16_is_measured(
    settings: run.Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    scores, wrong = compare(settings, "wrong-at-16", monkeypatch)
    assert scores == [1.0, 0.0]
    assert len(wrong) == 1 and "page 16" in wrong[0]


@pytest.mark.parametrize(
    ("mode", "why"),
    [
        ("other-page-size", "expected page_size=16 in force, got 1"),
        ("other-name", "served_model_name"),
        ("no-hits", "0 hits"),
        ("falls-back", "slot_past_pool"),
        ("empty", "a loss would not show"),
        ("dies-mid-run", r"(?s)status 7.*out of memory"),
    ],
)
def test_what_says_nothing_is_refused(
    mode: str, why: str, settings: run.Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    stale = settings.output / "results.json"
    stale.parent.mkdir()
    stale.write_text('{"complete": true, "arms": ["of an earlier run"]}')
    with pytest.raises(CannotMeasure, match=why):
        compare(settings, mode, monkeypatch)
    if mode != "empty":  # found when both arms are measured
        assert saved(settings)["complete"] is False


def test_a_defect_that_the_server_did_not_plant_is_refused(
    settings: run.Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    planted = replace(settings, defect="page_granular")
    with pytest.raises(CannotMeasure, match="expected the server to plant it"):
        compare(planted, "sound", monkeypatch)
