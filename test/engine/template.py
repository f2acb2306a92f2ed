"""A process that has imported SGLang once and forks for every engine that is asked for.

python -m engine.template FD: FD is a listening Unix socket. Most of an engine's start
is imports, which a forked process has already.
"""

from __future__ import annotations

import importlib
import os
import signal
import socket
import sys
from multiprocessing.connection import Connection

from producers.platform import load_aiter_backend

IMPORTED = (
    "sglang.srt.entrypoints.engine",
    "sglang.srt.managers.scheduler",
    "sglang.srt.models.registry",
)


def main(fd: int) -> None:
    """Fork for each connection; in the fork, serve one engine until it is left."""
    # The models import the backend, which needs the platform's aiter.
    load_aiter_backend()
    for name in IMPORTED:
        importlib.import_module(name)
    # Forks that ended are no zombies.
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    with socket.socket(fileno=fd) as listener:
        connection = _fork_until_child(listener)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    from engine.driver import serve

    serve(connection)


def _fork_until_child(listener: socket.socket) -> Connection:
    """In the parent never returns; in each fork, the connection it was forked for."""
    while True:
        accepted, _ = listener.accept()
        with accepted:
            if os.fork() == 0:
                return Connection(accepted.detach())


if __name__ == "__main__":
    main(int(sys.argv[1]))
