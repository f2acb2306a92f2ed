"""Places in SGLang's file that the graft relies on, each with its expected count."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import libcst as cst
import libcst.matchers as m

from sglang_graft.outcome import Refusal
from sglang_graft.overlay import BACKEND_CLASS
from sglang_graft.statements import positions

EXTEND_METHOD = "forward_extend"

# setuptools_scm says 0.0.0 where it cannot tell.
_ANY_RELEASE = (0, 1)


@dataclass(frozen=True)
class Site:
    """The file that is looked at, for messages."""

    path: Path
    release: str

    def refuse(self, anchor: str, reason: str, next_step: str) -> Refusal:
        """A refusal that names this file and its release."""
        return Refusal(
            anchor, f"{reason}, in {self.path} (sglang {self.release})", next_step
        )

    @property
    def version(self) -> tuple[int, ...] | None:
        """The release as three numbers, None where it is not known."""
        numbers = tuple(int(n) for n in re.findall(r"\d+", self.release)[:3])
        return numbers if numbers >= _ANY_RELEASE else None


def expect_count(anchor: str, found: int, site: Site, expected: int = 1) -> None:
    """Refuse unless `anchor` was found as often as expected.

    Raises:
        Refusal: naming the anchor, both counts, the file and the release.
    """
    if found != expected:
        raise site.refuse(
            anchor,
            f"expected {expected}, found {found}",
            "this file is not one that the graft was made for (sglang 0.5.19 to"
            " 0.5.23): compare the anchor with the file and adapt the graft",
        )


def find_backend(body: Sequence[cst.CSTNode], site: Site) -> int:
    """Index of `class AiterAttnBackend` in a module's body.

    Raises:
        Refusal: there is none, or more than one.
    """
    found = [
        i for i in positions(body, BACKEND_CLASS) if m.matches(body[i], m.ClassDef())
    ]
    expect_count(f"class {BACKEND_CLASS}", len(found), site)
    return found[0]


def find_extend(body: Sequence[cst.CSTNode], site: Site) -> int:
    """Index of `forward_extend` in the class's body.

    Raises:
        Refusal: there is none, or more than one.
    """
    found = [
        i for i in positions(body, EXTEND_METHOD) if m.matches(body[i], m.FunctionDef())
    ]
    expect_count(f"{BACKEND_CLASS}.{EXTEND_METHOD}", len(found), site)
    return found[0]
