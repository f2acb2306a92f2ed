"""The stage-b script on a checkout whose own runner records how it was called."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from scripts.ci import run_registered

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "scripts/ci/amd_stage_b.sh"
SUITES = {
    "stage-b-test-1-gpu-small-amd": ["attention/test_aiter_asm_prefill_gather.py"],
    "stage-b-test-1-gpu-small-amd-mi35x": ["amd/test_asm_context_prefill_page_size.py"],
}
BACKEND = "srt/layers/attention/aiter_backend.py"
# Fails the suite that FAKE_FAILING names, with the status of SGLang's own.
RUN_SUITE = """
import json, os, pathlib, sys
import sglang
here = pathlib.Path(__file__).parent
backend = pathlib.Path(sglang.__file__).parent / "srt/layers/attention/aiter_backend.py"
calls = pathlib.Path(os.environ["FAKE_CALLS"])
call = {
    "arguments": sys.argv[1:],
    "environment": dict(os.environ),
    "files": sorted(str(f.relative_to(here)) for f in here.rglob("*.py")),
    "grafted": "_asm_context_prefill_fallback" in backend.read_text(),
}
with calls.open("a") as file:
    file.write(json.dumps(call) + "\\n")
sys.exit(255 if os.environ.get("FAKE_FAILING") in sys.argv else 0)
"""


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A checkout's package with what the graft and the runner look at."""
    spec = importlib.util.find_spec("sglang")
    assert spec is not None and spec.origin is not None
    installed = Path(spec.origin).parent
    package = tmp_path / "checkout/python/sglang"
    backup = installed / ".sglang_graft/backup" / BACKEND
    original = backup if backup.exists() else installed / BACKEND
    for path, source in {
        BACKEND: original,
        "_version.py": installed / "_version.py",
        "test/ci/ci_register.py": installed / "test/ci/ci_register.py",
    }.items():
        (package / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source, package / path)
    for folder in (package, package / "test", package / "test/ci"):
        (folder / "__init__.py").touch()
    runner = tmp_path / "checkout/test/run_suite.py"
    runner.parent.mkdir()
    runner.write_text(RUN_SUITE)
    return package


def stage_b(
    tmp_path: Path, *arguments: str, **environment: str
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [
            *("bash", str(SCRIPT), "--python", sys.executable),
            *("--artifacts", "artifacts", "--checkout", "checkout", *arguments),
        ],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "FAKE_CALLS": str(tmp_path / "calls"), **environment},
    )


def calls(tmp_path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (tmp_path / "calls").read_text().splitlines()]


def test_runs_both_suites_on_the_fork_and_puts_sglang_back(
    tmp_path: Path, package: Path
) -> None:
    before = (package / BACKEND).read_bytes()
    done = stage_b(tmp_path, "--reference")
    assert done.returncode == 0, done.stderr
    made = calls(tmp_path)
    asked = [call["arguments"][:4] for call in made]
    assert asked == [["--hw", "amd", "--suite", suite] for suite in SUITES]
    registered = [f"registered/{file}" for files in SUITES.values() for file in files]
    for call in made:
        assert call["grafted"]
        assert call["files"] == sorted([*registered, "run_suite.py"])
        expected = {
            "SGLANG_IS_IN_CI": "1",
            "SGLANG_IS_IN_CI_AMD": "1",
            "SGLANG_USE_AITER": "1",
            "SGLANG_ENABLE_ASYNC_ASSERT": "0",
            "SGLANG_SANITIZE_NAN_LOGITS": "0",
            "SGLANG_PLATFORM": "gfx950_reference",
            "TRITON_INTERPRET": "1",
        }
        found = {name: call["environment"].get(name) for name in expected}
        assert found == expected
    assert (package / BACKEND).read_bytes() == before
    assert not (package / ".sglang_graft").exists()
    artifacts = tmp_path / "artifacts"
    assert "_asm_context_prefill_fallback" in (artifacts / "graft.diff").read_text()
    assert "graft         grafted" in (artifacts / "env.md").read_text()
    assert "applied to sglang" in (artifacts / "graft.txt").read_text()
    summary = (artifacts / "summary.txt").read_text().splitlines()
    assert [line.rpartition(",")[0] for line in summary] == [
        f"{suite}: passed, 1 file(s)" for suite in SUITES
    ]


