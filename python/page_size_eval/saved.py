"""A measured arm as a file, so that a resumed run asks none of its questions again."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from page_size_eval.arms import Arm
from page_size_eval.asking.question import Condition, Question
from page_size_eval.errors import CannotMeasure
from page_size_eval.measured import MeasuredArm
from page_size_eval.reporting.files import write_json
from page_size_eval.serving.metrics import ContextPrefill


def save_arm(path: Path, key: str, measured: MeasuredArm) -> None:
    """Write a measured arm under the key of its run."""
    prefill = measured.prefill
    content = {
        "key": key,
        "arm": measured.arm.label,
        "passes": [[asdict(question) for question in p] for p in measured.passes],
        "prefill": None if prefill is None else asdict(prefill),
        "servers": measured.servers,
        "asked_before": measured.asked_before,
        "in_force": measured.in_force,
    }
    write_json(path, content)


def load_arm(path: Path, key: str, arm: Arm) -> MeasuredArm | None:
    """The arm that `save_arm` wrote, or None if it has not been measured.

    Raises:
        CannotMeasure: the file is another run's or another arm's, or damaged.
    """
    if not path.is_file():
        return None
    try:
        content = json.loads(path.read_text())
        if (content["key"], content["arm"]) == (key, arm.label):
            return _read(content, arm)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise CannotMeasure(
            f"{path}: expected a measured arm, got {type(error).__name__}: {error}."
            " Next: remove the file, its answers are in the checkpoint"
        ) from error
    raise CannotMeasure(
        f"{path}: expected {arm.label} of the run {key[:12]}, it is"
        f" {content['arm']} of {content['key'][:12]}. Next: remove the file: an arm"
        " never reads another's answers"
    )


def _read(content: dict[str, Any], arm: Arm) -> MeasuredArm:
    passes = tuple(
        tuple(
            Question(**{**question, "condition": Condition(question["condition"])})
            for question in one
        )
        for one in content["passes"]
    )
    prefill = content["prefill"]
    return MeasuredArm(
        arm,
        passes,
        None if prefill is None else ContextPrefill(**prefill),
        content["in_force"],
        content["servers"],
        content["asked_before"],
    )
