"""A release with the overlay in it, in front of the installed one for a run of tests.

The packages are the installed release's, but for the light ones that a release pins to
another version: those are kept beside the releases and put in front as well.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import sglang_graft

ROOT = Path(__file__).resolve().parents[1]
# 0.5.19 registers models that later transformers have themselves, and fails to import.
LIGHT = ("transformers", "tokenizers")
# The properties first: they import the backend with the reference aiter in place, which
# the overlay's tests, imported first, would leave without.
TESTS = (
    "test/properties",
    "test/overlay",
    "test/registered/attention",
    "test/producers",
)


@dataclass(frozen=True)
class Tree:
    """A copy of one release.

    Attributes:
        root: the folder that has the package `sglang`.
        pins: name==version of the packages that are its own.
        beside: the folder that has them, if there are any.
    """

    version: str
    root: Path
    pins: tuple[str, ...]
    beside: Path | None

    @property
    def package(self) -> Path:
        return self.root / "sglang"

    def environment(self) -> dict[str, str]:
        """Of a process that imports this release and its own packages."""
        front = [self.root, self.beside, os.environ.get("PYTHONPATH")]
        path = os.pathsep.join(str(part) for part in front if part)
        return {**os.environ, "PYTHONPATH": path}

    def run_pytest(self, arguments: Sequence[str]) -> int:
        """Pytest's exit status on this release."""
        command = [sys.executable, "-m", "pytest", "-q", *arguments]
        return subprocess.run(command, cwd=ROOT, env=self.environment()).returncode


def new_parser(about: str | None) -> argparse.ArgumentParser:
    """The command line of a script on releases: where they are kept."""
    parser = argparse.ArgumentParser(
        description=about, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--folder",
        type=Path,
        default=ROOT / ".venv" / "releases",
        help="where releases are kept (default: %(default)s)",
    )
    return parser


def unwind_on_sigterm() -> None:
    """A killed run ends its tests and removes its copy, as Ctrl-C does."""
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))


def own_pins(release: Path) -> tuple[str, ...]:
    """name==version of what an unpacked release pins and is installed otherwise."""
    (info,) = release.glob("*.dist-info")
    requires = importlib.metadata.Distribution.at(info).requires or []
    pinned = [re.fullmatch(r"([\w-]+)==([\w.]+)", line) for line in requires]
    return tuple(
        f"{pin[1]}=={pin[2]}"
        for pin in pinned
        if pin and pin[1] in LIGHT and importlib.metadata.version(pin[1]) != pin[2]
    )


def fetch_beside(pins: Sequence[str], folder: Path) -> Path | None:
    """The folder with exactly these packages, installed once; None if pip cannot."""
    target = folder / "beside" / "+".join(sorted(pins))
    if target.exists():
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent) as scratch:
        command = [sys.executable, "-m", "pip", "-q", "--no-input", "install"]
        command += ["--no-deps", "--only-binary=:all:", "--target", f"{scratch}/all"]
        if subprocess.run([*command, *pins]).returncode:
            return None
        # In one step: an interrupted installation leaves no half one behind.
        Path(scratch, "all").rename(target)
    return target


@contextmanager
def grafted(version: str, folder: Path) -> Iterator[Tree | sglang_graft.Refused | None]:
    """A grafted copy of the release in folder/version, for the time of the block.

    Yields the refusal if the overlay does not fit, and None if its own packages cannot
    be downloaded.
    """
    with tempfile.TemporaryDirectory(prefix="sglang-release-") as scratch:
        package = Path(scratch) / "sglang"
        shutil.copytree(folder / version / "sglang", package)
        outcome = sglang_graft.apply(package)
        if isinstance(outcome, sglang_graft.Refused):
            yield outcome
            return
        pins = own_pins(folder / version)
        beside = fetch_beside(pins, folder) if pins else None
        if pins and beside is None:
            yield None
            return
        yield Tree(version, Path(scratch), pins, beside)
