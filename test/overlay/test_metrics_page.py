"""What /metrics shows after real fall backs: HELP, and the reason of each."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from prometheus_client.parser import text_string_to_metric_families

FILE = (
    Path(__file__).resolve().parents[2]
    / "python/sglang/srt/layers/attention/aiter_backend.py"
)
COUNTER = "sglang:asm_context_prefill"
# One rank: every reason by tables that have it, and one hit. Then the page, as SGLang
# makes it of the files that its processes leave.
RANK = """
import runpy, sys
from types import SimpleNamespace
import torch
overlay = runpy.run_path(sys.argv[1])
gather = overlay["_asm_context_prefill_gather_indices"]
tensor = torch.tensor
for kv_indptr, kv_indices, seq_lens in (
    ([0, 1], [3], [1, 1]),
    ([-1, 2], [3, 4], [1]),
    ([0, 3, 1], [1, 2, 3, 4], [1, 1]),
    ([0, 2], [1, 2], [-3]),
    ([0, 3], [1, 2], [3]),
    ([0, 2], [1, -1], [2]),
    ([0, 2], [1, 8], [2]),
):
    assert gather(tensor(kv_indptr), tensor(kv_indices), tensor(seq_lens), 8) is None
overlay["_count_asm_context_hit"](SimpleNamespace())

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector
registry = CollectorRegistry()
MultiProcessCollector(registry)
print(generate_latest(registry).decode())
"""


def test_every_outcome_is_on_the_page_with_help_and_ranks_add_up(
    tmp_path: Path,
) -> None:
    # Before prometheus_client is imported, which is why this is another process.
    environment = {**os.environ, "PROMETHEUS_MULTIPROC_DIR": str(tmp_path)}
    for _rank in range(2):
        done = subprocess.run(
            [sys.executable, "-c", RANK, str(FILE)],
            capture_output=True,
            text=True,
            env=environment,
        )
        assert done.returncode == 0, done.stderr
    assert f"# HELP {COUNTER}_total Batches by outcome" in done.stdout
    (family,) = text_string_to_metric_families(done.stdout)
    assert family.type == "counter" and "paged kernel" in family.documentation
    counts = {s.labels["outcome"]: s.value for s in family.samples}
    assert counts == {
        outcome: 2
        for outcome in (
            "hit",
            "batch_size_mismatch",
            "negative_kv_indptr",
            "decreasing_kv_indptr",
            "negative_seq_len",
            "row_past_table",
            "negative_slot",
            "slot_past_pool",
        )
    }
