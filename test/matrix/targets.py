"""What a defect replaces in SGLang, and whether a run of tests calls it."""

from __future__ import annotations

import functools
import inspect
import os
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

from page_size_eval.defect import VARIABLE, plant_requested

PACKAGE = "sglang"
Contents = dict[tuple[str, str], Any]


def plant(defect: str) -> None:
    """Plant a defect of the catalogue in this process."""
    os.environ[VARIABLE] = defect
    try:
        plant_requested()
    finally:
        del os.environ[VARIABLE]


def _holders() -> Iterator[tuple[str, Any]]:
    """Every module of SGLang that is loaded, and every class that one defines."""
    for name, module in sorted(sys.modules.items()):
        if module is None or not (name + ".").startswith(PACKAGE + "."):
            continue
        yield name, module
        for value in list(vars(module).values()):
            if inspect.isclass(value) and value.__module__ == name:
                yield f"{name}:{value.__qualname__}", value


def contents() -> Contents:
    """Every callable of SGLang by its holder and name."""
    return {
        (holder, attribute): value
        for holder, thing in _holders()
        for attribute, value in list(vars(thing).items())
        if callable(value)
    }


def find_targets(defect: str, before: Contents) -> list[str]:
    """The callables that planting the defect replaces, as "holder.name".

    Plants it: meant for a process that does nothing else.
    """
    plant(defect)
    return sorted(
        f"{holder}.{name}"
        for (holder, name), value in contents().items()
        if before.get((holder, name), value) is not value
    )


def count_calls(targets: set[str]) -> Counter[str]:
    """Calls of each target from now on, in this process."""
    calls: Counter[str] = Counter()
    for holder, thing in list(_holders()):
        for name, value in list(vars(thing).items()):
            target = f"{holder}.{name}"
            if target in targets:
                setattr(thing, name, _counted(value, target, calls))
    return calls


def _counted(
    function: Callable[..., Any], target: str, calls: Counter[str]
) -> Callable[..., Any]:
    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        calls[target] += 1
        return function(*args, **kwargs)

    return call
