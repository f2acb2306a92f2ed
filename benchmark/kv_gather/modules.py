"""Loads the overlay's files by path: they need torch alone, not SGLang."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

from benchmark.kv_gather.environment import REPOSITORY

ATTENTION = Path("sglang/srt/layers/attention")
GATHER_FILE = REPOSITORY / "python" / ATTENTION / "aiter_kv_gather.py"
BACKEND_FILE = REPOSITORY / "python" / ATTENTION / "aiter_backend.py"


def load_file(path: Path) -> ModuleType:
    """The module at `path`, executed anew."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise FileNotFoundError(f"expected a Python file at {path}")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
