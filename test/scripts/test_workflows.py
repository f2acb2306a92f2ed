"""The workflows run commands that exist, with no more rights than they need."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml  # type: ignore[import-untyped]

from docs import makefile

ROOT = Path(__file__).resolve().parents[2]
WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))
PINNED = re.compile(r"[\w-]+/[\w-]+@[0-9a-f]{40}")


def load(workflow: Path) -> dict[Any, Any]:
    content: dict[Any, Any] = yaml.safe_load(workflow.read_text())
    return content


def steps(workflow: Path) -> Iterator[dict[str, Any]]:
    for job in load(workflow)["jobs"].values():
        yield from job["steps"]


def test_both_workflows_are_there() -> None:
    assert [workflow.stem for workflow in WORKFLOWS] == ["ci", "mi35x"]


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.stem)
def test_rights_are_the_least(workflow: Path) -> None:
    content = load(workflow)
    assert content["permissions"] == {"contents": "read"}
    assert "secrets." not in workflow.read_text()
    for job in content["jobs"].values():
        assert "permissions" not in job
        assert 0 < job["timeout-minutes"] <= 360


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.stem)
def test_actions_are_pinned_by_commit(workflow: Path) -> None:
    used = [step["uses"] for step in steps(workflow) if "uses" in step]
    assert used and all(PINNED.fullmatch(action) for action in used), used
    checkouts = [s for s in steps(workflow) if "checkout" in s.get("uses", "")]
    assert [s["with"]["persist-credentials"] for s in checkouts] == [False]


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.stem)
def test_commands_exist_and_no_input_is_part_of_one(workflow: Path) -> None:
    commands = [step["run"] for step in steps(workflow) if "run" in step]
    assert len(commands) > 1
    for command in commands:
        assert "${{" not in command, command
        program, *words = shlex.split(command)
        if program == "make":
            assert not makefile.faults(tuple(words)), command
        else:
            assert program == "bash", command
            script = ROOT / words[0]
            text = script.read_text()
            # An option is in the script's help.
            assert all(f"  {option} " in text for option in words[1:]), command


def test_mi35x_refuses_a_runner_without_the_hardware() -> None:
    """The stand-in would pass there, and say nothing about the hardware."""
    (stage_b,) = [
        step["run"]
        for step in steps(ROOT / ".github/workflows/mi35x.yml")
        if "amd_stage_b.sh" in step.get("run", "")
    ]
    assert "--hardware" in stage_b


def test_ci_runs_what_a_submission_runs() -> None:
    commands = [step.get("run") for step in steps(ROOT / ".github/workflows/ci.yml")]
    assert "bash .ci/run" in commands
