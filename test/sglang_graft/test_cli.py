"""The command line: exit codes, streams, and no traceback."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import sglang_graft

if TYPE_CHECKING:
    from sglang_graft.conftest import Sandbox

_PYTHON = Path(sglang_graft.__file__).parents[1]


def _run(*args: str | Path) -> subprocess.CompletedProcess[str]:
    ended = subprocess.run(
        [sys.executable, "-m", "sglang_graft", *map(str, args)],
        cwd=_PYTHON,
        capture_output=True,
        text=True,
    )
    assert "Traceback" not in ended.stdout + ended.stderr, ended
    return ended


def test_apply_status_diff_revert_end_with_0(sandbox: Sandbox) -> None:
    where = ("--target", sandbox.package, "--overlay", sandbox.overlay)
    for command, expected in (
        ("diff", "+_counts: Counter[str] = Counter()"),
        ("status", "not applied: sglang 0.5.23"),
        ("apply", "applied to sglang 0.5.23"),
        ("apply", "already applied"),
        ("status", "aiter_backend.py (spliced): grafted"),
        ("diff", "+_counts: Counter[str] = Counter()"),
        ("revert", "reverted sglang 0.5.23"),
        ("revert", "not applied to sglang 0.5.23"),
    ):
        ended = _run(command, *where)
        assert (ended.returncode, ended.stderr) == (0, ""), ended
        assert expected in ended.stdout
    assert sandbox.backend.read_text() == sandbox.text("inline")


def test_two_at_once_take_turns(sandbox: Sandbox) -> None:
    command = [sys.executable, "-m", "sglang_graft", "apply"]
    where = ["--target", str(sandbox.package), "--overlay", str(sandbox.overlay)]
    both = [
        subprocess.Popen([*command, *where], cwd=_PYTHON, stdout=subprocess.PIPE)
        for _ in range(2)
    ]
    first_words = sorted(process.communicate()[0].split()[0] for process in both)
    assert first_words == [b"already", b"applied"]
    assert sandbox.backend.read_text() == sandbox.text("inline_grafted")


def test_status_json_is_one_document(sandbox: Sandbox) -> None:
    sandbox.apply("_note")
    sandbox.backend.write_text("edited")
    ended = _run(
        *("status", "--json", "--target", sandbox.package),
        *("--overlay", sandbox.overlay),
    )
    assert ended.returncode == 1
    document = json.loads(ended.stdout)
    assert document["state"] == "foreign"
    assert document["release"] == "0.5.23"
    assert document["files"][0]["names"] == ["_counts", "_note"]


def test_refusal_ends_with_1_and_speaks_on_stderr(sandbox: Sandbox) -> None:
    sandbox.make_target("class AiterAttnBackend:\n    pass\n", release="0.5.18")
    ended = _run("apply", "--target", sandbox.package, "--overlay", sandbox.overlay)
    assert ended.returncode == 1
    assert ended.stdout == ""
    assert "refused: AiterAttnBackend.forward_extend: expected 1" in ended.stderr
    assert "next: " in ended.stderr


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        (("apply", "--only", "gone"), "choose from"),
        (("apply", "--gone"), "No such option"),
        (("gone",), "No such command"),
    ],
)
def test_wrong_usage_ends_with_2(args: tuple[str, ...], expected: str) -> None:
    ended = _run(*args)
    assert ended.returncode == 2
    assert expected in ended.stderr


def test_help_has_an_example_and_the_exit_codes() -> None:
    ended = _run("--help")
    assert ended.returncode == 0
    for expected in ("sglang-graft apply --target", "Exit codes"):
        assert expected in ended.stdout
