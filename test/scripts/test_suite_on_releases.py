"""What counts as a success on a release: nothing failed, and the release really ran."""

from __future__ import annotations

import importlib.metadata
import os
from collections import Counter
from pathlib import Path
from types import SimpleNamespace

import pytest

from scripts import sample_pages, suite_on_releases
from scripts.release_trees import Tree, own_pins
from scripts.suite_on_releases import Report, read_report

RAN = """<testsuites><testsuite>
<properties><property name="sglang" value="0.5.22 /copy/sglang"/></properties>
<testcase classname="a" name="right"/>
<testcase classname="a" name="right[1]"/>
<testcase classname="a" name="wrong"><failure message="m">E  m</failure></testcase>
<testcase classname="a" name="no_pool"><error message="setup">x</error></testcase>
<testcase classname="a" name="view"><skipped message="no view"/></testcase>
<testcase classname="a" name="view[1]"><skipped message="no view"/></testcase>
</testsuite></testsuites>"""

NOT_IMPORTED = """<testsuites><testsuite>
<testcase classname="" name="test.a"><error message="collection failure">
a.py:1: in module
E   ImportError: no name
</error></testcase></testsuite></testsuites>"""


def written(tmp_path: Path, text: str) -> Path:
    file = tmp_path / "report.xml"
    file.write_text(text)
    return file


def test_report_tells_passed_skipped_and_failed_apart(tmp_path: Path) -> None:
    report = read_report(written(tmp_path, RAN))
    assert report == Report(
        passed=2,
        skipped=Counter({"no view": 2}),
        failed=("a::wrong", "a::no_pool"),
        not_imported=(),
        ran_on="0.5.22 /copy/sglang",
    )
    assert report.problems(1, "0.5.22 /copy/sglang") == [
        "failed: a::wrong",
        "failed: a::no_pool",
    ]


def test_file_that_cannot_be_imported_is_named_with_the_reason(tmp_path: Path) -> None:
    report = read_report(written(tmp_path, NOT_IMPORTED))
    assert report.problems(2, "0.5.22 /copy/sglang") == [
        "cannot be imported: test.a: ImportError: no name",
        "no test passed",
    ]


@pytest.mark.parametrize(
    ("passed", "ran_on", "status", "problem"),
    [
        (5, "0.5.22 /copy", 0, None),
        (0, "0.5.22 /copy", 0, "no test passed"),
        (0, "0.5.22 /copy", 5, "no test passed"),
        (5, "0.5.22 /copy", 3, "pytest ended with status 3"),
        (5, "0.5.23 /venv", 0, "ran on 0.5.23 /venv, not on 0.5.22 /copy"),
        (5, None, 0, "ran on None, not on 0.5.22 /copy"),
    ],
)
def test_success_takes_tests_that_ran_on_the_release(
    passed: int, ran_on: str | None, status: int, problem: str | None
) -> None:
    report = Report(passed, Counter(), (), (), ran_on)
    found = report.problems(status, "0.5.22 /copy")
    assert len(found) == (0 if problem is None else 1), found
    assert problem is None or problem in found[0], found


def test_release_goes_before_what_it_pins_and_what_was_there(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PYTHONPATH", "/before")
    tree = Tree("0.5.22", Path("/copy"), (), None)
    assert tree.environment()["PYTHONPATH"] == os.pathsep.join(["/copy", "/before"])
    tree = Tree("0.5.19", Path("/copy"), ("a==1",), Path("/own"))
    path = tree.environment()["PYTHONPATH"].split(os.pathsep)
    assert path == ["/copy", "/own", "/before"]


def test_own_pins_are_light_and_other_than_the_installed(tmp_path: Path) -> None:
    installed = importlib.metadata.version("tokenizers")
    info = tmp_path / "sglang-0.5.19.dist-info"
    info.mkdir()
    pins = ["transformers==0.0.1", f"tokenizers=={installed}", "torch==0.0.1", "numpy"]
    lines = ["Name: sglang", *(f"Requires-Dist: {pin}" for pin in pins)]
    (info / "METADATA").write_text("\n".join(lines))
    assert own_pins(tmp_path) == ("transformers==0.0.1",)


@pytest.mark.parametrize(
    ("params", "kept"),
    [
        (None, True),
        ({"lens": [7]}, True),
        ({"page_size": 16}, True),
        ({"page_size": 32, "lens": [7]}, False),
        ({"served": 64}, True),
        ({"served": 256}, False),
    ],
)
def test_sample_keeps_its_page_sizes_and_whatever_has_none(
    params: dict[str, object] | None, kept: bool
) -> None:
    deselected: list[object] = []
    hook = SimpleNamespace(pytest_deselected=lambda items: deselected.extend(items))
    call = {} if params is None else {"callspec": SimpleNamespace(params=params)}
    items = [SimpleNamespace(**call)]
    sample_pages.pytest_collection_modifyitems(
        SimpleNamespace(hook=hook),  # type: ignore[arg-type]
        items,  # type: ignore[arg-type]
    )
    assert (len(items), len(deselected)) == ((1, 0) if kept else (0, 1))


def test_release_that_the_overlay_does_not_fit_is_a_failure(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    package = tmp_path / "0.0.1/sglang"
    backend = package / "srt/layers/attention/aiter_backend.py"
    backend.parent.mkdir(parents=True)
    backend.write_text("class AiterAttnBackend:\n    pass\n")
    (package / "_version.py").write_text("__version__ = version = '0.0.1'\n")
    info = package.parent / "sglang-0.0.1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Name: sglang\n")
    status = suite_on_releases.main(["0.0.1", "--folder", str(tmp_path)])
    assert status == suite_on_releases.FAILED
    assert "sglang 0.0.1: refused: " in capsys.readouterr().out
