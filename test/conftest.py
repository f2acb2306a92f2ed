"""A killed run unwinds, so that no server outlives it."""

from __future__ import annotations

import signal
from typing import NoReturn


def _interrupt(signum: int, frame: object) -> NoReturn:
    raise KeyboardInterrupt


def pytest_configure() -> None:
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, _interrupt)
