"""Several tests at once."""

from __future__ import annotations

from collections.abc import Sequence


def adjust(p_values: Sequence[float]) -> list[float]:
    """Holm's step-down adjustment (1979, Scand. J. Statist. 6, 65-70), in their order.

    Each one below a level is a rejection, with at most that chance of any false one.
    """
    ascending = sorted(range(len(p_values)), key=lambda i: p_values[i])
    adjusted = [1.0] * len(p_values)
    largest = 0.0
    for rank, i in enumerate(ascending):
        largest = max(largest, (len(p_values) - rank) * p_values[i])
        adjusted[i] = min(1.0, largest)
    return adjusted
