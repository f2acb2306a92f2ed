"""Whether the path under test served an arm."""

from __future__ import annotations

import pytest

from page_size_eval.arms import Arm
from page_size_eval.comparison.path import require_path_served
from page_size_eval.errors import CannotMeasure
from page_size_eval.serving.metrics import ContextPrefill


@pytest.mark.parametrize(
    ("arm", "prefill"),
    [
        (Arm(16), ContextPrefill(0)),
        (Arm(16), ContextPrefill(1, {"slot_past_pool": 500})),
        (Arm(64, page_view=True), ContextPrefill(77)),
    ],
    ids=["no hit", "mostly fallen back", "view that gathers"],
)
def test_another_path_than_the_one_under_test_says_nothing(
    arm: Arm, prefill: ContextPrefill
) -> None:
    with pytest.raises(CannotMeasure, match=f"{arm.label}: expected .*Next:"):
        require_path_served(arm, prefill)


def test_the_path_under_test_is_accepted() -> None:
    require_path_served(Arm(16), ContextPrefill(9, {"slot_past_pool": 2}))
    require_path_served(Arm(64, page_view=True), ContextPrefill(0))
