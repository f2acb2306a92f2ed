"""A run killed with SIGKILL goes on where it was, to the result it would have had."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

LIMIT = 140
SCRIPT = """
import functools
from fakes.server import FakeSpec
from page_size_eval import launch
from page_size_eval.cli import app
launch.ServerSpec = functools.partial(FakeSpec, mode="sound")
app()
"""


def start(folder: Path) -> subprocess.Popen[str]:
    options = ["--page=16", f"--limit={LIMIT}", "--concurrency=1", f"--output={folder}"]
    return subprocess.Popen(
        [sys.executable, "-c", SCRIPT, *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join(sys.path),
            "SGLANG_PLATFORM": "gfx950_reference",
        },
    )


def finish(script: subprocess.Popen[str]) -> str:
    said, _ = script.communicate(timeout=300)
    assert script.returncode == 0, said
    return said


def kill_at(script: subprocess.Popen[str], answers: Path, lines: int) -> None:
    """SIGKILL once the file has so many lines."""
    deadline = time.monotonic() + 120
    while not answers.is_file() or answers.read_bytes().count(b"\n") < lines:
        assert script.poll() is None, script.communicate()
        assert time.monotonic() < deadline, answers
        time.sleep(0.002)
    script.kill()
    script.communicate()


def results(folder: Path) -> dict[str, Any]:
    return dict(json.loads((folder / "results.json").read_text()))


def asked(folder: Path, slug: str) -> list[int]:
    lines = (folder / f"answers_1_{slug}.jsonl").read_text().splitlines()
    records = map(json.loads, lines)
    return [r["doc_id"] for r in records if r.get("kind") == "answer"]


def test_killed_run_is_resumed_to_the_same_result(tmp_path: Path) -> None:
    undisturbed, killed = tmp_path / "undisturbed", tmp_path / "killed"
    finish(start(undisturbed))
    kill_at(start(killed), killed / "answers_1_page_1.jsonl", 40)
    kill_at(start(killed), killed / "answers_1_page_16.jsonl", 40)
    assert results(killed)["complete"] is False
    said = finish(start(killed))
    assert "resuming an unfinished run" in said
    for slug in ("page_1", "page_1_again", "page_16"):
        assert asked(killed, slug) == asked(undisturbed, slug) == list(range(LIMIT))
    one, other = (results(folder)["comparison"] for folder in (undisturbed, killed))
    for key in ("pairs", "margin"):
        assert one[key] == other[key]
    report = (killed / "report.md").read_text()
    assert "kept from an interrupted run" in report, report
