"""What a report is headed by, and what its scores are not."""

from __future__ import annotations

from dataclasses import dataclass

PROBE_TASK = "gsm_tiny"
PROBE_CAVEAT = "templated questions for a probe model: not a gsm8k score"


@dataclass(frozen=True)
class Title:
    """What was measured, on what.

    Attributes:
        task: the lm-eval task.
        model: its name, or a server's where nothing else is known.
        hardware: as the run detected it.
        defect: planted on purpose, if any.
    """

    task: str
    model: str
    hardware: str
    defect: str | None = None

    @property
    def line(self) -> str:
        """Everything in one line."""
        planted = f", planted defect: {self.defect}" if self.defect else ""
        return f"{self.task}, {self.model}, {self.hardware}{planted}"

    @property
    def caveat(self) -> str | None:
        """What must stand beside every score of this task; None if nothing must."""
        return PROBE_CAVEAT if self.task == PROBE_TASK else None
