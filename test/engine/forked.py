"""Engines without HTTP, forked from a process that has imported SGLang.

SGLang's tokenizer manager, scheduler and detokenizer in their own processes, started
with a server's arguments. What a server answers over HTTP is answered here by calls.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from multiprocessing.connection import Client
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from page_size_eval.serving import leash
from page_size_eval.serving.endpoint import Endpoint
from page_size_eval.serving.hardware import CPU
from page_size_eval.serving.server import ServerSpec

TIMEOUT_S = 300
LOG_TAIL_LINES = 30


class Template:
    """The process that engines are forked from; a context manager that ends it."""

    def __init__(self, folder: Path) -> None:
        self.log = folder / "template.log"
        # Of its own: the path of a Unix socket has to be short.
        self._scratch = tempfile.TemporaryDirectory(
            prefix="engines-", ignore_cleanup_errors=True
        )
        self.address = str(Path(self._scratch.name) / "socket")

    def __enter__(self) -> Self:
        with socket.socket(socket.AF_UNIX) as listener, self.log.open("wb") as log:
            listener.bind(self.address)
            listener.listen()
            fd = listener.fileno()
            self._process = subprocess.Popen(
                [sys.executable, leash.__file__, str(os.getpid())]
                + [sys.executable, "-m", "engine.template", str(fd)],
                pass_fds=[fd],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                env={
                    **os.environ,
                    **CPU.environment,
                    "PYTHONPATH": os.pathsep.join(sys.path),
                    # Two engines share two cores.
                    "OMP_NUM_THREADS": "1",
                    "SGLANG_PLUGINS": "",
                    # Every batch's indices, as the real producer made them, go through
                    # the helper. Read when the backend is imported.
                    "SGLANG_GFX_ASM_CTX_GATHER_CHECK": "1",
                    # prometheus_client asks for it when it is imported.
                    "PROMETHEUS_MULTIPROC_DIR": self._scratch.name,
                    "TMPDIR": self._scratch.name,
                },
                start_new_session=True,
            )
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._process.send_signal(signal.SIGKILL)
        self._process.wait()
        self._scratch.cleanup()


class ForkedEngine(Endpoint):
    """One engine; a context manager that returns when all its processes are gone."""

    def __init__(self, template: Template, spec: ServerSpec) -> None:
        super().__init__(f"unix:{template.address}")
        self.spec = spec
        self._template = template
        self._scratch = tempfile.TemporaryDirectory(
            prefix="engine-", ignore_cleanup_errors=True
        )

    def __enter__(self) -> Self:
        folders = dict.fromkeys(
            ("TMPDIR", "PROMETHEUS_MULTIPROC_DIR"), self._scratch.name
        )
        # The interpreter and SGLang's module come first in a server's command.
        arguments = self.spec.command()[3:]
        environment = {**self.spec.environment, **folders}
        with self._explained():
            self._connection = Client(self._template.address, family="AF_UNIX")
        self._info = self._call((arguments, environment, str(self.spec.log)))
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        # Every process of the engine has its end of the connection.
        with suppress(EOFError, OSError):
            self._connection.send(None)
            while self._connection.poll(TIMEOUT_S):
                self._connection.recv()
        self._connection.close()
        self._http.close()
        self._scratch.cleanup()

    def info(self) -> dict[str, Any]:
        return dict(self._info)

    def generate(self, body: Mapping[str, Any], timeout_s: float = TIMEOUT_S) -> Any:
        return self._call(("generate", dict(body)), timeout_s)

    def metrics(self) -> str:
        return str(self._call(("metrics", None)))

    def flush_cache(self) -> None:
        flushed = self._call(("flush_cache", None))
        if not flushed:
            raise RuntimeError(self._describe("expected its cache to be flushed"))

    def _call(self, message: Any, timeout_s: float = TIMEOUT_S) -> Any:
        with self._explained():
            self._connection.send(message)
            if self._connection.poll(timeout_s):
                return self._connection.recv()
        raise RuntimeError(self._describe(f"no answer within {timeout_s:.0f} s"))

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except (EOFError, OSError) as error:
            raise RuntimeError(
                self._describe("expected it to run, it ended")
            ) from error

    def _describe(self, problem: str) -> str:
        own = self.spec.log
        log = own if own.exists() else self._template.log
        lines = log.read_text(errors="replace").splitlines()[-LOG_TAIL_LINES:]
        tail = "\n  ".join(line[:300] for line in lines)
        return (
            f"engine at page size {self.spec.page_size}: {problem}. Next: read {log},"
            f" which ends with\n  {tail}"
        )
