"""The folder of a run: one run at a time, one recipe, nothing overwritten."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from page_size_eval.errors import CannotMeasure
from page_size_eval.folder import RECIPE, RESULTS, open_folder, pick_folder
from page_size_eval.reporting.files import write_json

A_RECIPE: dict[str, Any] = {"task": "gsm_tiny", "limit": 12}


def test_two_runs_at_once_in_one_folder_are_refused(tmp_path: Path) -> None:
    with (
        open_folder(tmp_path, A_RECIPE),
        pytest.raises(CannotMeasure, match="another one is at work"),
        open_folder(tmp_path, A_RECIPE),
    ):
        pass
    with open_folder(tmp_path, A_RECIPE) as folder:
        assert folder.resumed


def test_another_recipe_is_refused_by_its_differences(tmp_path: Path) -> None:
    with open_folder(tmp_path, A_RECIPE):
        pass
    with (
        pytest.raises(CannotMeasure, match="limit 12 and 24"),
        open_folder(tmp_path, {**A_RECIPE, "limit": 24}),
    ):
        pass


def test_finished_run_is_not_overwritten(tmp_path: Path) -> None:
    with open_folder(tmp_path, A_RECIPE):
        write_json(tmp_path / RESULTS, {"complete": True})
    with (
        pytest.raises(CannotMeasure, match="it holds a finished one"),
        open_folder(tmp_path, A_RECIPE),
    ):
        pass


def test_damaged_recipe_is_refused(tmp_path: Path) -> None:
    (tmp_path / RECIPE).write_text("{")
    with (
        pytest.raises(CannotMeasure, match="expected JSON that a run has written"),
        open_folder(tmp_path, A_RECIPE),
    ):
        pass


def test_unwritable_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with (
        pytest.raises(CannotMeasure, match="Not a directory"),
        open_folder(tmp_path / "file" / "results", A_RECIPE),
    ):
        pass


def test_unfinished_run_is_gone_on_with(tmp_path: Path) -> None:
    first = pick_folder(tmp_path, A_RECIPE, fresh=False)
    with open_folder(first, A_RECIPE) as folder:
        assert not folder.resumed
    assert pick_folder(tmp_path, A_RECIPE, fresh=False) == first
    other = pick_folder(tmp_path, {**A_RECIPE, "limit": 24}, fresh=False)
    assert other.parent != first.parent
    # Folders are named by the second.
    os.rename(first, first.with_name("20260101-000000"))
    assert pick_folder(tmp_path, A_RECIPE, fresh=True).name != "20260101-000000"


def test_finished_run_is_left_alone(tmp_path: Path) -> None:
    first = pick_folder(tmp_path, A_RECIPE, fresh=False)
    first = first.with_name("20260101-000000")
    with open_folder(first, A_RECIPE):
        write_json(first / RESULTS, {"complete": True})
    assert pick_folder(tmp_path, A_RECIPE, fresh=False) != first
