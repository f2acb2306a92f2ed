"""Definitions without calls that a part of the overlay can do without."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import replace

import libcst as cst
import libcst.matchers as m

from sglang_graft.names import uses_of
from sglang_graft.overlay import Definition


def without_calls(definition: Definition, functions: Set[str]) -> Definition:
    """The definition without the statements that do nothing but call `functions`.

    A call whose result is used stays, and with it the need for the function.
    """
    if not functions & definition.uses.all:
        return definition
    calls = m.SimpleStatementLine(
        body=[m.Expr(m.Call(func=m.OneOf(*(m.Name(f) for f in functions))))]
    )
    removed = m.replace(
        cst.parse_module(definition.code), calls, cst.RemoveFromParent()
    )
    code = cst.ensure_type(removed, cst.Module).code
    return replace(definition, code=code, uses=uses_of(code))
