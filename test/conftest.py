"""The reference platform for every test, and a killed run that leaves no server."""

from __future__ import annotations

import os
import signal
from typing import NoReturn

# SGLang and Triton read these when they are first imported, which some tests do while
# they are collected.
os.environ.setdefault("SGLANG_PLATFORM", "gfx950_reference")
os.environ.setdefault("TRITON_INTERPRET", "1")


def _interrupt(signum: int, frame: object) -> NoReturn:
    raise KeyboardInterrupt


def pytest_configure() -> None:
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, _interrupt)
