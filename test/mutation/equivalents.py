"""Mutants that no test can tell from the function they were made of, and why.

Keys as in `Mutant.key`. A mutant that is listed and killed all the same is listed
wrongly, and the run says so.
"""

from __future__ import annotations

EQUIVALENTS: dict[str, str] = {}