def test_failing_suite_is_exit_1_and_the_next_one_still_runs(
    tmp_path: Path, package: Path
) -> None:
    """A graft that was there before stays."""
    environment = {**os.environ, "PYTHONPATH": str(package.parent)}
    apply = [sys.executable, "-m", "sglang_graft", "apply"]
    subprocess.run(apply, check=True, env=environment, capture_output=True)
    failing = next(iter(SUITES))
    done = stage_b(tmp_path, FAKE_FAILING=failing)
    assert done.returncode == 1, done.stderr
    assert len(calls(tmp_path)) == len(SUITES)
    assert f"{failing}: failed" in (tmp_path / "artifacts/summary.txt").read_text()
    assert (package / ".sglang_graft/manifest.json").exists()


def test_suite_without_a_test_is_refused(tmp_path: Path, package: Path) -> None:
    """SGLang's runner passes such a suite."""
    done = stage_b(tmp_path, "--reference", "--suite", "stage-b-test-1-gpu-smal-amd")
    assert done.returncode == 2
    assert "found none. Next: compare the name" in done.stderr
    assert not (tmp_path / "calls").exists()
    assert not (package / ".sglang_graft").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--hardware"], "expected a gfx950, found"),
        (["--checkout", "elsewhere"], "expected test/run_suite.py"),
        (["--python", "no_python"], "expected an interpreter"),
        (["--suite"], "expected a value"),
        (["--suites"], "expected an option"),
    ],
)
def test_refusals(
    tmp_path: Path, package: Path, arguments: list[str], message: str
) -> None:
    done = stage_b(tmp_path, *arguments)
    assert done.returncode == 2
    assert message in done.stderr
    assert not (tmp_path / "artifacts").exists()


@pytest.mark.parametrize("suite", SUITES)
def test_runner_finds_what_sglang_would_run(suite: str) -> None:
    found = run_registered.collect(run_registered.REGISTERED, suite)
    files = [Path(test.filename) for test in found]
    assert [
        str(file.relative_to(run_registered.REGISTERED)) for file in files
    ] == SUITES[suite]
    assert all(0 < test.est_time <= 60 for test in found), found


@pytest.fixture
def registered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file that is registered and does not run."""
    python = Path(sys.executable).parent
    monkeypatch.setenv("PATH", f"{python}:{os.environ['PATH']}")
    file = tmp_path / "test_one.py"
    file.write_text(
        "def register_amd_ci(**registration): pass\n"
        "register_amd_ci(est_time=1, suite='some-suite')\n"
    )
    return file


def run(file: Path) -> int:
    folder = ["--folder", str(file.parent), "--suite", "some-suite"]
    return run_registered.main(folder)


@pytest.mark.parametrize(("body", "status"), [("pass", 0), ("sys.exit(3)", 1)])
def test_runner_runs_each_file_as_a_script(
    registered: Path, body: str, status: int
) -> None:
    ran = registered.with_name("ran")
    with registered.open("a") as file:
        file.write(
            "if __name__ == '__main__':\n"
            "    import pathlib, sys\n"
            f"    pathlib.Path({str(ran)!r}).write_text(' '.join(sys.argv[1:]))\n"
            f"    {body}\n"
        )
    assert run(registered) == status
    assert ran.read_text() == "-f"


def test_runner_refuses_a_file_that_would_pass_without_running(
    registered: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(registered) == run_registered.NOTHING_TO_RUN
    said = capsys.readouterr().err
    assert "__main__" in said and "Next:" in said
