"""Which kernel serves what: a golden table, and every output of it against float64.

A row of this table that changes is a change of the backend's dispatch; none may change
by itself.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest
import torch

from backend.bench import DECODE, MIXED, Bench, require_right
from backend.branches import recorded
from backend.shapes import Setup
from backend.switches import switched

BF16 = torch.bfloat16
SMALL, ALL = (1, 2, 16, 32, 128, 256), (1, 2, 16, 32, 64, 128, 256)
WINDOW = 6
# A batch with prefixes, and one without; the rows of the first decode then.
PREFIXES, TOKENS, FRESH = (0, 5, 70, 16), (7, 1, 20, 16), (3, 17, 1)

_ASM = "flash_attn_varlen_fp8_pertensor_func: {} chunk, head_dim {}"
CONTEXT, FIRST = _ASM.format("context", 256), _ASM.format("first", 256)
CONTEXT_128, FIRST_128 = _ASM.format("context", 128), _ASM.format("first", 128)
CK_FP8, CK_BF16 = (f"mha_batch_prefill_func: {dtype}" for dtype in ("fp8", "bfloat16"))
RAGGED = "paged_attention_ragged: {} slots"
UNIFIED = "unified_attention: {} pages of PAGE"
ONE, MANY = f"{UNIFIED}, one query", f"{UNIFIED}, bfloat16 queries"
GLUON = "pa_decode_gluon: fp8 5D pages of PAGE"


@dataclass(frozen=True)
class Case:
    """What serves a batch with prefixes, one without, and decode.

    Attributes:
        window: the same for the window layer, if the setup has one.
        keys: how many keys a query of the window layer sees in each of the three.
    """

    name: str
    serves: tuple[str, str, str]
    pages: tuple[int, ...]
    setup: dict[str, Any] = field(default_factory=dict)
    switches: tuple[str, ...] = ()
    window: tuple[str, ...] = ()
    keys: tuple[int | None, ...] = (None, None, None)

    def forms(self, which: int, page: int) -> list[str]:
        rows = (self.serves, self.window) if self.window else (self.serves,)
        return [row[which].replace("PAGE", str(page)) for row in rows]


FP8_RAGGED = RAGGED.format("fp8")
SLOTS = (f"{CK_FP8} slots", f"{CK_FP8} slots", FP8_RAGGED)
UNIFIED_FP8 = (MANY.format("fp8"), MANY.format("fp8"), ONE.format("fp8"))
WINDOWED = tuple(f"{form}, window {WINDOW - 1}" for form in UNIFIED_FP8)
CASES = (
    Case("fp8", (CONTEXT, FIRST, FP8_RAGGED), SMALL),
    Case("page view", (f"{CK_FP8} pages of 64", FIRST, FP8_RAGGED), (64,)),
    Case("no view", (CONTEXT, FIRST, FP8_RAGGED), (64,), switches=("no view",)),
    Case("head_dim 128", (CONTEXT_128, FIRST_128, FP8_RAGGED), ALL, {"head_dim": 128}),
    Case(
        "head_dim 128, off",
        SLOTS,
        (16, 64),
        {"head_dim": 128},
        switches=("no head_dim 128",),
    ),
    Case("head_dim 64", SLOTS, (16, 64), {"head_dim": 64}),
    Case("GQA of 6", SLOTS, (1, 16, 64), {"q_heads": 6, "kv_heads": 1}),
    Case("soft cap", SLOTS, (1, 16, 64), {"soft_cap": 5.0}),
    Case(
        "bfloat16",
        (f"{CK_BF16} slots", f"{CK_BF16} slots", RAGGED.format("bfloat16")),
        ALL,
        {"kv_dtype": BF16},
    ),
    Case(
        "unified",
        (CONTEXT, FIRST, ONE.format("fp8")),
        ALL,
        switches=("unified",),
    ),
    Case(
        "unified, head_dim 64",
        UNIFIED_FP8,
        ALL,
        {"head_dim": 64},
        switches=("unified",),
    ),
    Case(
        "unified, bfloat16",
        (MANY.format("bfloat16"), MANY.format("bfloat16"), ONE.format("bfloat16")),
        (1, 16),
        {"kv_dtype": BF16},
        switches=("unified",),
    ),
    Case(
        "window pool",
        (CONTEXT, FIRST, ONE.format("fp8")),
        ALL,
        {"window": WINDOW},
        window=WINDOWED,
        keys=(WINDOW, WINDOW, WINDOW),
    ),
    Case(
        "5D",
        (f"{CK_FP8} copied tokens", FIRST, GLUON),
        (16, 64),
        switches=("5D",),
    ),
    Case(
        "5D, window pool",
        (f"{CK_FP8} copied tokens", f"{CK_BF16} copied tokens", GLUON),
        (16,),
        {"window": WINDOW, "head_dim": 128},
        switches=("5D",),
        window=(
            f"{CK_FP8} copied tokens, window {WINDOW}",
            f"{CK_BF16} copied tokens, window {WINDOW}",
            f"{GLUON}, window {WINDOW}",
        ),
        keys=(WINDOW + 1, WINDOW + 1, WINDOW - 1),
    ),
)
AT_PAGES = [
    pytest.param(case, page, id=f"{case.name}, page {page}")
    for case in CASES
    for page in case.pages
]


@pytest.mark.parametrize(("case", "page"), AT_PAGES)
def test_served_as_listed_and_right(case: Case, page: int) -> None:
    with switched(*case.switches):
        bench = Bench(Setup(page_size=page, slots=16 * max(page, 32), **case.setup))
        requests = bench.admit(PREFIXES)
        for which, what in enumerate(("context", "first", "decode")):
            keys = case.keys[which]
            with recorded() as calls:
                if what == "context":
                    outputs = bench.run(bench.take(requests, TOKENS), keys=keys)
                elif what == "first":
                    fresh = bench.take(bench.admit([0] * len(FRESH)), FRESH)
                    outputs = bench.run(fresh, keys=keys)
                else:
                    outputs = bench.decode(requests, keys=keys)
            assert [call.form for call in calls] == case.forms(which, page), what
            require_right(outputs, what)


@pytest.mark.parametrize("page", [1, 16, 64])
def test_mixed_batch_takes_the_context_branch(page: int) -> None:
    bench = Bench(Setup(page_size=page))
    decoding, waiting = bench.admit([33, 64]), bench.admit([0, 16])
    parts = bench.take([*decoding, *waiting], [1, 1, 20, 5])
    with recorded() as calls:
        outputs = bench.run(parts, MIXED)
    form = f"{CK_FP8} pages of 64" if page == 64 else CONTEXT
    assert [call.form for call in calls] == [form]
    require_right(outputs, "mixed")


@pytest.mark.parametrize("page", [1, 16, 64])
def test_sinks_keep_to_the_paged_kernel(page: int) -> None:
    bench = Bench(Setup(page_size=page))
    parts = bench.take(bench.admit(PREFIXES), TOKENS)
    with recorded() as calls:
        outputs = bench.run(parts, sinks=torch.tensor([-2.0, 0.0, 1.5, 4.0]))
    assert [call.form for call in calls] == [f"{CK_FP8} slots"]
    require_right(outputs, "sinks")


def test_window_layer_of_a_plain_pool_is_refused_in_decode() -> None:
    bench = Bench(Setup(layer_window=WINDOW))
    requests = bench.admit(PREFIXES)
    with recorded() as calls:
        outputs = bench.run(bench.take(requests, TOKENS), keys=WINDOW + 1)
    assert [call.form for call in calls] == [f"{CK_FP8} slots, window {WINDOW}"]
    require_right(outputs, "window")
    with pytest.raises(ValueError, match="cannot honor sliding-window"):
        bench.run(bench.take(requests, [1] * len(requests)), DECODE)
