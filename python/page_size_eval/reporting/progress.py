"""How far an arm is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeRemainingColumn,
)

# Without a terminal: a line each time so much more is done.
STEPS = 10


@contextmanager
def show_progress(
    label: str, console: Console | None = None
) -> Iterator[Callable[[int, int], None]]:
    """Yield a callable that takes how many answers there are, and of how many.

    Args:
        label: of the arm.
        console: stderr by default; where it is no terminal, plain lines are printed.
    """
    console = console or Console(stderr=True)
    if not console.is_terminal:
        yield _print_steps(label, console)
        return
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("time left"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console) as progress:
        task = progress.add_task(label, total=None)

        def show(done: int, total: int) -> None:
            progress.update(task, completed=done, total=total)

        yield show


def _print_steps(label: str, console: Console) -> Callable[[int, int], None]:
    last = -1

    def show(done: int, total: int) -> None:
        nonlocal last
        step = STEPS * done // total if total else STEPS
        if step > last:
            last = step
            text = f"{label}: {done} of {total}"
            console.print(text, markup=False, highlight=False, soft_wrap=True)

    return show
