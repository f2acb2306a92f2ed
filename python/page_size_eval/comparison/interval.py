"""A confidence interval."""

from __future__ import annotations

from typing import NamedTuple


class Interval(NamedTuple):
    """Both limits, as shares of the questions."""

    low: float
    high: float
