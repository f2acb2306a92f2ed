"""The servers of a run, one per arm, the next one started while one is asked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from types import TracebackType
from typing import Self

from page_size_eval.serving.server import Server, ServerSpec


class Fleet:
    """Servers taken one after the other; a context manager that stops what is left.

    A start is mostly imports on one core. With `ahead` the next server starts in the
    shadow of the one before; a GPU has memory for one only.
    """

    def __init__(
        self, makers: Sequence[Callable[[], ServerSpec]], *, ahead: bool
    ) -> None:
        self._makers = list(makers)
        self._ahead = ahead
        self._started: dict[int, Server] = {}
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stack.close()

    def take(self, index: int) -> Server:
        """The server of arm `index`, started; wait for it with `wait_until_ready`."""
        server = self._start(index)
        if self._ahead and index + 1 < len(self._makers):
            self._start(index + 1)
        return server

    def restart(self, index: int) -> Server:
        """A new server in place of one that died."""
        self.drop(index)
        return self._start(index)

    def drop(self, index: int) -> None:
        """Stop the server of arm `index`."""
        self._started.pop(index).stop()

    def _start(self, index: int) -> Server:
        if index not in self._started:
            server = Server(self._makers[index]())
            self._started[index] = self._stack.enter_context(server)
        return self._started[index]
