"""The folder of one run: locked, resumable, and never of two recipes."""

from __future__ import annotations

import fcntl
import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from page_size_eval.errors import CannotMeasure
from page_size_eval.recipe import key_of
from page_size_eval.reporting.files import write_json

RECIPE, RESULTS, LOCK = "recipe.json", "results.json", ".lock"


@dataclass(frozen=True)
class RunFolder:
    """Where a run keeps what it has.

    Attributes:
        resumed: whether an earlier, unfinished run of the same recipe began it.
    """

    path: Path
    key: str
    resumed: bool


@contextmanager
def open_folder(path: Path, recipe: dict[str, Any]) -> Iterator[RunFolder]:
    """`path` for a run of `recipe`, for this process alone.

    Raises:
        CannotMeasure: it cannot be written, another run is using it, or it holds
            results of another recipe or finished ones.
    """
    key = key_of(recipe)
    try:
        path.mkdir(parents=True, exist_ok=True)
        lock = os.open(path / LOCK, os.O_RDWR | os.O_CREAT, 0o644)
    except OSError as error:
        raise CannotMeasure(
            f"{path}: expected a folder that can be written, got {error.strerror}."
            " Next: give another one with --output"
        ) from error
    try:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise CannotMeasure(
                f"{path}: expected to be the only run in it, another one is at work."
                " Next: wait for it, or give another folder with --output"
            ) from None
        resumed = _require_own(path, recipe, key)
        write_json(path / RECIPE, {"key": key, **recipe})
        yield RunFolder(path, key, resumed)
    finally:
        os.close(lock)


def pick_folder(parent: Path, recipe: dict[str, Any], fresh: bool) -> Path:
    """The newest unfinished run of `recipe` under `parent`, or a new folder.

    Args:
        fresh: leave unfinished runs alone.
    """
    home = parent / f"{recipe['task']}-{key_of(recipe)[:12]}"
    runs = sorted(home.glob("*/" + RECIPE), reverse=True)
    if not fresh and runs and not _is_complete(runs[0].parent):
        return runs[0].parent
    return home / time.strftime("%Y%m%d-%H%M%S")


def _require_own(path: Path, recipe: dict[str, Any], key: str) -> bool:
    """Whether `path` holds an unfinished run of this recipe; False if it is empty."""
    if not (path / RECIPE).is_file():
        return False
    before = _read(path / RECIPE)
    if before.get("key") != key:
        differing = [n for n in recipe if before.get(n) != recipe[n]]
        shown = "; ".join(f"{n} {before.get(n)} and {recipe[n]}" for n in differing)
        raise CannotMeasure(
            f"{path}: expected results of the same recipe, it holds another's: {shown}."
            " Next: give another folder with --output"
        )
    if _is_complete(path):
        raise CannotMeasure(
            f"{path}: expected an unfinished run or nothing, it holds a finished one."
            " Next: read its results.json, or give another folder with --output"
        )
    return True


def _is_complete(path: Path) -> bool:
    results = path / RESULTS
    return results.is_file() and _read(results).get("complete") is True


def _read(path: Path) -> dict[str, Any]:
    try:
        return dict(json.loads(path.read_text()))
    except (OSError, ValueError) as error:
        raise CannotMeasure(
            f"{path}: expected JSON that a run has written, got {error}. Next: remove"
            " its folder, or give another one with --output"
        ) from error
