"""The planted page-granular reading, and how a defect gets into a process."""

from __future__ import annotations

import os
import runpy
import subprocess
import sys

import torch

from page_size_eval.defect import CATALOGUE, VARIABLE, defect_names
from page_size_eval.serving.hardware import CPU

PLANT = """
from page_size_eval.defect import plant_requested
plant_requested()
from sglang.srt.layers.attention import aiter_backend
assert aiter_backend.reset_verify_attn_plan_cache, "imported before aiter was there"
"""

PLANT_EACH = """
import os, sys
from sglang.srt.platforms import current_platform
from page_size_eval.defect import VARIABLE, plant_requested
current_platform.init_backend()
import sglang.srt.layers.attention.aiter_backend
for name in sys.argv[1:]:
    pid = os.fork()
    if pid == 0:
        os.environ[VARIABLE] = name
        plant_requested()
        os._exit(0)
    if os.waitpid(pid, 0)[1]:
        sys.exit(f"{name} was not planted")
"""


def plant(name: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", PLANT],
        capture_output=True,
        text=True,
        env={**os.environ, **CPU.environment, VARIABLE: name},
    )


def test_page_granular_equals_token_reading_at_page_1_only() -> None:
    reading = runpy.run_path(str(CATALOGUE / "page_granular.py"))[
        "page_granular_indices"
    ]
    # Two sequences of 3 and 2 tokens; kv_indptr starts behind another row.
    kv_indptr = torch.tensor([1, 4, 6])
    kv_indices = torch.tensor([9, 2, 3, 6, 4, 5])
    assert reading(kv_indptr, kv_indices, 1).tolist() == [2, 3, 6, 4, 5]
    # Entry t // 2 of each row, as if it were a page: 2 -> 4, 5; 3 -> 6; 4 -> 8, 9.
    assert reading(kv_indptr, kv_indices, 2).tolist() == [4, 5, 6, 8, 9]


def test_every_defect_of_the_catalogue_can_be_planted() -> None:
    """In forks of one process, since the imports take longer than all the planting."""
    names = defect_names()
    done = subprocess.run(
        [sys.executable, "-c", PLANT_EACH, *names],
        capture_output=True,
        text=True,
        env={**os.environ, **CPU.environment, VARIABLE: ""},
    )
    assert done.returncode == 0, done.stderr
    for name in names:
        assert f"planted defect: {name}\n" in done.stderr, (name, done.stderr)


def test_a_defect_that_cannot_be_planted_ends_the_process() -> None:
    done = plant("nonsense")
    assert done.returncode == 1
    assert "nonsense: cannot be planted" in done.stderr
