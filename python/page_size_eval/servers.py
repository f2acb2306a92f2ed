"""The servers of a run: started or found, waited for, and shown to be alike."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from rich.console import Console

from page_size_eval.arms import Arm
from page_size_eval.defect import require_planted
from page_size_eval.launch import SpecMaker, defect_of, expected_in_force
from page_size_eval.serving.endpoint import Endpoint
from page_size_eval.serving.fleet import Fleet
from page_size_eval.serving.hardware import Hardware
from page_size_eval.serving.in_force import (
    read_in_force,
    require_arguments,
    require_equal,
)
from page_size_eval.serving.server import Server
from page_size_eval.settings import Settings


@dataclass(frozen=True)
class ReadyServer:
    """A server that answers.

    Attributes:
        model_name: what it calls its model, which requests must name.
        in_force: what it says of how it computes tokens.
    """

    endpoint: Endpoint
    model_name: str
    in_force: Mapping[str, Any]


class Servers:
    """The servers of some arms, in order; a context manager that stops its own."""

    def __init__(
        self,
        arms: Sequence[Arm],
        settings: Settings,
        hardware: Hardware,
        folder: Path,
        console: Console,
        baseline: Mapping[str, Any] | None = None,
    ) -> None:
        """`baseline`: what is in force in the first arm, if it is measured already."""
        self._settings = settings
        self._console = console
        self._baseline = baseline
        self._started = [arm for arm in arms if arm.url is None]
        makers = [SpecMaker(arm, settings, hardware, folder) for arm in self._started]
        # With one port for all, one server runs at a time.
        ahead = hardware.starts_ahead and settings.port is None
        self._fleet = Fleet(makers, ahead=ahead)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._fleet.__exit__(kind, error, trace)

    def open(self, arm: Arm) -> ReadyServer:
        """The arm's server, fresh, or with its prefix cache flushed if it runs already.

        Raises:
            CannotMeasure: it does not start, or differs from the baseline's in more
                than the page size.
        """
        if arm.url is None:
            server = self._fleet.take(self._started.index(arm))
            return self._ready(arm, server, self._wait(arm, server))
        endpoint = Endpoint(arm.url)
        endpoint.flush_cache()
        return self._ready(arm, endpoint, endpoint.info())

    def reopen(self, arm: Arm) -> ReadyServer:
        """A new server in place of the arm's, which died."""
        server = self._fleet.restart(self._started.index(arm))
        return self._ready(arm, server, self._wait(arm, server))

    def close(self, arm: Arm) -> None:
        """Stop the arm's server, if this run started it."""
        if arm.url is None:
            self._fleet.drop(self._started.index(arm))

    def _wait(self, arm: Arm, server: Server) -> Mapping[str, Any]:
        with _seconds(self._console, f"{arm.label}: starting the server") as waiting:
            server.wait_until_ready(waiting=waiting)
        info = server.info()
        expected = {"served_model_name": server.spec.name}
        require_arguments(info, expected)
        if defect := defect_of(arm, self._settings):
            require_planted(defect, server.spec.log)
        return info

    def _ready(
        self, arm: Arm, endpoint: Endpoint, info: Mapping[str, Any]
    ) -> ReadyServer:
        in_force = read_in_force(info)
        require_arguments(in_force, expected_in_force(arm, self._settings))
        self._baseline = self._baseline or in_force
        require_equal(
            self._baseline, in_force, arm.label, other_tree=arm.tree is not None
        )
        return ReadyServer(endpoint, str(info["served_model_name"]), in_force)


@contextmanager
def _seconds(console: Console, text: str) -> Iterator[Callable[[float], None]]:
    """A line that shows the seconds while something slow goes on."""
    with console.status(text) as status:
        yield lambda seconds: status.update(f"{text}, {seconds:.0f} s")
