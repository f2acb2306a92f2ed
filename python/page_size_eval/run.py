"""A run: every arm measured, then compared, shown and written down."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console

from page_size_eval.arms import Arm
from page_size_eval.asking.scoring import require_task
from page_size_eval.command_line import say
from page_size_eval.comparison.arm_score import score_arm
from page_size_eval.comparison.comparison import compare, require_a_baseline
from page_size_eval.comparison.outcome import Comparison
from page_size_eval.comparison.path import require_path_served
from page_size_eval.dry_run import print_commands
from page_size_eval.folder import RESULTS, RunFolder, open_folder, pick_folder
from page_size_eval.measure import Measurement
from page_size_eval.measured import MeasuredArm
from page_size_eval.preparation import prepare_arms
from page_size_eval.recipe import make_recipe
from page_size_eval.reporting.files import write_json, write_text
from page_size_eval.reporting.markdown import write_markdown
from page_size_eval.reporting.plot import plot
from page_size_eval.reporting.progress import show_progress
from page_size_eval.reporting.table import print_report
from page_size_eval.reporting.titles import Title
from page_size_eval.servers import Servers
from page_size_eval.serving.hardware import Hardware
from page_size_eval.settings import Settings


@dataclass(frozen=True)
class Options:
    """Where a run writes, and whether it runs.

    Attributes:
        parent: of the folders that runs get by their recipe.
        output: this folder instead.
        fresh: leave an unfinished run alone.
        dry_run: print the commands, start nothing.
    """

    parent: Path
    output: Path | None = None
    fresh: bool = False
    dry_run: bool = False


@dataclass(frozen=True)
class Consoles:
    """Results to `out`, progress and warnings to `err`."""

    out: Console
    err: Console

    def say(self, text: str) -> None:
        say(self.err, text)


def run(
    settings: Settings, options: Options, hardware: Hardware, consoles: Consoles
) -> int:
    """Measure and compare. Returns the exit status of the comparison.

    Raises:
        CannotMeasure: nothing could be concluded; what was measured is kept.
    """
    arms = prepare_arms(settings)
    if options.dry_run:
        print_commands(consoles.out, arms, settings, hardware)
        return 0
    require_task(settings.task)
    recipe = make_recipe(settings, hardware)
    path = options.output or pick_folder(options.parent, recipe, options.fresh)
    with open_folder(path.resolve(), recipe) as folder:
        resumed = ", resuming an unfinished run" if folder.resumed else ""
        consoles.say(f"results in {folder.path}{resumed}")
        measured = _measure(arms, settings, hardware, folder, recipe, consoles)
        comparison = compare(measured, settings.margin)
        _report(comparison, measured, settings, hardware, folder, recipe, consoles)
    return comparison.exit_status


def _measure(
    arms: Sequence[Arm],
    settings: Settings,
    hardware: Hardware,
    folder: RunFolder,
    recipe: dict[str, Any],
    consoles: Consoles,
) -> list[MeasuredArm]:
    """Every arm, from an earlier run of this folder or from a server."""
    measurement = Measurement(
        settings,
        folder,
        lambda label: show_progress(label, consoles.err),
        consoles.say,
    )
    done = {arm: one for arm in arms if (one := measurement.load(arm))}
    for one in done.values():
        _require_path(one)
    baseline = done[arms[0]].in_force if arms[0] in done else None
    pending = [arm for arm in arms if arm not in done]
    _write_results(folder, recipe, arms, done, None)
    with Servers(
        pending, settings, hardware, folder.path, consoles.err, baseline
    ) as servers:
        for arm in pending:
            done[arm] = measurement.measure(arm, servers)
            _write_results(folder, recipe, arms, done, None)
            _require_path(done[arm])
            # Now, not after hours of arms that it makes worthless.
            require_a_baseline(score_arm(done[arms[0]]))
    return [done[arm] for arm in arms]


def _require_path(measured: MeasuredArm) -> None:
    """Raise CannotMeasure if the path under test is counted, and did not serve."""
    if measured.prefill is not None:
        require_path_served(measured.arm, measured.prefill)


def _report(
    comparison: Comparison,
    measured: Sequence[MeasuredArm],
    settings: Settings,
    hardware: Hardware,
    folder: RunFolder,
    recipe: dict[str, Any],
    consoles: Consoles,
) -> None:
    model = ", ".join(settings.urls) or settings.model.name
    title = Title(settings.task, model, hardware.name, settings.defect)
    chunks = {one.arm.label: one.chunks_with_prefix() for one in measured}
    text = write_markdown(title, comparison, recipe, _command(), chunks)
    write_text(folder.path / "report.md", text)
    plot(folder.path / "plot", title, comparison)
    print_report(consoles.out, title, comparison)
    arms = [one.arm for one in measured]
    done = {one.arm: one for one in measured}
    # Last: a run is complete once everything of it is there.
    _write_results(folder, recipe, arms, done, comparison)
    consoles.say(f"report.md, plot.png and results.json are in {folder.path}")


def _command() -> str:
    """What reproduces this run; make's variables come through the environment."""
    variables = [
        f"{name}={value}"
        for name, value in sorted(os.environ.items())
        if name.startswith("GSM8K_") and value
    ]
    return shlex.join([*variables, "python", *sys.argv])


def _write_results(
    folder: RunFolder,
    recipe: dict[str, Any],
    arms: Sequence[Arm],
    done: dict[Arm, MeasuredArm],
    comparison: Comparison | None,
) -> None:
    """What there is so far."""
    content = {
        "complete": comparison is not None,
        "key": folder.key,
        "recipe": recipe,
        "arms": [
            {
                "arm": arm.label,
                "measured": arm in done,
                "in_force": dict(done[arm].in_force) if arm in done else None,
            }
            for arm in arms
        ],
        "comparison": None if comparison is None else comparison.as_json(),
    }
    write_json(folder.path / RESULTS, content)
