"""Holm's adjustment."""

from __future__ import annotations

import pytest

from page_size_eval.comparison.holm import adjust


def test_adjusted_p_values_keep_their_places() -> None:
    # By hand: 4 x 0.005, 3 x 0.01, 2 x 0.03, then 0.04 lifted to the one before.
    assert adjust([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])


def test_adjusted_p_values_stay_probabilities() -> None:
    assert adjust([0.9, 0.6]) == [1.0, 1.0]
    assert adjust([0.04]) == [0.04]
    assert adjust([]) == []
