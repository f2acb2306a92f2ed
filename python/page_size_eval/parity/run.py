"""A parity run: the same prompts to every server, compared logprob by logprob."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console

from page_size_eval.arms import Arm
from page_size_eval.comparison.path import require_path_served
from page_size_eval.parity.report import as_json, plot_parity, print_parity
from page_size_eval.parity.rounds import ALONE, TOGETHER, Load, Rounds, ask_rounds
from page_size_eval.parity.verdict import Parity, judge
from page_size_eval.preparation import prepare_arms
from page_size_eval.recipe import make_recipe
from page_size_eval.reporting.files import write_json
from page_size_eval.servers import Servers
from page_size_eval.serving.hardware import Hardware
from page_size_eval.settings import Settings

# Prompts that are asked alone meet the same arithmetic at every page size on a CPU. On
# a GPU kernels may sum in another order; together, batches differ too, and bf16 sums
# of this size move a logprob by hundredths.
CPU_FLOORS = {ALONE: 0.001, TOGETHER: 0.1}
GPU_FLOORS = {ALONE: 0.1, TOGETHER: 0.2}


@dataclass(frozen=True)
class ParityOptions:
    """`tolerance`, if given, replaces both floors and what the A/A run says."""

    output: Path
    load: Load = Load()
    tolerance: float | None = None


def run_parity(
    settings: Settings, options: ParityOptions, hardware: Hardware, console: Console
) -> list[Parity]:
    """Ask every arm and compare each with the first.

    Raises:
        CannotMeasure: a server that differs in more than the page size, fails, or did
            not take the path under test.
    """
    arms = [arm for arm in prepare_arms(settings) if not arm.again]
    rounds: list[tuple[Arm, Rounds]] = []
    servers: list[dict[str, Any]] = []
    with Servers(arms, settings, hardware, options.output, console) as fleet:
        for arm in arms:
            ready = fleet.open(arm)
            with console.status(f"{arm.label}: asking"):
                asked = ask_rounds(ready.endpoint, options.load)
                if not rounds:
                    again = ask_rounds(ready.endpoint, options.load, backwards=True)
            fleet.close(arm)
            # An SGLang without the overlay counts nothing.
            if arm.tree is None:
                require_path_served(arm, asked.prefill)
            rounds.append((arm, asked))
            servers.append(
                {
                    "arm": arm.label,
                    "hits": asked.prefill.hits,
                    "fallbacks": asked.prefill.fallbacks,
                    "in_force": ready.in_force,
                }
            )
    floors = CPU_FLOORS if hardware.name.startswith("CPU") else GPU_FLOORS
    found = judge(rounds, again, floors, options.tolerance)
    _report(found, servers, settings, options, hardware, console)
    return found


def _report(
    found: Sequence[Parity],
    servers: Sequence[dict[str, Any]],
    settings: Settings,
    options: ParityOptions,
    hardware: Hardware,
    console: Console,
) -> None:
    title = f"logprobs against {servers[0]['arm']}, {settings.model.name}"
    if settings.defect:
        title += f", planted defect: {settings.defect}"
    recipe = make_recipe(settings, hardware)
    write_json(options.output / "parity.json", as_json(recipe, found, servers))
    plot_parity(options.output, title, found)
    print_parity(console, title, found)
