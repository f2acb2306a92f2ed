"""Killed, out of space, or not allowed to write: each file is old or new."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import sglang_graft
from sglang_graft import AlreadyApplied, Applied, NotApplied, Refused, Reverted

if TYPE_CHECKING:
    from sglang_graft.conftest import Sandbox

_NEW = "srt/layers/attention/aiter_kv_gather.py"
# Backup, manifest, new file, spliced file.
_STEPS = 4
_PYTHON = Path(sglang_graft.__file__).parents[1]


class _Killed(BaseException):
    """Ends a process as a kill does: nothing catches it, nothing cleans up."""


def _failing(call: Callable[..., Any], nth: int, error: BaseException) -> Any:
    """`call`, which raises at its nth call and at all later ones."""
    count = 0

    def run(*args: Any, **kwargs: Any) -> Any:
        nonlocal count
        count += 1
        if count >= nth:
            raise error
        return call(*args, **kwargs)

    return run


@pytest.fixture
def with_new_file(sandbox: Sandbox) -> Sandbox:
    sandbox.make_overlay(sandbox.text("overlay"), {_NEW: "GATHER = 1\n"})
    return sandbox


def _assert_each_file_is_old_or_new(sandbox: Sandbox) -> None:
    spliced = sandbox.backend.read_text()
    assert spliced in (sandbox.text("inline"), sandbox.text("inline_grafted"))
    new = sandbox.package / _NEW
    assert not new.exists() or new.read_text() == "GATHER = 1\n"


def _assert_recovers(sandbox: Sandbox, finish: str) -> None:
    if finish == "apply":
        assert isinstance(sandbox.apply(), Applied | AlreadyApplied)
        assert sandbox.backend.read_text() == sandbox.text("inline_grafted")
        assert (sandbox.package / _NEW).read_text() == "GATHER = 1\n"
        assert sandbox.status().state == "grafted"
    outcome = sandbox.revert()
    assert isinstance(outcome, Reverted | NotApplied), outcome
    assert sandbox.backend.read_text() == sandbox.text("inline")
    assert not sandbox.state.exists()
    assert not list(sandbox.package.rglob("*.tmp"))
    assert not (sandbox.package / _NEW).exists()


@pytest.mark.parametrize("finish", ["apply", "revert"])
@pytest.mark.parametrize("step", range(1, _STEPS + 1))
def test_killed_apply_is_understood(
    with_new_file: Sandbox, monkeypatch: pytest.MonkeyPatch, step: int, finish: str
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", _failing(os.replace, step, _Killed()))
        with pytest.raises(_Killed):
            with_new_file.apply()
    _assert_each_file_is_old_or_new(with_new_file)
    state = with_new_file.status().state
    assert state == ("not applied" if step <= 2 else "half applied")
    _assert_recovers(with_new_file, finish)


@pytest.mark.parametrize("finish", ["apply", "revert"])
@pytest.mark.parametrize("call", ["replace", "unlink", "rmdir"])
def test_killed_revert_is_understood(
    with_new_file: Sandbox, monkeypatch: pytest.MonkeyPatch, call: str, finish: str
) -> None:
    with_new_file.apply()
    with monkeypatch.context() as patch:
        patch.setattr(os, call, _failing(getattr(os, call), 1, _Killed()))
        with pytest.raises(_Killed):
            with_new_file.revert()
    _assert_each_file_is_old_or_new(with_new_file)
    _assert_recovers(with_new_file, finish)


@pytest.mark.parametrize("step", range(1, 5))
def test_killed_second_graft_is_understood(
    with_new_file: Sandbox, monkeypatch: pytest.MonkeyPatch, step: int
) -> None:
    with_new_file.apply()
    changed = with_new_file.text("overlay").replace("_note", "_note_batch")
    with_new_file.make_overlay(changed, {_NEW: "GATHER = 2\n"})
    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", _failing(os.replace, step, _Killed()))
        with pytest.raises(_Killed):
            with_new_file.apply()
    assert with_new_file.status().state in ("grafted", "half applied")
    assert isinstance(with_new_file.apply(), Applied)
    assert "_note_batch" in with_new_file.backend.read_text()
    assert (with_new_file.package / _NEW).read_text() == "GATHER = 2\n"
    with_new_file.revert()
    _assert_recovers(with_new_file, "revert")


@pytest.mark.parametrize("step", range(1, _STEPS + 1))
def test_real_kill_is_understood(with_new_file: Sandbox, step: int) -> None:
    script = f"""
