"""Work in forks of this process, so that what is imported is imported once."""

from __future__ import annotations

import ctypes
import json
import os
import selectors
import signal
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from page_size_eval.serving.leash import PR_SET_PDEATHSIG


@dataclass(frozen=True)
class Task:
    """Something to do in a fork of its own.

    Attributes:
        work: its result is read back as JSON.
        log: file that takes all that the fork prints.
    """

    key: Any
    work: Callable[[], Any]
    log: Path


@dataclass(frozen=True)
class Done:
    """A fork that ended.

    Attributes:
        result: None if it died or was stopped.
        signal: that it died of, by name; "" if of none.
    """

    key: Any
    result: Any
    timed_out: bool
    signal: str
    seconds: float


@dataclass(frozen=True)
class _Running:
    task: Task
    pid: int
    pipe: int
    started: float


def run_in_forks(tasks: Sequence[Task], jobs: int, timeout_s: float) -> Iterator[Done]:
    """Run all tasks, `jobs` at a time, each for `timeout_s` at most; as they end."""
    left = list(reversed(tasks))
    running: dict[int, _Running] = {}
    with selectors.DefaultSelector() as selector:
        try:
            while left or running:
                while left and len(running) < jobs:
                    started = _start(left.pop())
                    running[started.pipe] = started
                    selector.register(started.pipe, selectors.EVENT_READ)
                for fork in _ended(selector, running, timeout_s):
                    selector.unregister(fork.pipe)
                    del running[fork.pipe]
                    yield _finish(fork, timeout_s)
        finally:
            for fork in running.values():
                _stop(fork)


def _start(task: Task) -> _Running:
    task.log.parent.mkdir(parents=True, exist_ok=True)
    read_end, write_end = os.pipe()
    sys.stdout.flush()
    sys.stderr.flush()
    pid = os.fork()
    if pid == 0:
        _work(task, write_end)
    os.close(write_end)
    return _Running(task, pid, read_end, time.monotonic())


def _work(task: Task, write_end: int) -> None:
    """The fork's life; it never returns into the parent's code."""
    status = 1
    try:
        os.setsid()
        # Nothing of a run that is killed outlives it.
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        log = os.open(task.log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
        os.dup2(log, 1)
        os.dup2(log, 2)
        # Not those of the parent, which may be captured.
        sys.stdout, sys.stderr = (os.fdopen(fd, "w", closefd=False) for fd in (1, 2))
        answer = json.dumps(task.work()).encode()
        # Once the answer is read the fork is stopped.
        sys.stdout.flush()
        with os.fdopen(write_end, "wb") as pipe:
            pipe.write(answer)
        status = 0
    except BaseException:
        # The fork ends here whatever it was; the log says what.
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


def _ended(
    selector: selectors.BaseSelector, running: dict[int, _Running], timeout_s: float
) -> list[_Running]:
    """The forks that have answered, ended, or run out of time."""
    now = time.monotonic()
    first = min(fork.started for fork in running.values())
    ready = selector.select(timeout=max(0.0, first + timeout_s - now))
    if ready:
        return [running[key.fd] for key, _ in ready]
    now = time.monotonic()
    return [fork for fork in running.values() if now - fork.started >= timeout_s]


def _finish(fork: _Running, timeout_s: float) -> Done:
    seconds = time.monotonic() - fork.started
    timed_out = seconds >= timeout_s
    answer = b""
    if not timed_out:
        with os.fdopen(fork.pipe, "rb", closefd=False) as pipe:
            answer = pipe.read()
    result = json.loads(answer) if answer else None
    # Without an answer the pipe was closed by the fork's death.
    died_of = "" if answer or timed_out else _await_death(fork)
    _stop(fork)
    return Done(fork.task.key, result, timed_out, died_of, seconds)


def _await_death(fork: _Running) -> str:
    """The name of the signal that the fork died of, "" if it ended by itself."""
    ended = os.waitid(os.P_PID, fork.pid, os.WEXITED | os.WNOWAIT)
    by_signal = ended is not None and ended.si_code != os.CLD_EXITED
    return signal.Signals(ended.si_status).name if ended and by_signal else ""


def _stop(fork: _Running) -> None:
    """End the fork with all that it started."""
    with suppress(ProcessLookupError):
        os.killpg(fork.pid, signal.SIGKILL)
    with suppress(ProcessLookupError):
        os.kill(fork.pid, signal.SIGKILL)
    os.waitpid(fork.pid, 0)
    os.close(fork.pipe)
