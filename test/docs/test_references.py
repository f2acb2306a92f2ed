"""Links, paths and tests that the pages name are there."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

from docs import pages
from docs.pages import PAGES, ROOT

# Only after nothing that makes it the end of a longer path.
PATH = re.compile(
    r"(?<![\w/.~$}-])((?:python|test|scripts|benchmark|docs|\.ci|\.github)/[\w./*-]*)"
)
# SGLang's own files, named as such.
UPSTREAM = frozenset(
    {
        "scripts/ci/amd/amd_ci_exec.sh",
        "test/lm_eval_configs/",
        "test/run_suite.py",
    }
)
TEST_ID = re.compile(r"([\w/]+\.py)::([\w:]+)")


@cache
def functions_by_file() -> dict[str, set[str]]:
    """Functions and classes of every test file, by the file's path in test/."""
    found = {}
    for path in sorted((ROOT / "test").rglob("test_*.py")):
        tree = ast.parse(path.read_text())
        kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
        names = {node.name for node in ast.walk(tree) if isinstance(node, kinds)}
        found[path.relative_to(ROOT).as_posix()] = names
    return found


@pytest.mark.parametrize("page", PAGES, ids=pages.name_of)
def test_links_lead_somewhere(page: Path) -> None:
    broken = []
    for link in pages.links(page.read_text()):
        path, _, anchor = link.partition("#")
        target = page.parent / path if path else page
        if not target.exists() or (
            anchor and anchor not in pages.anchors(target.read_text())
        ):
            broken.append(link)
    assert not broken, f"{page.name}: {broken}"


@pytest.mark.parametrize("page", PAGES, ids=pages.name_of)
def test_paths_exist(page: Path) -> None:
    named = {path.rstrip(".") for path in PATH.findall(page.read_text())}
    missing = [path for path in named - UPSTREAM if not any(ROOT.glob(path))]
    assert not missing, f"{page.name}: {missing}"


@pytest.mark.parametrize("page", PAGES, ids=pages.name_of)
def test_named_tests_exist(page: Path) -> None:
    """As test_file.py, test_file.py::test_name, or test_name alone."""
    files = functions_by_file()
    by_name = {Path(path).name: names for path, names in files.items()}
    functions = set().union(*files.values())
    wrong = []
    for span in pages.code_spans(page.read_text()):
        if found := TEST_ID.fullmatch(span.partition("[")[0]):
            path, name = found[1], found[2].rpartition(":")[2]
            names = files.get(path) or by_name.get(Path(path).name, set())
            known = name in names
        elif re.fullmatch(r"test_\w+\.py", span):
            known = span in by_name
        elif re.fullmatch(r"test_\w+", span):
            known = span in functions or f"{span}.py" in by_name
        else:
            continue
        if not known:
            wrong.append(span)
    assert not wrong, f"{page.name}: {wrong}"


def test_a_wrong_reference_is_seen(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "# One title\n[a](nowhere.md) [b](#one-title) [c](#other)\n"
        "see `test/overlay/test_none.py` and `test_none.py`,"
        " `test/overlay/test_counts.py::test_none`, `test_none`\n"
    )
    for check in (test_links_lead_somewhere, test_paths_exist, test_named_tests_exist):
        with pytest.raises(AssertionError, match="page.md"):
            check(page)


def test_every_finding_names_a_test_or_is_not_shown() -> None:
    page = ROOT / "docs/upstream/findings.md"
    sections = re.split(r"^## ", page.read_text(), flags=re.M)[1:]
    numbered = [section for section in sections if re.match(r"\d+\. ", section)]
    assert len(numbered) > 10
    files = {Path(path).name for path in functions_by_file()}
    without = [
        section.splitlines()[0]
        for section in numbered
        if not set(re.findall(r"test_\w+\.py", section)) & files
        and "not shown" not in section
    ]
    assert not without, without
