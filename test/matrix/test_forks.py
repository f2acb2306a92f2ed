"""Work in forks: results, deaths, time limits, and nothing left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest

from matrix.forks import Done, Task, run_in_forks
from matrix.levels import ROOT


def run(tmp_path: Path, *works: Callable[[], Any], **limits: Any) -> dict[int, Done]:
    tasks = [Task(i, work, tmp_path / f"{i}.log") for i, work in enumerate(works)]
    options = {"jobs": 2, "timeout_s": 60.0} | limits
    return {done.key: done for done in run_in_forks(tasks, **options)}


def require_gone(pid: int) -> None:
    """Fail unless the process has ended; the kernel may need a moment for it."""
    if psutil.pid_exists(pid):
        process = psutil.Process(pid)
        psutil.wait_procs([process], timeout=60)
        assert not process.is_running() or (process.status() == psutil.STATUS_ZOMBIE), (
            process
        )


@pytest.mark.parametrize("jobs", [1, 2, 5])
def test_every_result_comes_back_and_its_output_is_in_its_log(
    tmp_path: Path, jobs: int
) -> None:
    def work(number: int) -> Callable[[], Any]:
        def say() -> dict[str, int]:
            print(f"this is {number}")
            os.write(2, b"and an error\n")
            return {"number": number}

        return say

    done = run(tmp_path, *map(work, range(4)), jobs=jobs)
    assert {key: one.result for key, one in done.items()} == {
        i: {"number": i} for i in range(4)
    }
    for i in range(4):
        assert sorted((tmp_path / f"{i}.log").read_text().splitlines()) == [
            "and an error",
            f"this is {i}",
        ]


def test_results_larger_than_a_pipe_come_back(tmp_path: Path) -> None:
    done = run(tmp_path, lambda: "x" * 2**20)
    assert len(done[0].result) == 2**20


def test_what_raises_or_dies_has_no_result(tmp_path: Path) -> None:
    def crash() -> None:
        os.kill(os.getpid(), signal.SIGSEGV)

    works = (lambda: 1 / 0, lambda: os._exit(0), crash, lambda: "fine")
    done = run(tmp_path, *works)
    assert [done[i].result for i in range(4)] == [None, None, None, "fine"]
    assert [done[i].signal for i in range(4)] == ["", "", "SIGSEGV", ""]
    assert not any(one.timed_out for one in done.values())
    assert "ZeroDivisionError" in (tmp_path / "0.log").read_text()


def test_what_takes_too_long_is_stopped_with_all_that_it_started(
    tmp_path: Path,
) -> None:
    pid_file = tmp_path / "pid"

    def work() -> None:
        sleeper = [sys.executable, "-c", "import time; time.sleep(600)"]
        pid_file.write_text(str(subprocess.Popen(sleeper).pid))
        time.sleep(600)

    done = run(tmp_path, work, lambda: "fine", timeout_s=2.0)
    assert done[0].timed_out and done[0].result is None
    assert done[1].result == "fine"
    require_gone(int(pid_file.read_text()))


def test_no_more_than_asked_for_at_a_time(tmp_path: Path) -> None:
    def work() -> int:
        (tmp_path / f"alive_{os.getpid()}").touch()
        time.sleep(0.2)
        seen = len(list(tmp_path.glob("alive_*")))
        (tmp_path / f"alive_{os.getpid()}").unlink()
        return seen

    done = run(tmp_path, *[work] * 6, jobs=2)
    assert max(one.result for one in done.values()) <= 2


def test_nothing_outlives_a_run_that_is_killed(tmp_path: Path) -> None:
    pid_file = tmp_path / "pid"
    program = f"""
import os, signal, time
from pathlib import Path
from matrix.forks import Task, run_in_forks
def work():
    Path({str(pid_file)!r}).write_text(str(os.getpid()))
    os.kill(os.getppid(), signal.SIGKILL)
    time.sleep(600)
list(run_in_forks([Task(0, work, Path({str(tmp_path / "log")!r}))], 1, 600.0))
"""
    path = ":".join(map(str, (ROOT, ROOT / "python", ROOT / "test")))
    done = subprocess.run(
        [sys.executable, "-c", program], env={"PYTHONPATH": path}, timeout=60
    )
    assert done.returncode == -signal.SIGKILL
    require_gone(int(pid_file.read_text()))
