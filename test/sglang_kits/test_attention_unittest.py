"""SGLang's own attention kit, which upstream runs for no case of the AMD backend."""

from __future__ import annotations

import dataclasses
import unittest
from collections.abc import Callable
from typing import Any

import pytest
import torch
from sglang.srt.layers.attention import aiter_backend
from sglang.srt.model_executor.forward_batch_info import ForwardMode
from sglang.test.kits.attention_unittest.attention_methods.dense_attention import (
    DenseAttentionCase,
    make_dense_cases,
    make_swa_no_prefix_input_config_cases,
    make_swa_prefix_input_config_cases,
    run_dense_attention_case,
)
from sglang.test.kits.attention_unittest.runner_modes.cuda_graph_decode_runner import (
    run_dense_cuda_graph_decode_case,
)
from sglang.test.kits.attention_unittest.runner_modes.speculative_draft_extend_runner import (  # noqa: E501
    run_dense_draft_extend_v2_cuda_graph_case,
)
from sglang.test.kits.attention_unittest.runner_modes.speculative_target_verify_runner import (  # noqa: E501
    run_dense_spec_verify_case,
    run_dense_spec_verify_cuda_graph_case,
)
from sglang.test.kits.attention_unittest.runner_modes.split_op_runner import (
    run_dense_split_op_extend_case,
)

import aiter_reference
from backend.switches import switched
from defects.page_granular import page_granular_indices
from sglang_kits.adapter import adapted

BF16, FP16 = torch.bfloat16, torch.float16
DENSE = make_dense_cases("aiter")
WINDOWS = (
    *make_swa_no_prefix_input_config_cases("aiter"),
    *make_swa_prefix_input_config_cases("aiter"),
)
DECODE = [case for case in DENSE if case.forward_mode.is_decode()]
EXTEND = [case for case in DENSE if not case.forward_mode.is_decode()]
CACHES = pytest.mark.parametrize("fp8", [False, True], ids=["bf16 cache", "fp8 cache"])
DIMS = pytest.mark.parametrize("head_dim", [128, 256])
PAGES = pytest.mark.parametrize("page", [1, 16, 64, 256])
TABLES = pytest.mark.parametrize(
    "switches", [(), ("unified",)], ids=["default", "unified"]
)
TREE = pytest.mark.xfail(
    strict=True,
    raises=AssertionError,
    reason="the target's backend is built with topk 1: docs/upstream/findings.md",
)

STALE = pytest.mark.xfail(
    strict=True,
    raises=AssertionError,
    reason="the graph's page table is not refreshed at page size 1: sglang#40410",
)


def names(case: DenseAttentionCase) -> str:
    return str(case.name)


def run(
    kit: Callable[..., None],
    case: DenseAttentionCase,
    *,
    fp8: bool = False,
    dtype: torch.dtype = BF16,
    served: bool = True,
    contiguous: bool = False,
    **options: Any,
) -> None:
    """One case of the kit; `served`: by a kernel of the reference, not SGLang's own."""
    aiter_reference.reset_calls()
    context = max(64, 2 * case.page_size)
    with adapted(dtype, fp8, contiguous):
        kit(
            unittest.TestCase(),
            case,
            dtype=dtype,
            device="cpu",
            max_context_len=context,
            **{"head_dim": 256} | options,
        )
    assert bool(aiter_reference.calls) == served, dict(aiter_reference.calls)


@CACHES
@DIMS
@PAGES
@TABLES
@pytest.mark.parametrize("case", DENSE, ids=names)
def test_dense(
    case: DenseAttentionCase,
    switches: tuple[str, ...],
    page: int,
    head_dim: int,
    fp8: bool,
) -> None:
    case = dataclasses.replace(case, page_size=page)
    with switched(*switches):
        run(run_dense_attention_case, case, fp8=fp8, head_dim=head_dim)


@CACHES
@pytest.mark.parametrize(
    "layout", ["contiguous", "interleaved_pages", "non_monotonic_extend"]
)
@pytest.mark.parametrize("case", DENSE, ids=names)
def test_dense_layouts(case: DenseAttentionCase, layout: str, fp8: bool) -> None:
    with switched():
        run(run_dense_attention_case, case, fp8=fp8, loc_layout=layout)


@CACHES
@DIMS
@PAGES
@pytest.mark.parametrize("case", WINDOWS, ids=names)
def test_window(case: DenseAttentionCase, page: int, head_dim: int, fp8: bool) -> None:
    case = dataclasses.replace(case, page_size=page)
    with switched():
        run(run_dense_attention_case, case, fp8=fp8, head_dim=head_dim)


@CACHES
@pytest.mark.parametrize(
    ("page", "switches"),
    [
        *[pytest.param(page, (), id=f"page {page}") for page in (1, 16, 64, 256)],
        *[
            pytest.param(page, ("unified",), id=f"unified, page {page}", marks=marks)
            for page, marks in ((1, STALE), (16, ()), (64, ()), (256, ()))
        ],
    ],
)
@pytest.mark.parametrize("case", DECODE, ids=names)
def test_decode_graph(
    case: DenseAttentionCase, page: int, switches: tuple[str, ...], fp8: bool
) -> None:
    case = dataclasses.replace(case, page_size=page)
    with switched(*switches):
        run(run_dense_cuda_graph_decode_case, case, fp8=fp8)


