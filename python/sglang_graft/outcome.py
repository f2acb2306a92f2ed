"""Typed results of the graft, each with the exit code of its command."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar


@dataclass(frozen=True)
class Applied:
    """The target now holds our definitions."""

    package: Path
    release: str
    files: tuple[str, ...]
    names: tuple[str, ...]
    exit_code: ClassVar[int] = 0

    def __str__(self) -> str:
        return (
            f"applied to sglang {self.release} in {self.package}:"
            f" {', '.join(self.files)} ({', '.join(self.names)})"
        )


@dataclass(frozen=True)
class AlreadyApplied:
    """The target already holds exactly what apply would write; nothing was written."""

    package: Path
    release: str
    exit_code: ClassVar[int] = 0

    def __str__(self) -> str:
        return f"already applied to sglang {self.release} in {self.package}"


@dataclass(frozen=True)
class Reverted:
    """The target holds its original bytes again."""

    package: Path
    release: str
    files: tuple[str, ...]
    exit_code: ClassVar[int] = 0

    def __str__(self) -> str:
        return (
            f"reverted sglang {self.release} in {self.package}: {', '.join(self.files)}"
        )


@dataclass(frozen=True)
class NotApplied:
    """There was nothing to revert."""

    package: Path
    release: str
    exit_code: ClassVar[int] = 0

    def __str__(self) -> str:
        return f"not applied to sglang {self.release} in {self.package}"


@dataclass(frozen=True)
class Refused:
    """Nothing was written, because `anchor` did not hold."""

    anchor: str
    reason: str
    next_step: str
    exit_code: int = 1

    def __str__(self) -> str:
        return f"refused: {self.anchor}: {self.reason}\nnext: {self.next_step}"


class Refusal(Exception):
    """Carries a `Refused` from where a condition fails to the operation's boundary."""

    def __init__(
        self, anchor: str, reason: str, next_step: str, exit_code: int = 1
    ) -> None:
        self.outcome = Refused(anchor, reason, next_step, exit_code)
        super().__init__(str(self.outcome))


Outcome = Applied | AlreadyApplied | Reverted | NotApplied | Refused
