"""Every defect at every level, by forks of a process that has imported SGLang."""

from __future__ import annotations

import hashlib
import importlib
import json
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from matrix.catching import run_tests
from matrix.cells import KILLED, NOT_REACHED, SURVIVED, Cell
from matrix.forks import Done, Task, run_in_forks
from matrix.levels import ROOT, Level
from matrix.targets import contents, count_calls, find_targets, plant
from page_size_eval.defect import CATALOGUE, VARIABLE
from page_size_eval.errors import CannotMeasure
from page_size_eval.serving.hardware import CPU

# Imported once, by all forks' parent: most of a fork's life would be these imports.
_WARM = (
    "hypothesis.stateful",
    "sglang.srt.layers.attention.aiter_kv_gather",
    "sglang.srt.managers.schedule_batch",
    "sglang.srt.mem_cache.radix_cache",
    "sglang.srt.mem_cache.swa_memory_pool",
    "sglang.srt.model_executor.model_runner",
    "sglang.test.test_utils",
)


# What the tests of every level are made of, and what they test.
_SHARED = ("test/producers", "python/aiter_reference", "python/sglang")


@dataclass(frozen=True)
class Settings:
    """How a matrix is made.

    Attributes:
        folder: logs of the forks, and what is known so far.
        jobs: forks at a time.
        timeout_s: of one fork; a level of the suite takes a minute.
    """

    folder: Path
    jobs: int
    timeout_s: float

    def log(self, *names: str) -> Path:
        return self.folder / f"{'_'.join(names)}.log"


def import_sglang() -> None:
    """Make this process one to fork from: platform up, one thread, all loaded."""
    os.environ.update(CPU.environment)
    os.chdir(ROOT)
    import torch

    torch.set_num_threads(1)
    from producers.platform import load_aiter_backend

    load_aiter_backend()
    for name in _WARM:
        importlib.import_module(name)


def fingerprint(defect: str, level: Level) -> str:
    """Of the code that a cell depends on: a cell of other code is not taken over."""
    digest = hashlib.sha256((CATALOGUE / f"{defect}.py").read_bytes())
    for folder in (*level.folders, *_SHARED):
        for path in sorted((ROOT / folder).rglob("*.py")):
            digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def targets_of_all(defects: Sequence[str], settings: Settings) -> dict[str, list[str]]:
    """What each defect replaces.

    Raises:
        CannotMeasure: one cannot be planted, or replaces nothing.
    """
    sound = contents()
    tasks = [
        Task(name, _bind(find_targets, name, sound), settings.log("targets", name))
        for name in defects
    ]
    found = {}
    for done in run_in_forks(tasks, settings.jobs, settings.timeout_s):
        if not done.result:
            raise CannotMeasure(
                f"defect {done.key}: expected it to replace something in SGLang, got"
                f" {done.result}. Next: read {settings.log('targets', done.key)}"
            )
        found[done.key] = done.result
    return found


def reached_at(
    levels: Sequence[Level], targets: set[str], settings: Settings
) -> Iterator[tuple[str, set[str], int]]:
    """(level, what its tests call, how many tests) of the suite without a defect.

    Raises:
        CannotMeasure: a level fails by itself, or has no tests.
    """
    tasks = [
        Task(level.name, _bind(_call_counts, level, targets), settings.log(level.name))
        for level in levels
    ]
    for done in run_in_forks(tasks, settings.jobs, 2 * settings.timeout_s):
        log = settings.log(done.key)
        if done.result is None or done.result["status"] != 0:
            raise CannotMeasure(
                f"level {done.key}: expected all tests to pass without a defect, got"
                f" {done.result}. Next: read {log}"
            )
        yield done.key, set(done.result["called"]), done.result["passed"]


def _call_counts(level: Level, targets: set[str]) -> dict[str, Any]:
    calls = count_calls(targets)
    result = run_tests(level.arguments)
    return {**result, "called": sorted(calls)}


def cells(
    defects: dict[str, list[str]],
    levels: Sequence[Level],
    reached: dict[str, set[str]],
    settings: Settings,
) -> Iterator[tuple[str, str, Cell]]:
    """(defect, level, cell) as they come; those of an earlier run first."""
    store = Store(settings.folder / "cells.jsonl")
    tasks = []
    for level in levels:
        for defect, targets in defects.items():
            known = store.get(defect, level)
            if known is not None:
                yield defect, level.name, known
            elif not (level.in_engines or reached[level.name] & set(targets)):
                yield defect, level.name, Cell(NOT_REACHED)
            else:
                log = settings.log(level.name, defect)
                work = _bind(_test_with, defect, level)
                tasks.append(Task((defect, level), work, log))
    for done in run_in_forks(tasks, settings.jobs, settings.timeout_s):
        defect, level = done.key
        cell = _cell_of(done, settings)
        store.put(defect, level, cell)
        yield defect, level.name, cell


def _test_with(defect: str, level: Level) -> dict[str, Any]:
    if level.in_engines:
        os.environ[VARIABLE] = defect
    else:
        plant(defect)
    return run_tests(level.arguments)


def _cell_of(done: Done, settings: Settings) -> Cell:
    defect, level = done.key
    if done.timed_out or done.signal:
        # A write out of bounds may well end the process before any test says so.
        error = done.signal or "timed out"
        return Cell(KILLED, "", error, 0, done.seconds)
    if done.result is None or done.result["status"] not in (0, 1, 2):
        raise CannotMeasure(
            f"{defect} at {level.name}: expected a run of pytest, got {done.result}."
            f" Next: read {settings.log(level.name, defect)}"
        )
    caught, passed = done.result["caught"], done.result["passed"]
    if caught is None:
        return Cell(SURVIVED, passed=passed, seconds=done.seconds)
    return Cell(KILLED, caught["test"], caught["error"], passed, done.seconds)


class Store:
    """Cells that are known, kept from run to run while their code is the same."""

    def __init__(self, path: Path) -> None:
        self._path = path
        lines = path.read_text().splitlines() if path.exists() else []
        entries = map(json.loads, lines)
        self._cells = {entry["code"]: Cell(**entry["cell"]) for entry in entries}

    def get(self, defect: str, level: Level) -> Cell | None:
        return self._cells.get(fingerprint(defect, level))

    def put(self, defect: str, level: Level, cell: Cell) -> None:
        entry = {"defect": defect, "level": level.name, "cell": cell.as_json()}
        entry["code"] = fingerprint(defect, level)
        with self._path.open("a") as file:
            file.write(json.dumps(entry) + "\n")


def _bind(function: Callable[..., Any], *args: Any) -> Callable[[], Any]:
    return lambda: function(*args)
