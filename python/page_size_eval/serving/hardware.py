"""Where the servers run: a ROCm GPU with aiter, or the reference platform on a CPU."""

from __future__ import annotations

import importlib.util
import os
from dataclasses import dataclass

REFERENCE_PLATFORM = "gfx950_reference"


@dataclass(frozen=True)
class Hardware:
    """What a server needs on this machine, whatever the page size."""

    name: str
    arguments: tuple[str, ...]
    environment: dict[str, str]
    concurrency: int
    default_limit: int | None
    # Whether a server can start while another one is asked.
    starts_ahead: bool


ROCM = Hardware(
    name="ROCm GPU with aiter",
    # Hybrid models reset the page size to 1 with the radix cache on.
    arguments=("--disable-radix-cache", "--mem-fraction-static", "0.85"),
    environment={"SGLANG_USE_AITER": "1"},
    concurrency=32,
    default_limit=None,
    # Each takes the GPU's memory.
    starts_ahead=False,
)

CPU = Hardware(
    name="CPU, reference kernels",
    arguments=(
        "--disable-radix-cache",
        "--device=cpu",
        "--max-total-tokens=65536",
        "--disable-cuda-graph",
        "--sampling-backend=pytorch",
        "--grammar-backend=none",
        "--skip-server-warmup",
        # The scheduler spins otherwise, on a core that the questions need.
        "--sleep-on-idle",
    ),
    environment={
        "SGLANG_PLATFORM": REFERENCE_PLATFORM,
        "TRITON_INTERPRET": "1",
        # One core to each server: OpenMP's threads spin for each other where anything
        # else runs, and then every step takes four to ten times as long.
        "OMP_NUM_THREADS": "1",
        # The model and the data are files of this repository.
        "HF_HUB_OFFLINE": "1",
    },
    concurrency=32,
    default_limit=200,
    starts_ahead=True,
)


def detect() -> Hardware:
    """The ROCm GPU if torch sees one and aiter is installed, else this CPU.

    SGLANG_PLATFORM=gfx950_reference asks for the CPU on any machine.
    """
    if os.environ.get("SGLANG_PLATFORM") == REFERENCE_PLATFORM:
        return CPU
    import torch

    has_gpu = torch.version.hip is not None and torch.cuda.is_available()
    return ROCM if has_gpu and importlib.util.find_spec("aiter") else CPU
