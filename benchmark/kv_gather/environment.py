"""What a result depends on besides the code: printed first and kept in the JSON."""

from __future__ import annotations

import shlex
import subprocess
from pathlib import Path

import torch
import triton

REPOSITORY = Path(__file__).resolve().parents[2]


def describe_environment(module: str, argv: list[str], seed: int) -> dict[str, str]:
    """GPU, versions, commit, seed, and the command that repeats the run."""
    device = torch.cuda.get_device_properties(0)
    return {
        "gpu": device.name,
        "l2_cache_mb": f"{device.L2_cache_size / 2**20:.0f}",
        "torch": torch.__version__,
        "triton": triton.__version__,
        "runtime": f"ROCm {torch.version.hip}"
        if torch.version.hip
        else f"CUDA {torch.version.cuda}",
        "commit": _commit(),
        "seed": str(seed),
        "command": shlex.join(["python", "-m", module, *argv]),
    }


def _commit() -> str:
    done = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout.strip() or "unknown: not a git checkout"
