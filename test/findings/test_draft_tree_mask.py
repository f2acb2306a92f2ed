"""Drafts that form a tree: the target has to know of them to take their mask."""

from __future__ import annotations

import pytest
from sglang.srt.layers.attention.attention_registry import ATTENTION_BACKENDS
from sglang.srt.runtime_context import get_spec

from backend.bench import Bench
from backend.shapes import Setup
from backend.switches import switched


@pytest.mark.parametrize(
    "topk",
    [
        1,
        pytest.param(
            2,
            marks=pytest.mark.xfail(
                strict=True,
                raises=AssertionError,
                reason="upstream: none known; the registry builds it without topk",
            ),
        ),
    ],
)
def test_target_verifies_chains_alone_as_causal(topk: int) -> None:
    """Wrong outputs of it: test_verify_of_trees in test/sglang_kits, SGLang's own."""
    with switched("unified"), get_spec().override(speculative_eagle_topk=topk):
        bench = Bench(Setup(page_size=1))
        backend = ATTENTION_BACKENDS["aiter"](bench.runner)
    assert backend._use_unified_verify == (topk == 1), backend.topk
