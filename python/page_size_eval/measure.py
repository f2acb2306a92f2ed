"""One arm, from its server's start to its last answer."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from page_size_eval.arms import Arm
from page_size_eval.asking.checkpoint import Checkpoint
from page_size_eval.asking.one_pass import Watch
from page_size_eval.asking.request import RequestSettings
from page_size_eval.asking.scoring import Score, ask
from page_size_eval.errors import CannotMeasure, ServerDied
from page_size_eval.folder import RunFolder
from page_size_eval.measured import MeasuredArm
from page_size_eval.reporting.files import write_json
from page_size_eval.saved import load_arm, save_arm
from page_size_eval.servers import ReadyServer, Servers
from page_size_eval.serving.metrics import ContextPrefill, read_context_prefill
from page_size_eval.settings import Settings

Progress = Callable[[str], AbstractContextManager[Callable[[int, int], None]]]


def request_settings(settings: Settings, url: str, model_name: str) -> RequestSettings:
    """How a run asks a server at `url`."""
    return RequestSettings(
        url=url,
        model_name=model_name,
        concurrency=settings.concurrency,
        max_gen_toks=settings.max_gen_toks,
        timeout_s=settings.request_timeout_s,
    )


@dataclass(frozen=True)
class Measurement:
    """How the arms of a run are measured.

    Attributes:
        progress: by a text, a context whose value is told (done, total).
        say: told what a user should know of.
    """

    settings: Settings
    folder: RunFolder
    progress: Progress
    say: Callable[[str], None]

    def load(self, arm: Arm) -> MeasuredArm | None:
        """The arm, if an earlier run of this folder has measured it."""
        return load_arm(self._path(arm, "measured", "json"), self.folder.key, arm)

    def measure(self, arm: Arm, servers: Servers) -> MeasuredArm:
        """Ask an arm's questions, and keep what came.

        Raises:
            CannotMeasure: no server, or no answers.
        """
        ready = servers.open(arm)
        scores: list[Score] = []
        counted: list[ContextPrefill] = []
        names: set[str] = set()
        for repeat in range(1, self.settings.repeats + 1):
            path = self._path(arm, f"answers_{repeat}", "jsonl")
            with Checkpoint(
                path, key=self.folder.key, arm=arm.label, repeat=repeat
            ) as checkpoint:
                try:
                    score = self._ask(arm, ready, checkpoint)
                except ServerDied as error:
                    self.say(f"{arm.label}: {error}\n{arm.label}: one more try")
                    ready = servers.reopen(arm)
                    score = self._ask(arm, ready, checkpoint)
                scores.append(score)
                counted += checkpoint.prefill.values()
                names |= checkpoint.servers
        servers.close(arm)
        prefill = sum(counted, ContextPrefill())
        measured = MeasuredArm(
            arm,
            tuple(score.questions for score in scores),
            # An SGLang without the overlay counts nothing.
            None if arm.tree else prefill,
            ready.in_force,
            len(names),
            sum(score.asked_before for score in scores),
        )
        self._keep(measured, scores)
        return measured

    def _ask(self, arm: Arm, ready: ReadyServer, checkpoint: Checkpoint) -> Score:
        def snapshot() -> ContextPrefill:
            return read_context_prefill(ready.endpoint.metrics())

        settings = request_settings(self.settings, ready.endpoint.url, ready.model_name)
        with self.progress(arm.label) as progress:
            score = ask(
                self.settings.task,
                self.settings.limit,
                settings,
                checkpoint,
                Watch(ready.endpoint.require_alive, snapshot, progress),
                self.settings.max_unanswered,
            )
        ready.endpoint.require_alive()
        return score

    def _keep(self, measured: MeasuredArm, scores: list[Score]) -> None:
        arm = measured.arm
        samples: list[dict[str, Any]] = [s for score in scores for s in score.samples]
        write_json(self._path(arm, "samples", "json"), samples)
        prompts = {score.prompts_hash for score in scores}
        if len(prompts) > 1:
            raise CannotMeasure(
                f"{arm.label}: expected the same prompts in every repeat, got"
                f" {', '.join(sorted(prompts))}. Next: run again with --fresh"
            )
        save_arm(self._path(arm, "measured", "json"), self.folder.key, measured)

    def _path(self, arm: Arm, kind: str, suffix: str) -> Path:
        return self.folder.path / f"{kind}_{arm.slug}.{suffix}"
