"""The errors that a run ends with when there is nothing to score."""

from __future__ import annotations


class CannotMeasure(Exception):
    """No score can be given: exit status 2.

    The message says what was expected, what came, where, and what to do next.
    """


class ServerDied(CannotMeasure):
    """A server ended by itself; what it had answered is kept."""
