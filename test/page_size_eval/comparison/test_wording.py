"""Figures as text."""

from __future__ import annotations

import pytest

from page_size_eval.comparison.wording import as_margin, as_p, in_points


@pytest.mark.parametrize(
    ("share", "text"),
    [(-0.0042, "-0.4"), (0.2, "+20.0"), (0.0, "0.0"), (-0.0004, "0.0")],
)
def test_points_have_a_sign_unless_they_are_none(share: float, text: str) -> None:
    assert in_points(share) == text
    assert in_points(share, signed=False) == text.lstrip("+-")


@pytest.mark.parametrize(
    ("p_value", "text"),
    [(1.0, "1.00"), (0.0497, "0.0497"), (0.001, "0.0010"), (0.00094, "9e-04")],
)
def test_p_values_keep_their_magnitude(p_value: float, text: str) -> None:
    assert as_p(p_value) == text


@pytest.mark.parametrize(
    ("margin", "text"), [(0.01, "1 point"), (0.02, "2 points"), (0.005, "0.5 points")]
)
def test_a_margin_is_in_points(margin: float, text: str) -> None:
    assert as_margin(margin) == text
