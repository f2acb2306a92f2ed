"""How many mutants some tests kill, each mutant in a fork of its own."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from matrix.catching import run_tests
from matrix.forks import Task, run_in_forks
from matrix.levels import ROOT
from mutation.equivalents import EQUIVALENTS
from mutation.mutants import Mutant, install
from page_size_eval.errors import CannotMeasure

SUBJECT = ROOT / "python/sglang/srt/layers/attention/aiter_backend.py"
MODULE = "sglang.srt.layers.attention.aiter_backend"
FUNCTIONS = ("_asm_context_prefill_gather_indices",)
METHODS = ("_asm_context_prefill_indices",)
# The quickest to kill first; the rest of the helper's level behind.
TESTS = (
    "test/properties/test_helper.py",
    "test/properties/test_ordinary_indices.py",
    "test/properties/test_devices.py",
    "test/registered/attention",
    "test/overlay",
)
LEFT_OUT = (
    "test/overlay/test_registered_form.py",
    "test/overlay/test_standalone.py",
)


@dataclass(frozen=True)
class Verdict:
    """Whether a mutant was killed, and by which test."""

    mutant: Mutant
    killed: bool
    test: str


@dataclass(frozen=True)
class Settings:
    """How mutants are tried: forks at a time, seconds for each, folder for logs."""

    folder: Path
    jobs: int
    timeout_s: float


@dataclass(frozen=True)
class Score:
    """How some tests fare against the mutants of one function."""

    tests: str
    function: str
    mutants: int
    killed: int
    equivalent: int

    @property
    def row(self) -> tuple[str, ...]:
        """As `COLUMNS` name it; the share is of the mutants that are not equivalent."""
        counted = self.mutants - self.equivalent
        numbers = (self.mutants, self.killed, self.equivalent, counted - self.killed)
        share = f"{self.killed / counted:.1%}"
        return self.tests, self.function, *map(str, numbers), share


COLUMNS = ("tests", "function", "mutants", "killed", "equivalent", "survived", "score")


def scores_of(tests: str, verdicts: Sequence[Verdict]) -> list[Score]:
    """A score for each function."""
    scores = []
    for function in (*FUNCTIONS, *METHODS):
        mine = [v for v in verdicts if v.mutant.function == function]
        killed = sum(v.killed for v in mine)
        equivalent = sum(v.mutant.key in EQUIVALENTS for v in mine)
        scores.append(Score(tests, function, len(mine), killed, equivalent))
    return scores


def default_arguments() -> list[str]:
    """The suite's own tests, for pytest."""
    return [*TESTS, *(f"--deselect={test}" for test in LEFT_OUT)]


def try_mutants(
    mutants: Sequence[Mutant], arguments: Sequence[str], settings: Settings
) -> Iterator[Verdict]:
    """Each mutant's verdict, as they come.

    Raises:
        CannotMeasure: the tests fail without a mutant, or there are none.
    """
    _require_sound(arguments, settings)
    by_number = dict(enumerate(mutants))
    tasks = [
        Task(
            number,
            lambda mutant=mutant: _test_with(mutant, arguments),  # type: ignore[misc]
            settings.folder / f"{number}.log",
        )
        for number, mutant in by_number.items()
    ]
    for done in run_in_forks(tasks, settings.jobs, settings.timeout_s):
        mutant = by_number[done.key]
        if done.timed_out or done.signal:
            yield Verdict(mutant, True, done.signal or "timed out")
        elif done.result is None:
            raise CannotMeasure(
                f"mutant {mutant.key}: expected a run of pytest, its process died."
                f" Next: read {settings.folder / f'{done.key}.log'}"
            )
        else:
            caught = done.result["caught"]
            yield Verdict(mutant, caught is not None, caught["test"] if caught else "")


def _require_sound(arguments: Sequence[str], settings: Settings) -> None:
    log = settings.folder / "sound.log"
    task = Task("sound", lambda: run_tests(arguments), log)
    (done,) = run_in_forks([task], 1, 10 * settings.timeout_s)
    if done.result is None or done.result["status"] != 0 or not done.result["passed"]:
        raise CannotMeasure(
            f"tests {' '.join(arguments)}: expected them to pass without a mutant, got"
            f" {done.result}. Next: read {log}"
        )


def _test_with(mutant: Mutant, arguments: Sequence[str]) -> dict[str, Any]:
    module: Any = importlib.import_module(MODULE)
    owner = module.AiterAttnBackend if mutant.function in METHODS else module
    install(mutant, module, owner)
    return run_tests(arguments)
