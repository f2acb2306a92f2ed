"""Bad input to the script: a clear message, no traceback, exit status 2, no score."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from page_size_eval.serving.hardware import CPU

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "scripts" / "gsm8k_page_size.py"


def run(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(SCRIPT), *arguments],
        capture_output=True,
        text=True,
        timeout=300,
        env={**os.environ, **CPU.environment, **environment},
    )


def assert_refused(done: subprocess.CompletedProcess[str], *parts: str) -> None:
    said = " ".join((done.stdout + done.stderr).split())
    assert done.returncode == 2, said
    assert "Traceback" not in said, said
    assert "cannot measure" in said, said
    for part in (*parts, "Next:"):
        assert part in said, (part, said)
    assert "exact_match" not in done.stdout and "strict" not in done.stdout


@pytest.mark.parametrize("page", ["17", "0", "-16", "abc", "16 17"])
def test_unknown_page_size(page: str, tmp_path: Path) -> None:
    done = run(f"--page={page}", f"--output={tmp_path}")
    assert_refused(done, "page size", "PAGE=16")


def test_missing_model_folder(tmp_path: Path) -> None:
    done = run("--model", str(tmp_path / "none"), f"--output={tmp_path}")
    assert_refused(done, str(tmp_path / "none"), "config.json")


def test_busy_port(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = str(listener.getsockname()[1])
        assert_refused(run("--port", port, f"--output={tmp_path}"), port, "free port")


def test_unknown_defect_lists_the_catalogue(tmp_path: Path) -> None:
    done = run("--defect", "nonsense", f"--output={tmp_path}")
    assert_refused(done, "nonsense", "page_granular")


def test_output_folder_that_cannot_be_written(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    assert_refused(run(f"--output={blocked / 'results'}"), str(blocked))


def test_server_that_dies_shows_its_log_and_leaves_nothing(tmp_path: Path) -> None:
    before = {p.pid for p in psutil.process_iter()}
    done = run("--args=--no-such-flag", f"--output={tmp_path}")
    assert_refused(done, "ended with status", "server_page_1.log", "no-such-flag")
    left = [
        p.info
        for p in psutil.process_iter(["pid", "cmdline"])
        if p.pid not in before
        and any("sglang.launch" in word for word in p.info["cmdline"] or ())
    ]
    assert not left


def test_sglang_that_cannot_be_grafted(tmp_path: Path) -> None:
    """A release without the context-chunk branch, found before the installed one."""
    package = tmp_path / "path" / "sglang"
    backend = package / "srt/layers/attention/aiter_backend.py"
    backend.parent.mkdir(parents=True)
    (package / "__init__.py").write_text("")
    backend.write_text(
        "class AiterAttnBackend:\n    def forward_extend(self):\n        pass\n"
    )
    done = run(f"--output={tmp_path / 'out'}", PYTHONPATH=str(package.parent))
    assert_refused(done, "cannot be grafted", "aiter_backend.py")
