"""Everything that a score depends on, so that unlike results are never compared."""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import os
import platform
from pathlib import Path
from typing import Any

import sglang_graft
from page_size_eval.fingerprint import fingerprint, fingerprint_folder
from page_size_eval.serving.hardware import Hardware
from page_size_eval.settings import ROOT, TINY_TASK, Settings

PACKAGES = (
    "sglang",
    "torch",
    "triton",
    "aiter",
    "amd-aiter",
    "transformers",
    "lm-eval",
)
# Variables that change what a server or aiter computes.
PREFIXES = ("SGLANG_", "SGL_", "AITER_", "TRITON_", "HIP_", "ROCR_", "OMP_")
DATA_VARIABLE = "GSM8K_DATA"


def make_recipe(settings: Settings, hardware: Hardware) -> dict[str, Any]:
    """The recipe of a run, in JSON types."""
    return {
        "task": settings.task,
        "data": _data(settings.task),
        "limit": settings.limit,
        "repeats": settings.repeats,
        "concurrency": settings.concurrency,
        "max_gen_toks": settings.max_gen_toks,
        "chunk": settings.chunk,
        "model": None if settings.urls else settings.model.name,
        "model_hash": None if settings.urls else fingerprint_folder(settings.model),
        "servers": list(settings.urls) or list(settings.server_arguments),
        "hardware": hardware.name,
        "hardware_arguments": list(hardware.arguments),
        "planted_defect": settings.defect,
        "versions": _versions(),
        "overlay": fingerprint_folder(ROOT / "python" / "sglang"),
        "reference": fingerprint_folder(ROOT / "python" / "aiter_reference"),
        "fork": _fork(),
        "unpatched": _backend_of(settings.tree) if settings.tree else None,
        "environment": {
            name: value
            for name, value in sorted(os.environ.items())
            if name.startswith(PREFIXES)
        },
    }


def key_of(recipe: dict[str, Any]) -> str:
    """SHA-256 of a recipe: results with different keys do not compare."""
    text = json.dumps(recipe, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def _versions() -> dict[str, str]:
    found = {"python": platform.python_version()}
    for package in PACKAGES:
        try:
            found[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


def _fork() -> str:
    """The state of the installed SGLang, or why it cannot be told."""
    status = sglang_graft.status(None)
    return status.reason if isinstance(status, sglang_graft.Refused) else status.state


def _data(task: str) -> str | None:
    """Hash of the questions, where they are files; lm-eval's own come from a hub."""
    folder = ROOT / "benchmark" / "gsm8k" / "data"
    if task != TINY_TASK:
        if not os.environ.get(DATA_VARIABLE):
            return None
        folder = Path(os.environ[DATA_VARIABLE])
    return fingerprint(folder, folder.glob("*.jsonl"))


def _backend_of(tree: Path) -> str:
    attention = tree / "sglang" / "srt" / "layers" / "attention"
    return fingerprint(attention, attention.glob("aiter*.py"))
