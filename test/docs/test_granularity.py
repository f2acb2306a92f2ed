"""The page of tables is what the declarations and the releases' sources say."""

from __future__ import annotations

import ast
import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from docs.pages import ROOT
from producers.contract import TABLES
from scripts.fetch_releases import RELEASES
from scripts.granularity_tables import BY_READING, SINCE

SCRIPT = ROOT / "scripts/write_granularity.py"
PAGE = ROOT / "docs/metadata-granularity.md"
BACKEND = "srt/layers/attention/aiter_backend.py"
# The last release without the context-chunk branch is not on the page.
SERVED = tuple(version for version in RELEASES if version != "0.5.18")
FOLDER = os.environ.get("SGLANG_RELEASES")


def identifiers(source: str) -> set[str]:
    """Every name that a module defines, reads, imports or passes by keyword."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        for field in ("id", "attr", "name", "arg", "asname"):
            value = getattr(node, field, None)
            if isinstance(value, str):
                found.add(value)
    return found


def test_page_is_as_it_would_be_written() -> None:
    done = subprocess.run(
        [sys.executable, str(SCRIPT), "--check"], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_table_has_its_releases() -> None:
    names = [table.name for table in (*TABLES, *BY_READING)]
    assert len(set(names)) == len(names)
    assert set(names) == set(SINCE)


def test_functions_that_change_a_unit_are_in_the_installed_sglang() -> None:
    section = PAGE.read_text().partition("## Where a unit changes")[2]
    named = set(re.findall(r"^\| `(\w+)` \|", section, re.M))
    assert len(named) == 4
    spec = importlib.util.find_spec("sglang")
    assert spec is not None and spec.origin is not None
    backend = Path(spec.origin).parent / BACKEND
    assert named <= identifiers(backend.read_text()), named


@pytest.mark.skipif(FOLDER is None, reason="needs SGLANG_RELEASES: make test-releases")
@pytest.mark.parametrize("version", SERVED)
def test_a_release_has_a_table_from_the_named_one_on(version: str) -> None:
    assert FOLDER is not None
    known = identifiers((Path(FOLDER) / version / "sglang" / BACKEND).read_text())
    wrong = []
    for table, parts in SINCE.items():
        for since in parts:
            there = known >= set(since.names)
            if there is not (SERVED.index(version) >= SERVED.index(since.release)):
                missing = sorted(set(since.names) - known)
                wrong.append(f"{table}: since {since.release}, missing {missing}")
    assert not wrong, f"sglang {version}: {wrong}"


def test_identifiers_are_names_of_every_kind() -> None:
    assert identifiers("def f(a=1): b.c(d=2)") == {"f", "a", "b", "c", "d"}
