"""What came of a defect at a level of the suite, and what that means for the suite."""

from __future__ import annotations

import runpy
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from matrix.levels import ENGINE, LEVELS
from page_size_eval.defect import CATALOGUE

KILLED, SURVIVED, NOT_REACHED = "killed", "survived", "not reached"
REASON = "SURVIVES"
"""Constant of a defect's file: why no level below the engine can see it."""


@dataclass(frozen=True)
class Cell:
    """One defect at one level.

    Attributes:
        outcome: killed by a test, survived all, or no test calls what it replaces.
        test: the first that failed.
        error: the exception it failed with.
        passed: tests that passed before it did, or all.
    """

    outcome: str
    test: str = ""
    error: str = ""
    passed: int = 0
    seconds: float = 0.0

    def as_json(self) -> dict[str, Any]:
        return asdict(self)

    @property
    def killer(self) -> str:
        """The test, without its folders and parameters, or what ended the process."""
        return self.test.rpartition("::")[2].partition("[")[0] or self.error


Row = Mapping[str, Cell]


def reason_for(defect: str) -> str | None:
    """Why the defect survives below the engine, if its file says so."""
    reason = runpy.run_path(str(CATALOGUE / f"{defect}.py")).get(REASON)
    return None if reason is None else str(reason)


def summary_of(defect: str) -> str:
    """The first line of its story."""
    story = runpy.run_path(str(CATALOGUE / f"{defect}.py"))["__doc__"]
    return str(story).strip().splitlines()[0]


def objections(rows: Mapping[str, Row]) -> list[str]:
    """What is wrong with the suite or the catalogue, in words; nothing if all is well.

    A defect has to be killed below the engine, or to say why it is not. One that says
    so and is killed all the same says it wrongly.
    """
    found = []
    for defect, row in rows.items():
        below = [level for level in row if level != ENGINE.name]
        killed = [level for level in below if row[level].outcome == KILLED]
        reason = reason_for(defect)
        if not killed and reason is None:
            found.append(
                f"{defect}: survives every level below the engine ({', '.join(below)});"
                f" expected a test to fail, or {REASON} in its file"
            )
        if killed and reason is not None:
            by = row[killed[0]].test
            found.append(f"{defect}: {REASON} is out of date, {by} kills it")
    return found


def totals(rows: Mapping[str, Row], levels: Sequence[str]) -> dict[str, dict[str, int]]:
    """For each level how many defects were killed, survived, and were not reached."""
    outcomes = (KILLED, SURVIVED, NOT_REACHED)
    return {
        level: {
            outcome: sum(row[level].outcome == outcome for row in rows.values())
            for outcome in outcomes
        }
        for level in levels
    }


LEVEL_NAMES = [level.name for level in (*LEVELS, ENGINE)]
