"""A server's life: started, watched, asked, and gone with its workers."""

from __future__ import annotations

import re
import socket
from pathlib import Path

import psutil
import pytest

from fakes.server import FakeSpec
from page_size_eval.errors import CannotMeasure
from page_size_eval.serving.server import HOST, Server, ServerSpec, pick_port


def spec(tmp_path: Path, mode: str) -> FakeSpec:
    return FakeSpec(
        model=tmp_path,
        page_size=16,
        chunk=256,
        port=pick_port(None),
        log=tmp_path / "server.log",
        mode=mode,
    )


def runs(pid: int) -> bool:
    """Whether a process does, and not as a zombie that nobody has reaped yet."""
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def worker_of(server: Server) -> int:
    found = re.search(r"worker (\d+)", server.spec.log.read_text())
    assert found
    assert runs(int(found[1]))
    return int(found[1])


def test_leaves_no_process_behind(tmp_path: Path) -> None:
    with Server(spec(tmp_path, "sound")) as server:
        server.wait_until_ready(30)
        worker = worker_of(server)
    assert not runs(worker)
    with pytest.raises(OSError):
        socket.create_connection((HOST, server.spec.port), timeout=2)


def test_death_at_start_shows_status_and_log(tmp_path: Path) -> None:
    with (
        Server(spec(tmp_path, "dies-at-start")) as server,
        pytest.raises(CannotMeasure, match=r"(?s)status 1.*no such model") as error,
    ):
        server.wait_until_ready(30)
    assert str(server.spec.log) in str(error.value)


def test_death_while_asked_shows_status_and_log(tmp_path: Path) -> None:
    with Server(spec(tmp_path, "dies-when-asked")) as server:
        server.wait_until_ready(30)
        worker = worker_of(server)
        with pytest.raises(CannotMeasure, match=r"(?s)status 7.*out of memory"):
            server.generate({"text": "?"})
    assert not runs(worker), "orphaned by the server's death"


def test_not_ready_in_time_says_so(tmp_path: Path) -> None:
    with (
        Server(spec(tmp_path, "sound")) as server,
        pytest.raises(CannotMeasure, match="ready within 0 s"),
    ):
        server.wait_until_ready(0)


def test_busy_port_is_refused_before_anything_starts() -> None:
    with socket.create_server((HOST, 0)) as listener:
        port = listener.getsockname()[1]
        with pytest.raises(CannotMeasure, match=rf"port {port} .*expected a free port"):
            pick_port(port)


def test_arguments_never_pass_through_a_shell(tmp_path: Path) -> None:
    hostile = "--served-model-name=$(touch pwned); `id`"
    command = ServerSpec(
        model=tmp_path,
        page_size=16,
        chunk=256,
        port=1,
        log=tmp_path / "log",
        arguments=(hostile,),
    ).command()
    assert command[-1] == hostile
    assert "--host=127.0.0.1" in command
