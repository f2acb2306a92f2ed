"""Command line of the accuracy script."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from page_size_eval.command_line import new_app, option, refusing, require_fork
from page_size_eval.parsing import (
    parse_page_sizes,
    parse_server_arguments,
    parse_tree,
    parse_urls,
)
from page_size_eval.run import Consoles, Options, run
from page_size_eval.serving.hardware import detect
from page_size_eval.settings import ROOT, TINY_MODEL, TINY_TASK, Settings

app = new_app()


@app.command()
def compare_page_sizes(
    page: Annotated[
        str | None, option("page", "Page sizes to compare with 1 [default: 16 64].")
    ] = None,
    model: Annotated[
        Path, option("model", "Model folder; the tiny probe model by default.")
    ] = TINY_MODEL,
    tp: Annotated[int, option("tp", "Ranks of tensor parallelism.", min=1)] = 1,
    task: Annotated[
        str | None,
        option("task", "lm-eval task [default: gsm_tiny; gsm8k for another model]."),
    ] = None,
    limit: Annotated[
        int | None,
        option("limit", "First so many questions [default: 200 on a CPU].", min=1),
    ] = None,
    concurrency: Annotated[
        int | None, option("concurrency", "Requests in flight, per arm.", min=1)
    ] = None,
    chunk: Annotated[
        int, option("chunk", "Prefill chunk in tokens; small: prompts chunk.", min=1)
    ] = 256,
    max_gen_toks: Annotated[
        int, option("max-gen-toks", "Longest answer in tokens.", min=1)
    ] = 2048,
    repeats: Annotated[
        int, option("repeats", "Passes over the questions, per arm.", min=1)
    ] = 1,
    margin: Annotated[
        float | None,
        option(
            "margin", "Points that still are equal [default: 2; 1 from 3 repeats on]."
        ),
    ] = None,
    max_unanswered: Annotated[
        float,
        option(
            "max-unanswered", "Share of failed, late, cut or empty answers allowed."
        ),
    ] = 0.02,
    request_timeout: Annotated[
        float, option("request-timeout", "Seconds that one answer may take.")
    ] = 1800.0,
    args: Annotated[
        str | None, option("args", "Arguments for the servers, passed as they are.")
    ] = None,
    base_urls: Annotated[
        str | None,
        option("base-urls", "Servers that already run, the baseline first."),
    ] = None,
    baseline: Annotated[
        Path | None,
        option("baseline", "Folder with another sglang package, shown beside."),
    ] = None,
    defect: Annotated[
        str | None, option("defect", "Plant a defect of test/defects.")
    ] = None,
    port: Annotated[
        int | None, option("port", "Port of the servers.", min=1, max=65535)
    ] = None,
    output: Annotated[
        Path | None,
        option("output", "Folder of the results [default: results/<task>-<recipe>/]."),
    ] = None,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Leave an unfinished run alone; begin anew.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print the commands; start nothing.")
    ] = False,
) -> None:
    """Compare gsm8k at page size 1 and others, through the real server.

    Example: .venv/bin/python scripts/gsm8k_page_size.py --page 16 --limit 64

    Exit status: 0 equivalent within the margin, 1 a measured difference, 2 nothing that
    could be concluded.
    """
    console = Console(stderr=True)
    with refusing(console):
        hardware = detect()
        is_tiny = model.resolve() == TINY_MODEL and not base_urls
        settings = Settings(
            page_sizes=parse_page_sizes(page),
            model=model.resolve(),
            task=task or (TINY_TASK if is_tiny else "gsm8k"),
            limit=hardware.default_limit if limit is None else limit,
            concurrency=hardware.concurrency if concurrency is None else concurrency,
            chunk=chunk,
            max_gen_toks=max_gen_toks,
            repeats=repeats,
            margin=None if margin is None else margin / 100,
            max_unanswered=max_unanswered,
            request_timeout_s=request_timeout,
            port=port,
            defect=defect,
            tree=parse_tree(baseline),
            urls=parse_urls(base_urls),
            server_arguments=parse_server_arguments(tp, args),
        )
        options = Options(ROOT / "results", output, fresh, dry_run)
        if not dry_run and not settings.urls:
            require_fork()
        sys.exit(run(settings, options, hardware, Consoles(Console(), console)))
