"""The comparison: one fresh server per page size, the same questions to each."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from page_size_eval.arms import Arm, arms_for
from page_size_eval.defect import VARIABLE, require_defect, require_planted
from page_size_eval.errors import CannotMeasure
from page_size_eval.hardware import Hardware
from page_size_eval.metrics import read_context_prefill
from page_size_eval.report import print_table, write_json
from page_size_eval.scoring import Score, require_task, score
from page_size_eval.server import Server, ServerSpec, pick_port
from page_size_eval.verdict import (
    ArmResult,
    failures,
    require_comparable,
    require_path_served,
)


@dataclass(frozen=True)
class Settings:
    """One run of the script."""

    page_size: int
    model: Path
    task: str
    limit: int | None
    concurrency: int
    max_gen_toks: int
    chunk: int
    port: int | None
    defect: str | None
    server_arguments: tuple[str, ...]
    output: Path


def check(settings: Settings) -> list[Arm]:
    """The arms of a run, once everything that can be refused early is right.

    Raises:
        CannotMeasure: a setting is wrong.
    """
    arms = arms_for(settings.page_size)
    if settings.defect:
        require_defect(settings.defect)
    if not (settings.model / "config.json").is_file():
        raise CannotMeasure(
            f"model {settings.model}: expected a folder with config.json, there is"
            " none. Next: give MODEL=/path/to/model, or leave it out for the tiny model"
        )
    pick_port(settings.port)
    require_task(settings.task)
    return arms


def compare(
    settings: Settings, arms: Sequence[Arm], hardware: Hardware, console: Console
) -> tuple[list[ArmResult], list[str]]:
    """Measure the arms that `check` gave. Returns the results and what is wrong.

    Raises:
        CannotMeasure: an arm gave no score; what was measured before it is written.
    """
    results: list[ArmResult] = []
    _write(results, arms, settings, hardware)
    for arm in arms:
        results.append(_measure(arm, settings, hardware, console))
        _write(results, arms, settings, hardware)
    require_comparable(results)
    title = f"{settings.task}, {settings.model.name}, {hardware.name}"
    if settings.defect:
        title += f", planted defect: {settings.defect}"
    print_table(console, title, results)
    return results, failures(results)


def _write(
    results: Sequence[ArmResult],
    arms: Sequence[Arm],
    settings: Settings,
    hardware: Hardware,
) -> None:
    """What is measured so far, in place of what an earlier run left there."""
    report = {
        "complete": len(results) == len(arms),
        "settings": vars(settings),
        "hardware": hardware.name,
        "arms": [result.as_json() for result in results],
    }
    write_json(settings.output / "results.json", report)


def _measure(
    arm: Arm, settings: Settings, hardware: Hardware, console: Console
) -> ArmResult:
    environment = {
        **hardware.environment,
        **arm.environment(),
        # Empty for none, so that one left in the shell is not planted unsaid.
        VARIABLE: settings.defect or "",
        "SGLANG_PLUGINS": "",
    }
    spec = ServerSpec(
        model=settings.model,
        page_size=arm.page_size,
        chunk=settings.chunk,
        port=pick_port(settings.port),
        log=settings.output / f"server_{arm.slug}.log",
        arguments=(*hardware.arguments, *settings.server_arguments),
        environment=environment,
    )
    with Server(spec) as server:
        with _progress(console, f"{arm.label}: starting the server") as waiting:
            server.wait_until_ready(waiting=waiting)
        _require_in_force(server, spec)
        if settings.defect:
            require_planted(settings.defect, spec.log)
        console.print(f"{arm.label}: asking {settings.limit or 'all'} questions")
        measured = _score(server, settings)
        server.require_alive()
        prefill = read_context_prefill(server.metrics())
    write_json(settings.output / f"samples_{arm.slug}.json", measured.samples)
    require_path_served(arm, prefill)
    return ArmResult(arm, measured, prefill)


def _score(server: Server, settings: Settings) -> Score:
    try:
        return score(
            server.url,
            server.spec.name,
            settings.task,
            settings.limit,
            settings.concurrency,
            settings.max_gen_toks,
        )
    except CannotMeasure:
        # A dead server is the better explanation of a failed request.
        server.require_alive()
        raise


def _require_in_force(server: Server, spec: ServerSpec) -> None:
    """Refuse a server that changed what the comparison rests on."""
    info = server.info()
    for name, expected in (
        ("served_model_name", spec.name),
        ("page_size", spec.page_size),
        ("chunked_prefill_size", spec.chunk),
        ("kv_cache_dtype", "fp8_e4m3"),
        ("attention_backend", "aiter"),
    ):
        if info.get(name) != expected:
            raise CannotMeasure(
                f"server at page size {spec.page_size}: expected {name}={expected} in"
                f" force, got {info.get(name)}: the arms would not differ as stated."
                f" Next: look for the reason in {spec.log} (hybrid models reset the"
                " page size while the radix cache is on; another served_model_name"
                " is another server on the port)"
            )


@contextmanager
def _progress(console: Console, text: str) -> Iterator[Callable[[float], None]]:
    """A line that shows the seconds while something slow goes on."""
    with console.status(text) as status:
        yield lambda seconds: status.update(f"{text}, {seconds:.0f} s")
