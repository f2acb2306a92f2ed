"""Command line of the graft."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sglang_graft import mail, operations, patches, report
from sglang_graft.changes import NAMES
from sglang_graft.outcome import Outcome, Refused

app = typer.Typer(
    help=(
        "Splice this repository's definitions into an SGLang tree.\n\n"
        "Example: sglang-graft apply --target ~/sglang && sglang-graft status --target"
        " ~/sglang\n\n"
        "Exit codes: 0 done or nothing to do, 1 refused or in need of attention, 2"
        " wrong usage."
    ),
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)

TargetOption = Annotated[
    Path | None,
    typer.Option(
        help="SGLang package, site-packages or source checkout."
        " Default: the sglang that this interpreter would import.",
        show_default=False,
    ),
]
OnlyOption = Annotated[
    list[str] | None,
    typer.Option(
        help="Splice this definition or statement edit, and what it needs; may be"
        " repeated. Default: all.",
        show_default=False,
    ),
]
OverlayOption = Annotated[
    Path | None,
    typer.Option(
        help="Another folder of definitions. Default: this repository's python/sglang.",
        show_default=False,
    ),
]


@app.command()
def apply(
    target: TargetOption = None, only: OnlyOption = None, overlay: OverlayOption = None
) -> None:
    """Splice our definitions into the target."""
    _finish(operations.apply(target, only or (), overlay))


@app.command()
def revert(target: TargetOption = None, overlay: OverlayOption = None) -> None:
    """Restore the exact bytes that the target had before."""
    _finish(operations.revert(target, overlay))


@app.command()
def status(
    target: TargetOption = None,
    overlay: OverlayOption = None,
    json: Annotated[
        bool, typer.Option("--json", help="Print one JSON document. Default: text.")
    ] = False,
) -> None:
    """Show what the target holds, file by file."""
    found = report.status(target, overlay)
    if json and isinstance(found, report.Status):
        typer.echo(found.to_json())
        raise typer.Exit(found.exit_code)
    _finish(found)


@app.command()
def diff(
    target: TargetOption = None, only: OnlyOption = None, overlay: OverlayOption = None
) -> None:
    """Print what apply would change or, in a grafted target, has changed."""
    _finish(report.diff(target, only or (), overlay))


@app.command()
def patch(
    base: TargetOption = None,
    only: Annotated[
        list[str] | None,
        typer.Option(
            help=f"Write this change and what it needs: {', '.join(NAMES)}; may be"
            " repeated. Default: all.",
            show_default=False,
        ),
    ] = None,
    output: Annotated[Path, typer.Option(help="Folder to write to.")] = patches.OUTPUT,
    check: Annotated[
        bool,
        typer.Option(
            "--check",
            help="Write nothing; exit 1 if the folder holds anything else."
            " Default: write.",
        ),
    ] = False,
    author: Annotated[str, typer.Option(help="Author of the patches.")] = mail.AUTHOR,
    date: Annotated[str, typer.Option(help="Date of the patches.")] = mail.DATE,
    overlay: OverlayOption = None,
) -> None:
    """Write one patch per change, for `git am --keep-non-patch` in a checkout."""
    _finish(patches.patch(base, only or (), output, check, author, date, overlay))


def _finish(outcome: Outcome | report.Status | report.Diff | patches.Patches) -> None:
    if isinstance(outcome, report.Diff):
        typer.echo(outcome.text, nl=False)
    else:
        typer.echo(str(outcome), err=isinstance(outcome, Refused))
    raise typer.Exit(outcome.exit_code)
