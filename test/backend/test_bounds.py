"""Bounds that kernels size their grids and offsets by, which the reference ignores."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from backend.bench import DRAFT_EXTEND, VERIFY, Bench, require_right
from backend.branches import Call, recorded
from backend.drafts import run_drafts
from backend.shapes import Setup
from backend.switches import switched

PREFIXES, TOKENS = [250, 5, 64], [1, 20, 7]
# A partition of the decode kernel is 256 tokens: one token in the second.
CONTEXT = 300


def require_bounds(call: Call, lens: list[int], tokens: list[int]) -> None:
    """No row is longer than the kernel is told."""
    given = call.arguments
    if "max_num_partitions" in given:
        room = given["max_num_partitions"] * given["partition_size"]
        assert room >= max(lens), (call.form, room, lens)
        return
    assert given["max_seqlen_k"] >= max(lens), (call.form, given["max_seqlen_k"], lens)
    assert given["max_seqlen_q"] >= max(tokens), (call.form, given["max_seqlen_q"])
    if "seqused_k" in given:
        # Offsets into K and V take their width from it: 2 GiB of a layer are enough.
        assert given["seqused_k"].dtype == torch.int64, (call.form, given["seqused_k"])


@pytest.mark.parametrize(
    ("setup", "switches"),
    [
        ({}, ()),
        ({"head_dim": 128}, ()),
        ({"page_size": 64}, ()),
        ({"kv_dtype": torch.bfloat16}, ()),
        ({"kv_dtype": torch.bfloat16}, ("unified",)),
        ({"window": 20}, ()),
    ],
    ids=["gathered", "head_dim 128", "view", "bfloat16", "unified", "window pool"],
)
def test_no_row_is_longer_than_the_kernel_is_told(
    setup: dict[str, Any], switches: tuple[str, ...]
) -> None:
    with switched(*switches), recorded() as calls:
        bench = Bench(Setup(context_len=CONTEXT, **setup))
        keys = bench.setup.window
        requests = bench.admit(PREFIXES)
        require_right(bench.run(bench.take(requests, TOKENS), keys=keys))
        extends = len(calls)
        for _ in range(10):
            require_right(bench.decode(requests, keys=keys))
    assert extends == len(bench.layers) and len(calls) == 11 * extends
    ends = [p + t for p, t in zip(PREFIXES, TOKENS, strict=True)]
    for number, call in enumerate(calls):
        step = number // extends
        tokens = [1] * len(ends) if step else TOKENS
        require_bounds(call, [end + step for end in ends], tokens)


@pytest.mark.parametrize("mode", [VERIFY, DRAFT_EXTEND], ids=lambda mode: mode.name)
def test_no_row_of_drafts_is_longer_than_the_kernel_is_told(mode: Any) -> None:
    drafted = 3
    with switched("unified"), recorded() as calls:
        bench = Bench(Setup(context_len=CONTEXT, draft_tokens=drafted))
        parts = bench.take(bench.admit(PREFIXES), [drafted] * len(PREFIXES))
        require_right(run_drafts(bench, parts, mode))
    (call,) = calls
    require_bounds(call, [part.end for part in parts], [drafted])


def test_window_longer_than_the_chunk_is_kept() -> None:
    """A bound is none if it reaches the longest row of keys, the prefix among them."""
    window = 30
    bench = Bench(Setup(layer_window=window))
    parts = bench.take(bench.admit([70, 40, 0]), [20, 1, 7])
    with recorded() as calls:
        require_right(bench.run(parts, keys=window + 1))
    form = f"mha_batch_prefill_func: fp8 slots, window {window}"
    assert [call.form for call in calls] == [form]
