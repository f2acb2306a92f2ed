"""What a matrix says of the suite, in words, as a table and in the store."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from matrix import cells, report, runs
from matrix.cells import KILLED, NOT_REACHED, SURVIVED, Cell, objections, totals
from matrix.levels import LEVELS

NAMES = ["helper", "producers", "engine"]
STORY = '"""Reads the wrong page.\n\nMore of it.\n"""\n'
TEST = "test/a/test_b.py::test_reads_the_page[16]"


@pytest.fixture(autouse=True)
def catalogue(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, rest in (("plain", ""), ("excused", 'SURVIVES = "no test is so fine"\n')):
        (tmp_path / f"{name}.py").write_text(STORY + rest)
    monkeypatch.setattr(cells, "CATALOGUE", tmp_path)
    return tmp_path


def row(*outcomes: str) -> dict[str, Cell]:
    made = [Cell(o, TEST if o == KILLED else "", passed=3) for o in outcomes]
    return dict(zip(NAMES, made, strict=True))


def test_killed_below_the_engine_is_well() -> None:
    assert not objections({"plain": row(NOT_REACHED, KILLED, SURVIVED)})


def test_survivor_without_a_reason_is_not() -> None:
    (objection,) = objections({"plain": row(SURVIVED, NOT_REACHED, KILLED)})
    assert objection.startswith("plain: survives every level below the engine (helper,")
    assert "SURVIVES" in objection


def test_survivor_with_a_reason_is_well() -> None:
    assert not objections({"excused": row(SURVIVED, SURVIVED, KILLED)})


def test_a_reason_for_what_is_killed_is_out_of_date() -> None:
    (objection,) = objections({"excused": row(KILLED, SURVIVED, SURVIVED)})
    assert "out of date" in objection and TEST in objection


def test_totals_count_each_outcome_of_a_level() -> None:
    rows = {
        "plain": row(KILLED, NOT_REACHED, SURVIVED),
        "excused": row(SURVIVED, NOT_REACHED, SURVIVED),
    }
    assert totals(rows, NAMES)["helper"] == {
        KILLED: 1,
        SURVIVED: 1,
        NOT_REACHED: 0,
    }
    assert totals(rows, NAMES)["producers"][NOT_REACHED] == 2


def test_markdown_has_the_story_and_the_first_killer() -> None:
    rows = {
        "plain": row(NOT_REACHED, KILLED, KILLED),
        "excused": row(SURVIVED, NOT_REACHED, SURVIVED),
    }
    lines = report.markdown(rows, NAMES).splitlines()
    assert lines[2:] == [
        "| `excused` | survived | - | survived | Reads the wrong page."
        " | no test is so fine |",
        "| `plain` | - | killed | killed | Reads the wrong page."
        " | `test_reads_the_page` |",
        "| killed of reached | 0 of 1 | 1 of 1 | 1 of 2 | | |",
    ]


def test_json_has_every_cell() -> None:
    rows = {"plain": row(NOT_REACHED, KILLED, KILLED)}
    document = json.loads(report.as_json(rows, {"helper": 9}))
    assert document["tests"] == {"helper": 9}
    assert document["defects"]["plain"]["producers"]["test"] == TEST


def test_store_keeps_cells_of_the_same_code_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "cells.jsonl"
    cell = Cell(KILLED, TEST, "AssertionError", 3, 1.5)
    helper, producers = LEVELS[:2]
    code = {"plain": "a", "excused": "b"}
    monkeypatch.setattr(runs, "fingerprint", lambda d, level: code[d] + level.name)
    runs.Store(path).put("plain", helper, cell)
    assert runs.Store(path).get("plain", helper) == cell
    assert runs.Store(path).get("plain", producers) is None
    assert runs.Store(path).get("excused", helper) is None
    code["plain"] = "edited"
    assert runs.Store(path).get("plain", helper) is None


def test_code_of_a_cell_is_the_defect_the_levels_tests_and_what_they_test() -> None:
    helper, producers = LEVELS[:2]
    codes = {
        runs.fingerprint(defect, level)
        for defect in ("page_granular", "k_rows_for_v")
        for level in (helper, producers)
    }
    assert len(codes) == 4
