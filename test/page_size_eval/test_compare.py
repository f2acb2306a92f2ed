"""A whole run, its servers replaced by ones that behave as told."""

from __future__ import annotations

import functools
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from benchmark.gsm8k.model import MODEL_DIR
from fakes.server import FakeSpec
from page_size_eval import launch
from page_size_eval.errors import CannotMeasure
from page_size_eval.run import Consoles, Options, run
from page_size_eval.serving.hardware import CPU
from page_size_eval.settings import Settings

# With no flip among so many, 2 points can be told.
LIMIT = 140
ARMS = ("page_1", "page_1_again", "page_16")


@pytest.fixture
def settings() -> Settings:
    return Settings(
        page_sizes=(16,),
        model=MODEL_DIR,
        task="gsm_tiny",
        limit=LIMIT,
        concurrency=4,
        chunk=256,
        max_gen_toks=64,
    )


def run_in(
    folder: Path, settings: Settings, mode: str, monkeypatch: pytest.MonkeyPatch
) -> int:
    monkeypatch.setattr(launch, "ServerSpec", functools.partial(FakeSpec, mode=mode))
    quiet = Consoles(Console(quiet=True), Console(quiet=True))
    return run(settings, Options(folder, output=folder), CPU, quiet)


def saved(folder: Path) -> dict[str, Any]:
    return dict(json.loads((folder / "results.json").read_text()))


def test_equal_arms_are_equivalent(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run_in(tmp_path, settings, "sound", monkeypatch) == 0
    assert saved(tmp_path)["complete"] is True
    for name in ("report.md", "plot.png", "plot.svg"):
        assert (tmp_path / name).stat().st_size > 0, name
    for slug in ARMS:
        assert (tmp_path / f"server_{slug}.log").is_file()
        assert (tmp_path / f"samples_{slug}.json").is_file()
    report = (tmp_path / "report.md").read_text()
    assert "not a gsm8k score" in report
    assert "equivalent" in report


def test_a_loss_at_16_is_measured(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run_in(tmp_path, settings, "wrong-at-16", monkeypatch) == 1
    verdicts = [pair["verdict"] for pair in saved(tmp_path)["comparison"]["pairs"]]
    assert verdicts == ["equivalent", "worse"]


def test_few_questions_cannot_tell(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    few = replace(settings, limit=12)
    assert run_in(tmp_path, few, "sound", monkeypatch) == 2


@pytest.mark.parametrize(
    ("mode", "why"),
    [
        ("other-page-size", "expected page_size=16 in force, got 1"),
        ("other-name", "served_model_name"),
        ("no-hits", "0 hits"),
        ("falls-back", "slot_past_pool"),
        ("empty", r"[1-9]\d* empty"),
        ("truncates", "truncated"),
        ("refuses", "HTTP 400"),
        ("dies-mid-run", r"(?s)status 7.*out of memory"),
    ],
)
def test_what_says_nothing_is_refused(
    mode: str,
    why: str,
    settings: Settings,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    few = replace(settings, limit=24)
    with pytest.raises(CannotMeasure, match=why):
        run_in(tmp_path, few, mode, monkeypatch)
    assert saved(tmp_path)["complete"] is False
    assert saved(tmp_path)["comparison"] is None


def test_server_that_died_once_is_replaced_and_nothing_is_asked_twice(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It dies after five answers: eight questions need a second server, no third."""
    few = replace(settings, page_sizes=(1,), limit=8, concurrency=1, margin=0.5)
    assert run_in(tmp_path, few, "dies-mid-run", monkeypatch) == 0
    lines = (tmp_path / "answers_1_page_1.jsonl").read_text().splitlines()
    asked = [r["doc_id"] for r in map(json.loads, lines) if r.get("kind") == "answer"]
    assert sorted(asked) == list(range(8))
    assert (tmp_path / "server_page_1.2.log").is_file()
    report = (tmp_path / "report.md").read_text()
    assert "2 servers answered" in report, report


def test_a_defect_that_the_server_did_not_plant_is_refused(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    planted = replace(settings, defect="page_granular")
    with pytest.raises(CannotMeasure, match="expected the server to plant it"):
        run_in(tmp_path, planted, "sound", monkeypatch)
    with pytest.raises(CannotMeasure, match="expected a page size beside 1"):
        run_in(tmp_path, replace(planted, page_sizes=(1,)), "sound", monkeypatch)


def test_answers_of_another_arm_are_refused(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    few = replace(settings, limit=8)
    with pytest.raises(CannotMeasure, match="0 hits"):
        run_in(tmp_path, few, "no-hits", monkeypatch)
    poisoned = tmp_path / "measured_page_1_again.json"
    (tmp_path / "measured_page_1.json").rename(poisoned)
    with pytest.raises(CannotMeasure, match="never reads another's answers"):
        run_in(tmp_path, few, "sound", monkeypatch)
    poisoned.unlink()
    answers = tmp_path / "answers_1_page_1_again.jsonl"
    (tmp_path / "answers_1_page_1.jsonl").rename(answers)
    with pytest.raises(CannotMeasure, match="page 1, again"):
        run_in(tmp_path, few, "sound", monkeypatch)
