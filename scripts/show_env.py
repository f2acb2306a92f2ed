"""Versions, device, graft state and flags, as a block to paste into an issue.

Every line is probed on its own: a half-broken machine still prints the rest.

Example: make env URL=http://127.0.0.1:30000, which adds what is in force in a server
"""

from __future__ import annotations

import argparse
import importlib.metadata
import importlib.util
import json
import os
import platform
import re
import subprocess
import sys
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = (
    "sglang",
    "torch",
    "triton",
    "aiter",
    "amd-aiter",
    "transformers",
    "lm-eval",
    "libcst",
)
# Variables that change what a server or aiter computes.
PREFIXES = ("SGLANG_", "SGL_", "AITER_", "TRITON_", "HIP_", "ROCR_", "OMP_", "GPU_")
SECRET = re.compile("KEY|TOKEN|SECRET|PASSWORD")
IN_FORCE = (
    "version",
    "page_size",
    "chunked_prefill_size",
    "kv_cache_dtype",
    "attention_backend",
    "disable_radix_cache",
    "tp_size",
    "device",
)
COUNTER = "sglang:asm_context_prefill_total"
# A server that does not answer must not keep the rest from being shown.
TIMEOUT_S = 5


def _version(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "not installed"


def _commit() -> str:
    command = ["git", "-C", str(ROOT), "describe", "--always", "--dirty"]
    return subprocess.run(
        command, capture_output=True, text=True, check=True
    ).stdout.strip()


def _device() -> str:
    import torch

    if not torch.cuda.is_available():
        return "CPU only"
    kind = f"ROCm {torch.version.hip}" if torch.version.hip else "CUDA"
    found = torch.cuda.get_device_properties(0)
    # Of AMD's GPUs alone.
    architecture = getattr(found, "gcnArchName", "")
    parts = (found.name, architecture, kind)
    return f"{torch.cuda.device_count()} x {', '.join(filter(None, parts))}"


def _aiter() -> str:
    spec = importlib.util.find_spec("aiter")
    where = "the reference of this repository" if spec is None else str(spec.origin)
    return f"{where} (SGLANG_PLATFORM=gfx950_reference always takes the reference)"


def _platforms() -> str:
    found = importlib.metadata.entry_points(group="sglang.srt.platforms")
    asked = os.environ.get("SGLANG_PLATFORM", "none by name")
    return f"asked for {asked}; out of tree: {', '.join(p.name for p in found) or 'no'}"


def _graft() -> str:
    import sglang_graft

    return str(sglang_graft.status(None))


def _flags() -> str:
    found = {
        name: "(set, not shown)" if SECRET.search(name) else value
        for name, value in sorted(os.environ.items())
        if name.startswith(PREFIXES)
    }
    return "\n".join(f"{name}={value}" for name, value in found.items()) or "none"


def _get(url: str) -> str:
    # Not through a proxy that the environment names.
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(url, timeout=TIMEOUT_S) as reply:
        text: str = reply.read().decode()
    return text


def _in_force(url: str) -> str:
    info: dict[str, Any] = json.loads(_get(f"{url}/server_info"))
    return "\n".join(f"{name}={info.get(name, 'unknown')}" for name in IN_FORCE)


def _context_prefill(url: str) -> str:
    lines = _get(f"{url}/metrics").splitlines()
    counts = [line for line in lines if line.startswith(COUNTER)]
    return "\n".join(counts) or "no batch reached the ASM context-chunk branch"


def _line(name: str, probe: Callable[[], str]) -> str:
    try:
        found = probe()
    except Exception as error:  # any fault of the machine is a line of the report
        found = f"cannot be read: {type(error).__name__}: {error}"
    first, *others = found.splitlines() or [""]
    return "\n".join([f"{name:<14}{first}", *(f"{'':<14}{line}" for line in others)])


def _report(url: str | None) -> Iterator[str]:
    yield f"{'python':<14}{sys.version.split()[0]} at {sys.prefix}"
    yield f"{'machine':<14}{platform.platform()}"
    yield _line("repository", _commit)
    for package in PACKAGES:
        yield _line(package, lambda package=package: _version(package))  # type: ignore[misc]
    yield _line("device", _device)
    yield _line("aiter from", _aiter)
    yield _line("platform", _platforms)
    yield _line("graft", _graft)
    yield _line("flags", _flags)
    if url:
        yield _line("in force", lambda: _in_force(url))
        yield _line("ASM prefill", lambda: _context_prefill(url))


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "url", nargs="?", help="a running server (default: none is asked)"
    )
    arguments = parser.parse_args(argv)
    # The graft needs no installation of this repository.
    sys.path.append(str(ROOT / "python"))
    print("```text")
    for line in _report(arguments.url and arguments.url.rstrip("/")):
        print(line, flush=True)
    print("```")
    return 0


if __name__ == "__main__":
    sys.exit(main())
