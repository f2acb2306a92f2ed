"""Targets and variables of the Makefile, as its text has them."""

from __future__ import annotations

import re

from docs.pages import ROOT

_TEXT = (ROOT / "Makefile").read_text().replace("\\\n", " ")
_NAMES = re.search(r"^NAMES := (.*)$", _TEXT, re.M)

TARGETS = frozenset(re.findall(r"^([a-z0-9-]+):.*##", _TEXT, re.M))
VARIABLES = frozenset(
    [
        *re.findall(r"^([A-Z_]+) [:?]?=", _TEXT, re.M),
        *re.findall(r"\$\((?:or )?(?:\$\()?([A-Z_]+)", _TEXT),
        *(_NAMES[1].split() if _NAMES else ()),
    ]
)


def faults(words: tuple[str, ...]) -> list[str]:
    """The words of a `make` command line that the Makefile does not know."""
    unknown = []
    for word in words:
        name, is_variable, _ = word.partition("=")
        known = VARIABLES if is_variable else TARGETS
        if name not in known:
            unknown.append(word)
    return unknown
