"""The kernel compiled for AMD's GPUs, on a machine that has none."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections import Counter

import pytest

from kv_gather.compiled import ARCHITECTURES, CASES, ROWS, TOTALS, Case

Compiled = dict[Case, dict[str, str]]
# A CU of gfx942 and gfx950 holds 512 VGPRs per lane of a SIMD: 64 leave eight waves.
VGPR_LIMIT = 64


@pytest.fixture(scope="module")
def compiled() -> Compiled:
    """By architecture, row bytes and bytes in all: the assembly and Triton's IR."""
    pytest.importorskip("triton", reason="compiling needs triton")
    path = os.pathsep.join(sys.path)
    done = subprocess.run(
        [sys.executable, "-m", "kv_gather.compiled"],
        capture_output=True,
        text=True,
        env={**os.environ, "TRITON_INTERPRET": "0", "PYTHONPATH": path},
    )
    assert done.returncode == 0, done.stderr
    return dict(zip(CASES, json.loads(done.stdout), strict=True))


@pytest.mark.parametrize("arch", ARCHITECTURES)
@pytest.mark.parametrize("row_bytes", ROWS)
@pytest.mark.parametrize("total", TOTALS)
def test_rows_move_sixteen_bytes_at_a_time(
    arch: str, row_bytes: int, total: int, compiled: Compiled
) -> None:
    assembly = compiled[arch, row_bytes, total]["amdgcn"]
    memory = Counter(
        re.findall(r"^\s+((?:global|flat|buffer|scratch|ds)_\S+)", assembly, re.M)
    )
    indices = memory.pop("global_load_dword", 0)
    # A buffer store adds a 32-bit offset within the row to a 64-bit base.
    wide = {"global_load_dwordx4", "global_store_dwordx4", "buffer_store_dwordx4"}
    assert set(memory) <= wide, memory
    loads = memory.pop("global_load_dwordx4")
    assert loads == memory.total(), (loads, memory)
    # A vector of K and one of V for each row that a thread works on, with its index.
    assert indices <= loads // 2, (indices, loads)


@pytest.mark.parametrize("arch", ARCHITECTURES)
@pytest.mark.parametrize("row_bytes", ROWS)
@pytest.mark.parametrize("total", TOTALS)
def test_registers_stay_within_bounds(
    arch: str, row_bytes: int, total: int, compiled: Compiled
) -> None:
    assembly = compiled[arch, row_bytes, total]["amdgcn"]
    found = {
        name: int(value)
        for name, value in re.findall(r"\.(\w+):\s+(\d+)$", assembly, re.M)
    }
    assert found["vgpr_count"] <= VGPR_LIMIT, found
    unused = (
        "vgpr_spill_count",
        "sgpr_spill_count",
        "private_segment_fixed_size",
        "group_segment_fixed_size",
    )
    assert not any(found[name] for name in unused), found


def test_slots_are_widened_before_they_are_multiplied(compiled: Compiled) -> None:
    ir = compiled["gfx950", 512, 2**20]["ttir"]
    index = re.search(r"(%\w+) = tt\.load .*xi32|(%\w+) = tt\.load .*ptr<i32>", ir)
    assert index, ir
    name = index[1] or index[2]
    uses = re.findall(rf"^.*{name}\b(?! =).*$", ir, re.M)
    assert uses and all("arith.extsi" in use for use in uses), uses
    narrow = re.findall(r"^.*arith\.muli .*i32.*$", ir, re.M)
    assert not narrow, narrow
