"""Lengths at, before and behind the ends of pages, all in one mixed batch.

sglang#22819: a request whose cached prefix was exactly one page was corrupted beside
requests without a prefix, ten times of ten.
"""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest
import torch

from backend.bench import Bench, require_right
from backend.branches import recorded
from backend.shapes import Setup
from backend.switches import switched

BF16 = torch.bfloat16
ASM = "flash_attn_varlen_fp8_pertensor_func: context chunk, head_dim {}"
CK = "mha_batch_prefill_func"
RAGGED = "paged_attention_ragged: fp8 slots"
HEADS: dict[str, Any] = {"q_heads": 2, "kv_heads": 1}

# (name, page size, setup, switches, what serves the extend batch, what decode)
BRANCHES = [
    *[
        ("gathered", page, {}, (), [ASM.format(256)], [RAGGED])
        for page in (1, 2, 16, 32, 128, 256)
    ],
    ("gathered", 64, {}, ("no view",), [ASM.format(256)], [RAGGED]),
    ("page view", 64, {}, (), [f"{CK}: fp8 pages of 64"], [RAGGED]),
    *[
        ("head_dim 128", page, {"head_dim": 128}, (), [ASM.format(128)], [RAGGED])
        for page in (1, 16, 64)
    ],
    *[
        (
            "bfloat16",
            page,
            {"kv_dtype": BF16},
            (),
            [f"{CK}: bfloat16 slots"],
            ["paged_attention_ragged: bfloat16 slots"],
        )
        for page in (1, 16, 64)
    ],
    *[
        (
            "unified",
            page,
            {"kv_dtype": BF16},
            ("unified",),
            [f"unified_attention: bfloat16 pages of {page}, bfloat16 queries"],
            [f"unified_attention: bfloat16 pages of {page}, one query"],
        )
        for page in (1, 16, 64)
    ],
]


def boundary_grid(page: int) -> tuple[list[int], list[int]]:
    """(prefixes, extends) of the rows: every prefix with every extend."""
    prefixes = {0, 1, page - 1, page, page + 1, 2 * page - 1, 2 * page, 2 * page + 1}
    extends = {1, page - 1, page, page + 1} - {0}
    rows = list(product(sorted(prefixes), sorted(extends)))
    return [prefix for prefix, _ in rows], [extend for _, extend in rows]


def sizes_of(page: int, rows: int) -> dict[str, Any]:
    """Enough for every row's longest lengths and one token more."""
    return {"context_len": 4 * page + 8, "slots": 6 * page * rows}


@pytest.mark.parametrize(
    ("page", "setup", "switches", "extend", "decode"),
    [pytest.param(*rest, id=f"{name}, page {rest[0]}") for name, *rest in BRANCHES],
)
def test_every_row_is_right(
    page: int,
    setup: dict[str, Any],
    switches: tuple[str, ...],
    extend: list[str],
    decode: list[str],
) -> None:
    prefixes, extends = boundary_grid(page)
    sizes = sizes_of(page, len(prefixes))
    with switched(*switches), recorded() as calls:
        bench = Bench(Setup(page_size=page, **HEADS, **sizes, **setup))
        requests = bench.admit(prefixes)
        require_right(bench.run(bench.take(requests, extends)), "extend")
        require_right(bench.decode(requests), "decode")
    assert [call.form for call in calls] == extend + decode


@pytest.mark.parametrize("page", [1, 16, 64])
@pytest.mark.parametrize("past", [-1, 0, 1])
def test_every_row_is_right_in_a_window_of_about_a_page(page: int, past: int) -> None:
    window = max(page + past, 1)
    prefixes, extends = boundary_grid(page)
    sizes = sizes_of(page, len(prefixes))
    with recorded() as calls:
        bench = Bench(Setup(page_size=page, window=window, **HEADS, **sizes))
        requests = bench.admit(prefixes)
        extend = bench.run(bench.take(requests, extends), keys=window)
        require_right(extend, "extend")
        require_right(bench.decode(requests, keys=window), "decode")
    kernels = [call.kernel for call in calls]
    assert kernels == ["flash_attn_varlen_fp8_pertensor_func"] + 3 * [
        "unified_attention"
    ]


def test_rows_at_page_ends_are_right_in_the_5d_layout() -> None:
    # The interpreter takes 15 ms a token: the ends of one page alone.
    rows = [(0, 16), (1, 15), (15, 1), (16, 1), (16, 16), (17, 1)]
    with switched("5D"), recorded() as calls:
        bench = Bench(Setup(page_size=16, **HEADS))
        requests = bench.admit([prefix for prefix, _ in rows])
        parts = bench.take(requests, [extend for _, extend in rows])
        require_right(bench.run(parts), "extend")
        require_right(bench.decode(requests), "decode")
    assert [call.form for call in calls] == [
        f"{CK}: fp8 copied tokens",
        "pa_decode_gluon: fp8 5D pages of 16",
    ]