@CACHES
@TABLES
@pytest.mark.parametrize("breakable", [False, True], ids=["piecewise", "breakable"])
@pytest.mark.parametrize("case", EXTEND, ids=names)
def test_split_op(
    case: DenseAttentionCase,
    breakable: bool,
    switches: tuple[str, ...],
    fp8: bool,
) -> None:
    with switched(*switches):
        run(run_dense_split_op_extend_case, case, fp8=fp8, breakable=breakable)


def make_speculative_case(mode: ForwardMode, page: int) -> DenseAttentionCase:
    """Three drafted tokens each, one request with its prefix at a page's end."""
    return DenseAttentionCase(
        name=mode.name.lower(),
        backend="aiter",
        forward_mode=mode,
        num_heads=4,
        num_kv_heads=2,
        page_size=page,
        prefix_lens=(4, 16),
        extend_lens=(3, 3),
    )


VERIFY = [run_dense_spec_verify_case, run_dense_spec_verify_cuda_graph_case]
KINDS = ["eagle", "frozen_kv_mtp", "ngram"]


def verify(kit: Callable[..., None], page: int, **options: Any) -> None:
    case = make_speculative_case(ForwardMode.TARGET_VERIFY, page)
    in_order = page == 1 and kit is run_dense_spec_verify_cuda_graph_case
    run(kit, case, contiguous=in_order, **options)


@pytest.mark.parametrize("page", [1, 16, 64])
@pytest.mark.parametrize("kind", [*KINDS, "dflash"])
@pytest.mark.parametrize("kit", VERIFY, ids=["eager", "graph"])
def test_verify_of_chains(kit: Callable[..., None], kind: str, page: int) -> None:
    for fp8 in (False, True):
        with switched("unified"):
            verify(kit, page, fp8=fp8, topk=1, spec_kind=kind)
    # SGLang's own kernel, in float16: Triton's interpreter multiplies bfloat16 wrongly.
    own: dict[str, Any] = {"dtype": FP16, "head_dim": 64, "served": False}
    with switched():
        verify(kit, page, topk=1, spec_kind=kind, **own)


@pytest.mark.parametrize(
    "switches", [(), pytest.param(("unified",), marks=TREE)], ids=["default", "unified"]
)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("kit", VERIFY, ids=["eager", "graph"])
def test_verify_of_trees(
    kit: Callable[..., None], kind: str, switches: tuple[str, ...]
) -> None:
    own: dict[str, Any] = {"dtype": FP16, "head_dim": 64, "served": bool(switches)}
    with switched(*switches):
        verify(kit, 1, topk=2, spec_kind=kind, **own)


@CACHES
@TABLES
@pytest.mark.parametrize("page", [1, 16, 64])
def test_draft_extend_graph(page: int, switches: tuple[str, ...], fp8: bool) -> None:
    case = make_speculative_case(ForwardMode.DRAFT_EXTEND_V2, page)
    with switched(*switches):
        run(run_dense_draft_extend_v2_cuda_graph_case, case, fp8=fp8)


@pytest.mark.parametrize(
    "mode",
    [
        "eagle_draft_cuda_graph_runner",
        "frozen_kv_mtp_cuda_graph_runner",
        "eagle_draft_extend_v2_cuda_graph_runner",
    ],
)
def test_production_graph_runners(mode: str) -> None:
    pytest.skip("needs a GPU: records and replays real graphs")


@pytest.mark.parametrize(
    "method", ["dsa", "dsv4", "gdn", "kda", "lightning", "mamba2", "mla"]
)
def test_other_attention_methods(method: str) -> None:
    pytest.skip("not dense attention: MLA, sparse or linear")


def test_window_decode() -> None:
    pytest.skip("refused by the backend on the kit's plain pool, which has no window")


@pytest.mark.parametrize("case", EXTEND, ids=names)
def test_a_page_granular_table_fails_the_kit(
    case: DenseAttentionCase, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At a page of 16, where a request has a token beyond its first page's first."""
    backend: Any = aiter_backend.AiterAttnBackend
    real = backend.init_forward_metadata

    def faulty(self: Any, batch: Any) -> None:
        real(self, batch)
        fm, bs = self.forward_metadata, batch.batch_size
        kv_indptr = fm.kv_indptr[: bs + 1]
        slots = page_granular_indices(kv_indptr, fm.kv_indices, self.page_size)
        # Within the pool, as a large one has it; less one, since 16 pages of 16 in a
        # pool of 15 would come out right.
        slots %= len(self.token_to_kv_pool.get_key_buffer(0)) - 1
        fm.kv_indices[: len(slots)] = slots

    monkeypatch.setattr(backend, "init_forward_metadata", faulty)
    case = dataclasses.replace(case, page_size=16)
    with switched(), pytest.raises(AssertionError, match="not close"):
        run(run_dense_attention_case, case)
