"""Command line of the accuracy script."""

from __future__ import annotations

import signal
import sys
import time
from pathlib import Path
from typing import Annotated, NoReturn

import typer
from rich.console import Console

import sglang_graft
from page_size_eval.errors import CannotMeasure
from page_size_eval.hardware import detect
from page_size_eval.run import Settings, check, compare

ROOT = Path(__file__).resolve().parents[2]
TINY_MODEL = ROOT / "benchmark" / "gsm8k" / "tiny_model"
TINY_TASK = "gsm_tiny"

PASS, MEASURED_FAILURE, CANNOT_MEASURE = 0, 1, 2

app = typer.Typer(
    add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None
)


@app.command()
def compare_page_sizes(
    page: Annotated[str, typer.Option(help="Page size to compare with 1.")] = "16",
    model: Annotated[
        Path, typer.Option(help="Model folder; the tiny probe model by default.")
    ] = TINY_MODEL,
    task: Annotated[
        str | None,
        typer.Option(
            help="lm-eval task [default: gsm_tiny, or gsm8k for another model]."
        ),
    ] = None,
    limit: Annotated[
        int | None,
        typer.Option(
            min=1, help="First so many questions [default: 128 on a CPU, else all]."
        ),
    ] = None,
    concurrency: Annotated[
        int | None,
        typer.Option(min=1, help="Requests in flight [default: by the hardware]."),
    ] = None,
    max_gen_toks: Annotated[
        int, typer.Option(min=1, help="Longest answer in tokens; cut, it is wrong.")
    ] = 1024,
    chunk: Annotated[
        int,
        typer.Option(min=1, help="Prefill chunk in tokens; small, so prompts chunk."),
    ] = 256,
    port: Annotated[
        int | None,
        typer.Option(
            min=1, max=65535, help="Port of the servers [default: a free one]."
        ),
    ] = None,
    defect: Annotated[
        str | None,
        typer.Option(help="Plant a defect of test/defects, to see the fall."),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(help="Folder of the results [default: results/<time>]."),
    ] = None,
    server_argument: Annotated[
        list[str] | None,
        typer.Option(help="Passed to the server as it is; repeatable."),
    ] = None,
) -> None:
    """Compare gsm8k at page size 1 and another one.

    Example: .venv/bin/python scripts/gsm8k_page_size.py --page 16 --limit 64

    Exit status: 0 equal within the margin, 1 a measured loss, 2 nothing to compare.
    """
    # A killed run, or a closed terminal, stops its server: it unwinds like Ctrl-C.
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _interrupt)
    console = Console(stderr=True)
    try:
        hardware = detect()
        stamp = time.strftime("%Y%m%d-%H%M%S")
        settings = Settings(
            page_size=_page_size(page),
            model=model.resolve(),
            task=task or (TINY_TASK if model.resolve() == TINY_MODEL else "gsm8k"),
            limit=hardware.default_limit if limit is None else limit,
            concurrency=hardware.concurrency if concurrency is None else concurrency,
            max_gen_toks=max_gen_toks,
            chunk=chunk,
            port=port,
            defect=defect,
            server_arguments=tuple(server_argument or ()),
            output=(output or ROOT / "results" / f"gsm8k-{stamp}").resolve(),
        )
        arms = check(settings)
        _require_fork()
        _say(console, f"results in {settings.output}")
        _, wrong = compare(settings, arms, hardware, Console())
    except CannotMeasure as error:
        _say(console, f"cannot measure: {error}")
        sys.exit(CANNOT_MEASURE)
    except KeyboardInterrupt:
        _say(console, "cannot measure: interrupted; the server is stopped")
        sys.exit(CANNOT_MEASURE)
    except Exception as error:
        # Never exit status 1, which says that a loss was measured.
        console.print_exception()
        _say(console, f"cannot measure: unexpected {type(error).__name__}: {error}")
        sys.exit(CANNOT_MEASURE)
    for line in wrong:
        _say(console, f"worse: {line}")
    if not wrong:
        _say(console, "pass: no page size loses more than the margin")
    sys.exit(MEASURED_FAILURE if wrong else PASS)


def _say(console: Console, text: str) -> None:
    """A line as it is: paths stay whole for grep and copying."""
    console.print(text, markup=False, highlight=False, soft_wrap=True)


def _page_size(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise CannotMeasure(
            f"page size {text!r}: expected a number. Next: make gsm8k PAGE=16"
        ) from None


def _require_fork() -> None:
    """Splice the overlay into the installed SGLang, if that is still to be done."""
    outcome = sglang_graft.apply(None)
    if isinstance(outcome, sglang_graft.Refused):
        raise CannotMeasure(
            f"SGLang cannot be grafted: {outcome.anchor}: {outcome.reason}."
            f" Next: {outcome.next_step}"
        )


def _interrupt(signum: int, frame: object) -> NoReturn:
    raise KeyboardInterrupt
