"""Runs one of SGLang's own engines for the process at the other end of a connection.

Nothing of SGLang is replaced but how its workers are started: forked, not spawned.
"""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector
from sglang.srt.entrypoints.engine import Engine
from sglang.srt.managers.load_snapshot import shm_path_for
from sglang.srt.server_args import prepare_server_args
from sglang.srt.utils import kill_itself_when_parent_died

from engine.observation import register_observers


class Forking(Engine):
    """SGLang's offline engine, whose workers inherit what is imported already."""

    @classmethod
    def _launch_scheduler_processes(cls, *args: Any, **kwargs: Any) -> Any:
        multiprocessing.set_start_method("fork", force=True)
        return super()._launch_scheduler_processes(*args, **kwargs)


def serve(connection: Connection) -> None:
    """Start the engine that is asked for first, then answer calls until the end."""
    # As SGLang's workers: nothing outlives what is killed.
    kill_itself_when_parent_died()
    arguments, environment, log = connection.recv()
    _redirect_output(log)
    os.environ.update(environment)
    register_observers()
    engine = Forking(server_args=prepare_server_args(arguments))
    connection.send(engine.get_server_info())
    _answer_calls(connection, engine)
    # SGLang leaves it to whoever cleans up the machine.
    Path(shm_path_for(engine.port_args.instance_id)).unlink(missing_ok=True)
    for worker in multiprocessing.active_children():
        worker.kill()
        worker.join()
    # Taking the interpreter down takes as long as a start.
    os._exit(0)


def _redirect_output(log: str) -> None:
    fd = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
    os.dup2(fd, 1)
    os.dup2(fd, 2)
    os.close(fd)


def _answer_calls(connection: Connection, engine: Engine) -> None:
    """Until the other end asks for the end, or is gone."""
    with suppress(EOFError):
        while (call := connection.recv()) is not None:
            name, body = call
            if name == "generate":
                connection.send(_generate(engine, body))
            elif name == "metrics":
                connection.send(_metrics())
            elif name == "flush_cache":
                connection.send(engine.flush_cache().success)
            else:
                raise ValueError(f"expected generate, metrics, flush_cache: {name!r}")


def _generate(engine: Engine, body: Mapping[str, Any]) -> Sequence[dict[str, Any]]:
    """The replies to a body of /generate with a list of texts."""
    options = dict(body)
    replies: Sequence[dict[str, Any]] = engine.generate(
        prompt=options.pop("text"), **options
    )
    return replies


def _metrics() -> str:
    """What /metrics shows: the counters of all of the engine's processes."""
    registry = CollectorRegistry()
    MultiProcessCollector(registry)
    text: str = generate_latest(registry).decode()
    return text
