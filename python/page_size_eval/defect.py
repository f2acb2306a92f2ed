"""Planting a defect of the catalogue in a server's workers, to see a check fail.

Entry point of the group `sglang.srt.plugins`, which SGLang runs in every process it
starts. Without the variable it does nothing.
"""

from __future__ import annotations

import os
import runpy
import sys
from pathlib import Path

from page_size_eval.errors import CannotMeasure

VARIABLE = "SGLANG_PLANTED_DEFECT"
CATALOGUE = Path(__file__).resolve().parents[2] / "test" / "defects"


def defect_names() -> list[str]:
    """The names of the catalogue, one file each."""
    return sorted(path.stem for path in CATALOGUE.glob("[!_]*.py"))


def require_defect(name: str) -> str:
    """`name`, or CannotMeasure if the catalogue does not have it."""
    if name not in defect_names():
        raise CannotMeasure(
            f"defect {name!r}: expected one of {', '.join(defect_names())}."
            " Next: make gsm8k PAGE=16 DEFECT=page_granular"
        )
    return name


def require_planted(name: str, log: Path) -> None:
    """Raise CannotMeasure unless the server with this log has planted the defect."""
    if _planted(name) not in log.read_text(errors="replace"):
        raise CannotMeasure(
            f"defect {name}: expected the server to plant it, it did not. Next: make"
            f" setup, which registers the plugin, and read {log}"
        )


def plant_requested() -> None:
    """Plant the defect that the environment names, in this process."""
    name = os.environ.get(VARIABLE)
    if not name:
        return
    try:
        _initialise_platform()
        runpy.run_path(str(CATALOGUE / f"{name}.py"))["plant"]()
    except Exception as error:
        # SGLang logs a plugin's exception and serves on, which here would pass a
        # sound server off as a defective one.
        sys.exit(f"{VARIABLE}={name}: cannot be planted: {error!r}")
    print(_planted(name), file=sys.stderr, flush=True)


def _planted(name: str) -> str:
    return f"planted defect: {name}"


def _initialise_platform() -> None:
    """Let aiter be there before the backend is imported: SGLang does this later."""
    from sglang.srt.platforms import current_platform

    if current_platform.is_out_of_tree():
        current_platform.init_backend()
