"""A small SGLang tree and a small overlay, made anew for each test."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Mapping
from pathlib import Path

import pytest

import sglang_graft

TREES = Path(__file__).parent / "trees"
RELEASES = os.environ.get("SGLANG_RELEASES")
BACKEND = "srt/layers/attention/aiter_backend.py"


class Sandbox:
    """Holds a target and an overlay, and grafts the one with the other."""

    def __init__(self, root: Path) -> None:
        self.site_packages = root / "site-packages"
        self.package = self.site_packages / "sglang"
        self.overlay = root / "overlay"
        self.backend = self.package / BACKEND
        self.state = self.package / ".sglang_graft"

    @staticmethod
    def text(name: str) -> str:
        """The text of trees/<name>.py.txt."""
        return (TREES / f"{name}.py.txt").read_text()

    def make_target(self, source: str | bytes, release: str = "0.5.23") -> None:
        """A package of `release` whose backend file is `source`."""
        self.backend.parent.mkdir(parents=True, exist_ok=True)
        content = source.encode() if isinstance(source, str) else source
        self.backend.write_bytes(content)
        (self.package / "__init__.py").write_text("raise SystemExit('imported')\n")
        (self.package / "_version.py").write_text(
            f"__version__ = version = '{release}'\n"
        )

    def copy_target(self, package: Path) -> None:
        """What the graft looks at of a real package; of a grafted one, its original."""
        backup = package / ".sglang_graft/backup" / BACKEND
        source = backup if backup.exists() else package / BACKEND
        version = (package / "_version.py").read_text()
        self.make_target(source.read_bytes())
        (self.package / "_version.py").write_text(version)

    def make_overlay(
        self, source: str, new_files: Mapping[str, str] | None = None
    ) -> None:
        """An overlay whose spliced file is `source`."""
        for path, content in {BACKEND: source, **(new_files or {})}.items():
            file = self.overlay / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(content)

    def apply(self, *only: str) -> sglang_graft.Outcome:
        """Apply the overlay to the package."""
        return sglang_graft.apply(self.package, only, self.overlay)

    def revert(self) -> sglang_graft.Outcome:
        """Revert the package."""
        return sglang_graft.revert(self.package, self.overlay)

    def status(self) -> sglang_graft.Status:
        """The package's status, which must be readable."""
        found = sglang_graft.status(self.package, self.overlay)
        assert isinstance(found, sglang_graft.Status), found
        return found

    def refused(self, *only: str) -> sglang_graft.Refused:
        """Apply, which must refuse and leave every file as it is."""
        before = self.snapshot()
        outcome = self.apply(*only)
        assert isinstance(outcome, sglang_graft.Refused), outcome
        assert self.snapshot() == before
        return outcome

    def snapshot(self) -> dict[str, tuple[bytes, int, int]]:
        """Content, time of change and mode of every file of the package."""
        return {
            path.relative_to(self.package).as_posix(): (
                path.read_bytes(),
                path.stat().st_mtime_ns,
                path.stat().st_mode,
            )
            for path in sorted(self.package.rglob("*"))
            if path.is_file()
        }


@pytest.fixture
def sandbox(tmp_path: Path) -> Sandbox:
    """Target: the first, inline form of the branch. Overlay: that of the tests."""
    box = Sandbox(tmp_path)
    box.make_target(box.text("inline"))
    box.make_overlay(box.text("overlay"))
    return box


@pytest.fixture
def installed() -> Path:
    """The installed package."""
    spec = importlib.util.find_spec("sglang")
    if spec is None or spec.origin is None:
        pytest.skip("needs an installed sglang")
    return Path(spec.origin).parent


@pytest.fixture
def release(request: pytest.FixtureRequest) -> Path:
    """The package of one release, by its version."""
    if RELEASES is None:
        pytest.skip("needs SGLANGRELEASES: a folder with <version>/sglang/ in it")
    version: str = request.param
    package = Path(RELEASES) / version / "sglang"
    if not package.is_dir():
        pytest.skip(f"needs {version}/sglang in SGLANGRELEASES")
    return package
