"""How many keys a draft step sees."""

from __future__ import annotations

import pytest

from backend.bench import Bench, require_right
from backend.branches import recorded
from backend.drafts import draft_chain
from backend.shapes import Setup
from backend.switches import switched

STEPS = 3
# At a page's end, where the next drafted token is in a page of its own, and inside.
PREFIXES = [16, 15, 5]
SHORT = pytest.mark.xfail(
    strict=True,
    raises=AssertionError,
    reason="upstream: none known; neither the step's token nor those before are seen",
)


@pytest.mark.parametrize(
    ("switches", "kernel"),
    [
        pytest.param((), "paged_attention_ragged", id="flat"),
        pytest.param(("unified",), "unified_attention", id="unified", marks=SHORT),
        pytest.param(("5D",), "pa_decode_gluon", id="5D", marks=SHORT),
    ],
)
def test_draft_steps_see_their_own_token_and_those_before(
    switches: tuple[str, ...], kernel: str
) -> None:
    with switched(*switches), recorded() as calls:
        bench = Bench(Setup(draft_tokens=STEPS + 1))
        outputs = draft_chain(bench, bench.admit(PREFIXES), STEPS)
    assert [call.kernel for call in calls] == [kernel] * (STEPS - 1)
    require_right(outputs)
