"""The levels of the suite at which a defect may be caught, the cheapest first."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Level:
    """Some folders of tests.

    Attributes:
        left_out: tests that run in a process of their own, where nothing is planted.
        in_engines: whether defects are planted in the processes that the tests start.
    """

    name: str
    folders: tuple[str, ...]
    left_out: tuple[str, ...] = ()
    in_engines: bool = False

    @property
    def arguments(self) -> list[str]:
        """What to ask of pytest."""
        return [*self.folders, *(f"--deselect={test}" for test in self.left_out)]


LEVELS = (
    Level(
        "helper",
        ("test/overlay", "test/registered/attention", "test/properties"),
        (
            "test/overlay/test_registered_form.py",
            "test/overlay/test_standalone.py",
        ),
    ),
    Level("producers", ("test/producers",)),
    Level("backend", ("test/backend", "test/fp8_scales")),
)
# Minutes for each defect: asked for by name.
ENGINE = Level("engine", ("test/engine",), in_engines=True)
