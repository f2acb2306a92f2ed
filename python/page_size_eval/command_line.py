"""What the command lines of this package have in common."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

import typer
from rich.console import Console

import sglang_graft
from page_size_eval.errors import CannotMeasure

CANNOT_MEASURE = 2


def new_app() -> typer.Typer:
    """A command line whose errors are ours to word."""
    return typer.Typer(
        add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None
    )


def option(name: str, help: str, **checks: Any) -> Any:
    """An option --name that make's variable of the same name sets too.

    `make` hands its variables on as GSM8K_<NAME>, so that none goes through a shell.
    """
    variable = "GSM8K_" + name.upper().replace("-", "_")
    return typer.Option(f"--{name}", envvar=variable, help=help, **checks)


@contextmanager
def refusing(console: Console) -> Iterator[None]:
    """Exit status 2, with the reason, for whatever ends a run without a result."""
    # A killed run, or a closed terminal, stops its server: it unwinds like Ctrl-C.
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _interrupt)
    try:
        yield
    except CannotMeasure as error:
        say(console, f"cannot measure: {error}")
    except KeyboardInterrupt:
        say(
            console,
            "cannot measure: interrupted; the servers are stopped, the answers kept."
            " Next: the same command goes on where this one stopped",
        )
    except Exception as error:
        # Never exit status 1, which says that a difference was measured.
        console.print_exception()
        say(console, f"cannot measure: unexpected {type(error).__name__}: {error}")
    else:
        return
    sys.exit(CANNOT_MEASURE)


def say(console: Console, text: str) -> None:
    """A line as it is: paths stay whole for grep and copying."""
    console.print(text, markup=False, highlight=False, soft_wrap=True)


def require_fork() -> None:
    """Splice the overlay into the installed SGLang, if that is still to be done."""
    outcome = sglang_graft.apply(None)
    if isinstance(outcome, sglang_graft.Refused):
        raise CannotMeasure(
            f"SGLang cannot be grafted: {outcome.anchor}: {outcome.reason}."
            f" Next: {outcome.next_step}"
        )


def _interrupt(signum: int, frame: object) -> NoReturn:
    raise KeyboardInterrupt
