"""Command line of the parity run."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Annotated

from rich.console import Console

from page_size_eval.command_line import new_app, option, refusing, require_fork, say
from page_size_eval.parity.run import ParityOptions, run_parity
from page_size_eval.parsing import (
    parse_page_sizes,
    parse_server_arguments,
    parse_tree,
    parse_urls,
)
from page_size_eval.serving.hardware import detect
from page_size_eval.settings import ROOT, TINY_MODEL, Settings

app = new_app()


@app.command()
def compare_logprobs(
    page: Annotated[
        str | None, option("page", "Page sizes to compare with 1 [default: 16 64].")
    ] = None,
    model: Annotated[
        Path, option("model", "Model folder; the tiny probe model by default.")
    ] = TINY_MODEL,
    tp: Annotated[int, option("tp", "Ranks of tensor parallelism.", min=1)] = 1,
    chunk: Annotated[
        int, option("chunk", "Prefill chunk in tokens; small: prompts chunk.", min=1)
    ] = 256,
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
    tolerance: Annotated[
        float | None,
        option("tolerance", "Logprob difference allowed [default: by an A/A run]."),
    ] = None,
    output: Annotated[
        Path | None,
        option("output", "Folder of the results [default: results/parity-<time>]."),
    ] = None,
) -> None:
    """Compare logprobs of fixed prompts, page size against page size.

    Example: .venv/bin/python scripts/page_size_parity.py --page 16

    Exit status: 0 equal within the tolerance, 1 a measured difference, 2 nothing that
    could be compared.
    """
    console = Console(stderr=True)
    with refusing(console):
        settings = Settings(
            page_sizes=parse_page_sizes(page),
            model=model.resolve(),
            task="parity",
            limit=None,
            concurrency=1,
            chunk=chunk,
            max_gen_toks=1,
            port=port,
            defect=defect,
            tree=parse_tree(baseline),
            urls=parse_urls(base_urls),
            server_arguments=parse_server_arguments(tp, args),
        )
        stamp = time.strftime("%Y%m%d-%H%M%S")
        folder = (output or ROOT / "results" / f"parity-{stamp}").resolve()
        if not settings.urls:
            require_fork()
        say(console, f"results in {folder}")
        options = ParityOptions(folder, tolerance=tolerance)
        found = run_parity(settings, options, detect(), Console())
        problems = [
            f"{parity.arm.label}, {parity.mode}: {problem}"
            for parity in found
            for problem in parity.problems
        ]
        for problem in problems:
            say(console, f"differs: {problem}")
        if not problems:
            say(console, "equal: no difference that rounding does not explain")
        sys.exit(1 if any(p.problems and p.arm.gates for p in found) else 0)
