"""Versions, device and graft state, to paste into an issue.

Every line is probed on its own: a half-broken machine still prints the rest.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import platform
import sys
from collections.abc import Callable

PACKAGES = ("sglang", "torch", "triton", "aiter", "transformers", "lm-eval", "libcst")


def _version(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "not installed"


def _device() -> str:
    import torch

    if not torch.cuda.is_available():
        return "CPU only"
    kind = f"ROCm {torch.version.hip}" if torch.version.hip else "CUDA"
    name = torch.cuda.get_device_properties(0).name
    return f"{torch.cuda.device_count()} x {name}, {kind}"


def _aiter() -> str:
    spec = importlib.util.find_spec("aiter")
    where = "the reference of this repository" if spec is None else str(spec.origin)
    return f"{where} (SGLANG_PLATFORM=gfx950_reference always takes the reference)"


def _graft() -> str:
    import sglang_graft

    return str(sglang_graft.status(None))


def _line(name: str, probe: Callable[[], str]) -> str:
    try:
        return f"{name:<14}{probe()}"
    except Exception as error:  # any fault of the machine is a line of the report
        return f"{name:<14}cannot be read: {type(error).__name__}: {error}"


def main() -> int:
    print(f"{'python':<14}{sys.version.split()[0]} at {sys.prefix}")
    print(f"{'machine':<14}{platform.platform()}")
    for package in PACKAGES:
        print(_line(package, lambda package=package: _version(package)))  # type: ignore[misc]
    for name, probe in (("device", _device), ("aiter from", _aiter), ("graft", _graft)):
        print(_line(name, probe))
    return 0


if __name__ == "__main__":
    sys.exit(main())
