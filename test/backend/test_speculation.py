"""Speculative batches: verification of drafts, draft steps, the draft's own extend."""

from __future__ import annotations

import pytest

from backend.bench import DRAFT_EXTEND, VERIFY, Bench, require_right
from backend.branches import recorded
from backend.drafts import draft_chain, run_drafts
from backend.shapes import Setup
from backend.switches import switched

PREFIXES = [40, 1, 64, 15]
UNIFIED = "unified_attention: fp8 pages of {page}, bfloat16 queries"
CK = "mha_batch_prefill_func: fp8 slots"


@pytest.mark.parametrize("page", [1, 16, 64])
@pytest.mark.parametrize("drafted", [2, 4])
def test_verify_sees_the_prefix_and_the_drafts_before(drafted: int, page: int) -> None:
    with switched("unified"), recorded() as calls:
        bench = Bench(Setup(page_size=page, draft_tokens=drafted))
        parts = bench.take(bench.admit(PREFIXES), [drafted] * len(PREFIXES))
        require_right(bench.run(parts, VERIFY))
    assert [call.form for call in calls] == [UNIFIED.format(page=page)]


@pytest.mark.parametrize("page", [1, 16, 64])
def test_draft_steps_are_right_from_flat_tables(page: int) -> None:
    steps = 3
    with recorded() as calls:
        bench = Bench(Setup(page_size=page, draft_tokens=steps + 1))
        require_right(draft_chain(bench, bench.admit(PREFIXES), steps))
    form = "paged_attention_ragged: fp8 slots"
    assert [call.form for call in calls] == [form] * (steps - 1)


@pytest.mark.parametrize("page", [1, 16, 64])
@pytest.mark.parametrize(
    ("switches", "form"), [((), CK), (("unified",), UNIFIED)], ids=["paged", "unified"]
)
def test_draft_extend_is_right(switches: tuple[str, ...], form: str, page: int) -> None:
    drafted = 3
    with switched(*switches), recorded() as calls:
        bench = Bench(Setup(page_size=page, draft_tokens=drafted))
        parts = bench.take(bench.admit(PREFIXES), [drafted] * len(PREFIXES))
        require_right(run_drafts(bench, parts, DRAFT_EXTEND))
    assert [call.form for call in calls] == [form.format(page=page)]
