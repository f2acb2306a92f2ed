"""Top-level statements and methods: their names, comments and blank lines."""

from __future__ import annotations

from collections.abc import Sequence

import libcst as cst
import libcst.matchers as m

Statement = cst.SimpleStatementLine | cst.BaseCompoundStatement

_NAME = m.SaveMatchedNode(m.Name(), "name")
_CONSTANT = m.SimpleStatementLine(
    body=[
        m.Assign(targets=[m.AssignTarget(_NAME)])
        | m.AnnAssign(target=_NAME, value=m.MatchIfTrue(lambda v: v is not None))
    ]
)
_DEFINITION = m.FunctionDef(name=_NAME) | m.ClassDef(name=_NAME) | _CONSTANT


def defined_name(statement: cst.CSTNode) -> str | None:
    """The name that a function, class or constant defines, None for another."""
    found = m.extract(statement, _DEFINITION) or {}
    name = found.get("name")
    return name.value if isinstance(name, cst.Name) else None


def positions(body: Sequence[cst.CSTNode], name: str) -> list[int]:
    """Where in `body` the definitions of `name` are."""
    return [i for i, statement in enumerate(body) if defined_name(statement) == name]


def split_leading(
    lines: Sequence[cst.EmptyLine],
) -> tuple[list[cst.EmptyLine], list[cst.EmptyLine]]:
    """Blank lines and remote comments, and the comment right above the statement."""
    start = len(lines)
    while start and lines[start - 1].comment is not None:
        start -= 1
    return list(lines[:start]), list(lines[start:])


def leading_lines(statement: cst.CSTNode) -> Sequence[cst.EmptyLine]:
    """Blank and comment lines before a statement; none where it cannot have any."""
    lines: Sequence[cst.EmptyLine] = getattr(statement, "leading_lines", ())
    return lines


def blank_lines(count: int) -> list[cst.EmptyLine]:
    """`count` blank lines without trailing white space."""
    return [cst.EmptyLine(indent=False) for _ in range(count)]


def with_leading(statement: Statement, lines: Sequence[cst.EmptyLine]) -> Statement:
    """The statement with `lines` instead of its leading ones."""
    changed = statement.with_changes(leading_lines=lines)
    return cst.ensure_type(changed, type(statement))
