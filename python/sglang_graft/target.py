"""Finds the SGLang package that is to be grafted, without importing it."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import re
from dataclasses import dataclass
from pathlib import Path

from sglang_graft.outcome import Refusal

# Where a source checkout has the package.
CHECKOUT_PATH = "python/sglang"

_UNKNOWN = "unknown"
_VERSION_LINE = re.compile(r"^__version__\s*(?:=.*)?=\s*['\"]([^'\"]+)['\"]", re.M)
_METADATA_LINE = re.compile(r"^Version:\s*(\S+)", re.M)


@dataclass(frozen=True)
class Target:
    """An SGLang package folder and the release that it says it is."""

    package: Path
    release: str

    @property
    def checkout(self) -> Path | None:
        """The source checkout that the package is in, None for an installed one."""
        root = self.package.parent.parent
        return root if root / CHECKOUT_PATH == self.package else None


def find_target(path: Path | None, overlay_root: Path) -> Target:
    """The package at `path`, or the one that this interpreter would import.

    `path` is the package itself, a source checkout (holds python/sglang) or a
    site-packages folder (holds sglang).

    Raises:
        Refusal: there is no SGLang package, or it is this repository's overlay.
    """
    if path is None:
        return _installed(overlay_root)
    for folder in (path / CHECKOUT_PATH, path / "sglang", path):
        package = folder.resolve()
        _refuse_overlay(package, overlay_root)
        if _is_package(package):
            return Target(package, _release(package))
    raise Refusal(
        "target",
        f"{path} holds no SGLang package: expected __init__.py and srt/ in it, in"
        " sglang/ or in python/sglang/",
        "pass the package folder, a site-packages folder or a source checkout",
    )


def _installed(overlay_root: Path) -> Target:
    try:
        spec = importlib.util.find_spec("sglang")
    except ValueError:
        spec = None
    for location in (spec and spec.submodule_search_locations) or ():
        package = Path(location).resolve()
        if _is_package(package):
            _refuse_overlay(package, overlay_root)
            return Target(package, _release(package, installed=True))
    raise Refusal(
        "target",
        "this interpreter has no sglang package",
        "install SGLang, run the interpreter that has it, or pass --target",
    )


def _is_package(folder: Path) -> bool:
    return (folder / "__init__.py").is_file() and (folder / "srt").is_dir()


def _refuse_overlay(package: Path, overlay_root: Path) -> None:
    overlay = overlay_root.resolve()
    if package == overlay or overlay in package.parents:
        raise Refusal(
            "target",
            f"{package} is the overlay that is spliced from, not an SGLang tree",
            "pass --target with an SGLang checkout or a site-packages folder",
        )


def _release(package: Path, installed: bool = False) -> str:
    """What the package's own files say first: metadata may be left from another."""
    candidates = [
        (package / "_version.py", _VERSION_LINE),
        *((p, _METADATA_LINE) for p in _metadata_files(package.parent)),
        (package / "version.py", _VERSION_LINE),
    ]
    for file, line in candidates:
        if file.is_file():
            found = line.search(file.read_text(encoding="utf-8", errors="replace"))
            if found:
                return found.group(1)
    if installed:
        # An editable install keeps its metadata away from the package.
        try:
            return importlib.metadata.version("sglang")
        except importlib.metadata.PackageNotFoundError:
            return _UNKNOWN
    return _UNKNOWN


def _metadata_files(folder: Path) -> list[Path]:
    return [
        *sorted(folder.glob("sglang-*.dist-info/METADATA")),
        folder / "sglang.egg-info" / "PKG-INFO",
    ]