import os, signal, sys
from pathlib import Path
import sglang_graft
calls, replace = 0, os.replace
def kill_at_the_nth(*paths):
    global calls
    calls += 1
    if calls == {step}:
        os.kill(os.getpid(), signal.SIGKILL)
    replace(*paths)
os.replace = kill_at_the_nth
sglang_graft.apply(Path(sys.argv[1]), (), Path(sys.argv[2]))
"""
    folders = map(str, (with_new_file.package, with_new_file.overlay))
    ended = subprocess.run([sys.executable, "-c", script, *folders], cwd=_PYTHON)
    assert ended.returncode == -signal.SIGKILL
    _assert_each_file_is_old_or_new(with_new_file)
    _assert_recovers(with_new_file, "apply")


@pytest.mark.parametrize("step", range(1, _STEPS + 1))
@pytest.mark.parametrize("call", ["replace", "fsync"])
def test_full_disk_leaves_the_target_as_it_was(
    with_new_file: Sandbox, monkeypatch: pytest.MonkeyPatch, call: str, step: int
) -> None:
    before = with_new_file.snapshot()
    full = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "file")
    once = _raising_once(getattr(os, call), step, full)
    with monkeypatch.context() as patch:
        patch.setattr(os, call, once)
        outcome = with_new_file.apply()
    assert isinstance(outcome, Refused), outcome
    assert "No space left" in outcome.reason
    assert {p: c[0] for p, c in with_new_file.snapshot().items()} == {
        p: c[0] for p, c in before.items()
    }
    assert not with_new_file.state.exists()
    assert isinstance(with_new_file.apply(), Applied)


def test_failed_undo_is_reported_and_can_be_finished(
    with_new_file: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    full = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "file")
    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", _failing(os.replace, 4, full))
        # Before and after the writes each temporary file is removed: that makes 8.
        patch.setattr(Path, "unlink", _failing(Path.unlink, 9, full))
        outcome = with_new_file.apply()
    assert isinstance(outcome, Refused), outcome
    assert "could not be undone" in outcome.reason, outcome
    _assert_each_file_is_old_or_new(with_new_file)
    _assert_recovers(with_new_file, "apply")


def _raising_once(call: Callable[..., Any], nth: int, error: OSError) -> Any:
    count = 0

    def run(*args: Any, **kwargs: Any) -> Any:
        nonlocal count
        count += 1
        if count == nth:
            raise error
        return call(*args, **kwargs)

    return run


@contextmanager
def _without_privileges() -> Iterator[None]:
    """Root may write anywhere: be nobody for a while."""
    user = os.geteuid()
    if user == 0:
        os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(user)


@pytest.mark.parametrize("folder", [".", "srt/layers/attention"])
def test_read_only_target_is_refused(sandbox: Sandbox, folder: str) -> None:
    # pytest's own temporary folder is closed to others.
    with tempfile.TemporaryDirectory() as root:
        Path(root).chmod(0o755)
        box = type(sandbox)(Path(root))
        box.make_target(sandbox.text("inline"))
        box.make_overlay(sandbox.text("overlay"))
        box.package.chmod(0o777)
        (box.package / folder).chmod(0o555)
        before = box.snapshot()
        with _without_privileges():
            outcome = box.apply()
        assert isinstance(outcome, Refused), outcome
        assert "Permission denied" in outcome.reason
        assert "nothing was changed" in outcome.reason
        assert "writable" in outcome.next_step
        assert box.snapshot() == before
        assert not box.state.exists()
        for path in (box.package, box.package / folder):
            path.chmod(0o755)
