"""One SGLang server: started, waited for, read back, and stopped with its workers."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Self

import psutil
import requests

from page_size_eval.errors import CannotMeasure, ServerDied
from page_size_eval.serving import leash
from page_size_eval.serving.endpoint import Endpoint

HOST = "127.0.0.1"
START_TIMEOUT_S = 1800.0
STOP_POLL_S = 0.2
LOG_TAIL_LINES = 25
LOG_LINE_CHARACTERS = 300
FULL_DISK_BYTES = 2**16


@dataclass(frozen=True)
class ServerSpec:
    """What a server is started with."""

    model: Path
    page_size: int
    chunk: int
    port: int
    log: Path
    arguments: Sequence[str] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    # Tells this server from another one that took the port first.
    name: str = field(default_factory=lambda: uuid.uuid4().hex)

    def command(self) -> list[str]:
        """The argument vector; nothing of it passes through a shell."""
        return [
            sys.executable,
            "-m",
            "sglang.launch_server",
            f"--model-path={self.model}",
            f"--page-size={self.page_size}",
            f"--chunked-prefill-size={self.chunk}",
            "--attention-backend=aiter",
            "--kv-cache-dtype=fp8_e4m3",
            f"--served-model-name={self.name}",
            f"--host={HOST}",
            f"--port={self.port}",
            "--enable-metrics",
            "--random-seed=1234",
            *self.arguments,
        ]


def pick_port(requested: int | None) -> int:
    """`requested` if it is free, or any free port.

    Raises:
        CannotMeasure: the requested port is taken.
    """
    with socket.socket() as probe:
        # As the server itself binds: a port in TIME_WAIT is free.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, requested or 0))
        except OSError as error:
            raise CannotMeasure(
                f"port {requested} on {HOST}: expected a free port, got"
                f" {error.strerror}. Next: stop what listens there, or leave PORT out"
                " and a free one is taken"
            ) from error
        return int(probe.getsockname()[1])


class Server(Endpoint):
    """A running server; a context manager, so that it never outlives its block."""

    def __init__(self, spec: ServerSpec) -> None:
        super().__init__(f"http://{HOST}:{spec.port}")
        self.spec = spec
        self._process: subprocess.Popen[bytes] | None = None
        # SGLang leaves sockets and metric files in its temporary folder.
        self._scratch = tempfile.TemporaryDirectory(prefix="sglang-")

    def __enter__(self) -> Self:
        self.spec.log.parent.mkdir(parents=True, exist_ok=True)
        with self.spec.log.open("wb") as log:
            self._process = subprocess.Popen(
                [sys.executable, leash.__file__, str(os.getpid())]
                + self.spec.command(),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                env={
                    **os.environ,
                    "TMPDIR": self._scratch.name,
                    # Counters of this server alone, whatever the user's shell has.
                    "PROMETHEUS_MULTIPROC_DIR": self._scratch.name,
                    **self.spec.environment,
                },
                # Ctrl-C reaches this process alone, which then stops the server.
                start_new_session=True,
            )
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    def wait_until_ready(
        self,
        timeout_s: float = START_TIMEOUT_S,
        waiting: Callable[[float], None] = lambda seconds: None,
    ) -> None:
        """Block until the server has generated a token; `waiting` gets the seconds.

        Raises:
            ServerDied: it ended.
            CannotMeasure: it was not ready in time.
        """
        started = time.monotonic()
        while (elapsed := time.monotonic() - started) < timeout_s:
            self.require_alive()
            try:
                if self._http.get(f"{self.url}/health_generate", timeout=30).ok:
                    return
            except requests.RequestException:
                pass  # not listening yet: the process itself is watched above
            waiting(elapsed)
            time.sleep(0.5)
        raise CannotMeasure(
            f"server at page size {self.spec.page_size}: expected to be ready within"
            f" {timeout_s:.0f} s, it is not. {self._log_tail()}"
        )

    def require_alive(self) -> None:
        """Raise ServerDied, with the end of the log, if the server has ended."""
        status = None if self._process is None else self._process.poll()
        if status is not None:
            raise ServerDied(
                f"server at page size {self.spec.page_size}: expected to be running,"
                f" it ended with status {status}. {self._log_tail()}"
            )

    def stop(self) -> None:
        """End the server and every process it started."""
        if self._process is None:
            return
        # Killed, as by SGLang's own tests: told to end, it drains for 10 s, and there
        # is nothing left to drain.
        while family := _session(self._process.pid):
            for process in family:
                with suppress(psutil.NoSuchProcess):
                    process.kill()
            psutil.wait_procs(family, timeout=STOP_POLL_S)
        self._process.wait()
        self._process = None
        self._http.close()
        self._scratch.cleanup()

    def _notice(self, error: requests.RequestException) -> None:
        # A server that just died takes a moment to be seen as ended.
        with suppress(subprocess.TimeoutExpired):
            if self._process and isinstance(error, requests.ConnectionError):
                self._process.wait(timeout=5)
        self.require_alive()

    def _advice(self) -> str:
        return self._log_tail()

    def _log_tail(self) -> str:
        log = self.spec.log
        lines = log.read_text(errors="replace").splitlines()[-LOG_TAIL_LINES:]
        tail = "\n  ".join(line[:LOG_LINE_CHARACTERS] for line in lines)
        full = shutil.disk_usage(log.parent).free < FULL_DISK_BYTES
        room = f"make room, the disk of {log.parent} is full; then " if full else ""
        return f"Next: {room}read {log}, which ends with\n  {tail}"


def _session(leader: int) -> list[psutil.Process]:
    """What still runs of the session that `leader` opened; it may be gone itself."""
    members = []
    for process in psutil.process_iter():
        with suppress(ProcessLookupError, PermissionError, psutil.NoSuchProcess):
            ended = process.status() == psutil.STATUS_ZOMBIE
            if os.getsid(process.pid) == leader and not ended:
                members.append(process)
    return members
