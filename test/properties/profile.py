"""Hypothesis as the suite runs it: the same examples every time."""

from __future__ import annotations

from hypothesis import HealthCheck, settings


def examples(count: int, steps: int = 50) -> settings:
    """Settings for `count` examples, with no clock and no memory of earlier runs.

    Args:
        steps: of one example of a state machine.
    """
    return settings(
        max_examples=count,
        stateful_step_count=steps,
        derandomize=True,
        deadline=None,
        database=None,
        suppress_health_check=[HealthCheck.too_slow],
    )
