"""The grids: every case once, and everything that they are meant to cover."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

import aiter_reference
from aiter_checkout.cases import BATCHES, BF16, FP8, FP16, Case
from aiter_checkout.checkout import Checkout
from aiter_checkout.generated import GENERATED
from aiter_checkout.pair import Pair
from aiter_checkout.pairs import PAIRS
from aiter_reference.fp8 import FP8_DTYPES
from page_size_eval.errors import CannotMeasure

NOT_KERNELS = {"calls", "reset_calls", "install", "uninstall"}


def name_of(pair: Pair) -> str:
    return f"{pair.kernel}-{pair.name}"


def cases_of(kernel: str) -> list[Case]:
    return [case for pair in PAIRS if pair.kernel == kernel for case in pair.cases]


@pytest.mark.parametrize("pair", PAIRS, ids=name_of)
def test_no_case_is_counted_twice(pair: Pair) -> None:
    labels = Counter(case.label for case in pair.cases)
    twice = {label: count for label, count in labels.items() if count > 1}
    assert not twice, twice
    assert {case.batch for case in pair.cases} <= set(BATCHES)


def test_every_kernel_is_compared() -> None:
    kernels = set(aiter_reference.__all__) - NOT_KERNELS
    missing = kernels - {pair.kernel for pair in PAIRS}
    assert kernels and not missing, missing


@pytest.mark.parametrize(
    ("kernel", "page_sizes", "dtypes"),
    [
        ("mha_batch_prefill_func", {1, 16, 64, 1024}, {BF16, FP16, *FP8_DTYPES}),
        ("flash_attn_varlen_fp8_pertensor_func", set(), set(FP8_DTYPES)),
        ("paged_attention_ragged", {1, 16, 32}, {BF16, FP16, FP8}),
        ("unified_attention", {1, 16, 64}, {BF16, FP16, FP8}),
        ("pa_decode_gluon", {16, 64, 1024}, {BF16, FP16, FP8}),
    ],
)
def test_a_kernel_meets_its_page_sizes_dtypes_and_head_groups(
    kernel: str, page_sizes: set[int], dtypes: set[object]
) -> None:
    cases = cases_of(kernel)
    assert {case.page_size for case in cases} >= page_sizes
    assert {case.cache or case.dtype for case in cases} >= dtypes
    # With one KV head, or one query head for each, any order of the heads is right.
    assert {case.heads for case in cases} >= {(2, 2), (4, 2), (8, 2), (8, 1)}
    assert any(len({*case.k_lens}) > 1 for case in cases)


@pytest.mark.parametrize(
    "kernel",
    [
        "mha_batch_prefill_func",
        "flash_attn_varlen_fp8_pertensor_func",
        "unified_attention",
    ],
)
def test_a_prefill_kernel_meets_windows_soft_cap_and_sinks(kernel: str) -> None:
    cases = cases_of(kernel)
    for name, values in (
        ("soft_cap", {0.0, 5.0}),
        ("sinks", {True, False}),
        ("scale_factor", {0.5, 1.0, 2.0}),
    ):
        assert {getattr(case, name) for case in cases} >= values, name
    assert len({case.window for case in cases}) > 3


def test_what_an_input_of_aiters_raises_cannot_be_measured(tmp_path: Path) -> None:
    """generate_data is called before there is anything to compare."""
    path = tmp_path / GENERATED.file
    path.parent.mkdir(parents=True)
    text = "".join(
        f"def {name}(): return None\n" for name in ("ref_paged_attn", "generate_data")
    )
    path.write_text(text)
    taken = GENERATED.take(Checkout(tmp_path))
    with pytest.raises(CannotMeasure, match="got generate_data: TypeError: .*Next: "):
        list(GENERATED.compare(taken))
