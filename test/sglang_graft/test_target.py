"""Which trees are found, and which release they are taken for."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import sglang_graft
from sglang_graft import Applied, Refused, Status

if TYPE_CHECKING:
    from sglang_graft.conftest import Sandbox

_PYTHON = Path(sglang_graft.__file__).parents[1]


def test_package_and_site_packages_are_found(sandbox: Sandbox) -> None:
    for target in (sandbox.package, sandbox.site_packages):
        outcome = sglang_graft.apply(target, (), sandbox.overlay)
        assert isinstance(outcome, Applied), outcome
        assert outcome.package == sandbox.package
        sandbox.revert()


def test_source_checkout_is_found(sandbox: Sandbox, tmp_path: Path) -> None:
    checkout = tmp_path / "sglang"
    checkout.mkdir()
    sandbox.site_packages.rename(checkout / "python")
    outcome = sglang_graft.apply(checkout, (), sandbox.overlay)
    assert isinstance(outcome, Applied), outcome
    assert outcome.package == checkout / "python" / "sglang"


def test_installed_package_is_found_without_importing_it(
    sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(sys.modules, "sglang", raising=False)
    # The overlay's parent comes first, as where the tests run; it is no package.
    monkeypatch.setattr(sys, "path", [str(_PYTHON), str(sandbox.site_packages)])
    outcome = sglang_graft.apply(None, (), sandbox.overlay)
    assert isinstance(outcome, Applied), outcome
    assert outcome.package == sandbox.package
    assert "sglang" not in sys.modules


def test_interpreter_without_sglang_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "sglang", raising=False)
    monkeypatch.setattr(sys, "path", [str(_PYTHON)])
    outcome = sglang_graft.apply()
    assert isinstance(outcome, Refused), outcome
    assert outcome.anchor == "target"
    assert "--target" in outcome.next_step


@pytest.mark.parametrize("path", ["sglang", "sglang/srt", ".", ".."])
def test_overlay_of_this_repository_is_refused(path: str) -> None:
    for operation in (sglang_graft.apply, sglang_graft.revert, sglang_graft.status):
        outcome = operation(_PYTHON / path)
        assert isinstance(outcome, Refused), outcome
        assert "is the overlay" in outcome.reason


def test_folder_without_sglang_is_refused(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "absent"):
        outcome = sglang_graft.apply(path)
        assert isinstance(outcome, Refused), outcome
        assert str(path) in outcome.reason


@pytest.mark.parametrize(
    ("files", "release"),
    [
        ({"sglang/_version.py": "__version__ = version = '0.5.21'\n"}, "0.5.21"),
        ({"sglang/version.py": '__version__ = "0.5.20"\n'}, "0.5.20"),
        ({"sglang/version.py": "try:\n    __version__ = '0.0.0.dev0'\n"}, "unknown"),
        ({"sglang-0.5.19.dist-info/METADATA": "Version: 0.5.19\n"}, "0.5.19"),
        ({"sglang.egg-info/PKG-INFO": "Name: x\nVersion: 0.5.22\n"}, "0.5.22"),
        ({}, "unknown"),
    ],
)
def test_release_is_read_from_files(
    sandbox: Sandbox, files: dict[str, str], release: str
) -> None:
    (sandbox.package / "_version.py").unlink()
    for path, content in files.items():
        file = sandbox.site_packages / path
        file.parent.mkdir(exist_ok=True)
        file.write_text(content)
    found = sglang_graft.status(sandbox.package, sandbox.overlay)
    assert isinstance(found, Status), found
    assert found.release == release
    assert isinstance(sandbox.apply(), Applied)
