"""Imports that our definitions need and the target's file lacks."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import libcst as cst
import libcst.matchers as m
from libcst.codemod import CodemodContext
from libcst.codemod.visitors import AddImportsVisitor
from libcst.helpers import get_full_name_for_node

from sglang_graft.anchors import Site
from sglang_graft.names import Bindings, ImportedName, bound_name
from sglang_graft.statements import Statement, leading_lines, with_leading

_STANDARD = sys.stdlib_module_names - {"__future__"}
_PLAIN = m.SimpleStatementLine(
    body=[
        m.Import(
            names=[
                m.ImportAlias(name=m.SaveMatchedNode(m.DoNotCare(), "module")),
                m.ZeroOrMore(),
            ]
        )
    ]
)
_FROM = m.SimpleStatementLine(
    body=[
        m.ImportFrom(
            module=m.SaveMatchedNode(m.Name() | m.Attribute(), "module"), relative=[]
        )
    ]
)


def missing_imports(
    wanted: frozenset[ImportedName], bindings: Bindings, site: Site
) -> list[ImportedName]:
    """Those of `wanted` that the file does not import.

    Raises:
        Refusal: the file has bound the name to something else.
    """
    missing = []
    for imported in sorted(wanted - bindings.imports, key=str):
        name = bound_name(imported)
        if name in bindings.runtime:
            source = ".".join(filter(None, imported[:2]))
            raise site.refuse(
                f"import of {name}",
                f"expected {source}, found another meaning of the name",
                "import it under another name in the overlay",
            )
        missing.append(imported)
    return missing


def add_imports(
    body: Sequence[Statement],
    missing: Sequence[ImportedName],
    module: cst.Module,
    end: int,
) -> list[Statement]:
    """`body` with the missing imports before its statement `end`.

    Imports of the standard library join the section of those, in the order of isort,
    which SGLang runs over its sources.
    """
    standard = [i for i in missing if i[0].partition(".")[0] in _STANDARD]
    others = [i for i in missing if i not in standard]
    # The visitor takes 2.7 s over all of SGLang's file, and little over its head.
    head = _visit(body[:end], others, module)
    start, stop = _standard_section(head)
    if start == stop:
        return [*_visit(head, standard, module), *body[end:]]
    section = _visit(head[start:stop], standard, module)
    if standard and _is_sorted(head[start:stop]):
        section = _sort([_sort_names(s, head[start:stop]) for s in section])
    return [*head[:start], *section, *head[stop:], *body[end:]]


def _visit(
    head: Sequence[Statement], missing: Sequence[ImportedName], module: cst.Module
) -> list[Statement]:
    if not missing:
        return list(head)
    context = CodemodContext()
    for imported in missing:
        AddImportsVisitor.add_needed_import(context, *imported)
    alone = module.with_changes(body=head, header=(), footer=())
    return list(AddImportsVisitor(context).transform_module(alone).body)


def _standard_section(head: Sequence[Statement]) -> tuple[int, int]:
    """The first run of standard library imports, empty if there is none."""
    modules = [_imported_module(statement) for statement in head]
    standard = [name in _STANDARD for name in modules]
    if True not in standard:
        return 0, 0
    start = stop = standard.index(True)
    while stop < len(head) and standard[stop]:
        stop += 1
        if stop < len(head) and leading_lines(head[stop]):
            break
    return start, stop


def _imported_module(statement: Statement) -> str:
    """The top-level package that an import statement takes from, else nothing."""
    return _sort_key(statement)[1].partition(".")[0]


def _sort_key(statement: Statement) -> tuple[bool, str]:
    """isort's order of a section: plain imports first, each group by module."""
    is_from = m.matches(statement, _FROM)
    found = m.extract(statement, _FROM if is_from else _PLAIN) or {}
    module = found.get("module")
    name = get_full_name_for_node(module) if isinstance(module, cst.CSTNode) else None
    return is_from, name or ""


def _is_sorted(section: Sequence[Statement]) -> bool:
    keys = [_sort_key(statement) for statement in section]
    return keys == sorted(keys)


def _sort_names(statement: Statement, originals: Sequence[Statement]) -> Statement:
    """The names of a from-import that the visitor has added to, in isort's order."""
    if not m.matches(statement, _FROM) or any(map(statement.deep_equals, originals)):
        return statement
    imports = m.findall(statement, m.ImportFrom(names=[m.ZeroOrMore()]))
    old = cst.ensure_type(imports[0], cst.ImportFrom)
    found = m.findall(old, m.ImportAlias())
    aliases = [cst.ensure_type(alias, cst.ImportAlias) for alias in found]
    ordered = sorted(aliases, key=_name_key)
    pairs = zip(ordered, aliases, strict=True)
    names = [name.with_changes(comma=place.comma) for name, place in pairs]
    return cst.ensure_type(
        statement.with_deep_changes(old, names=names), type(statement)
    )


def _name_key(alias: cst.ImportAlias) -> tuple[bool, bool, str]:
    """Constants, then classes, then the rest."""
    name = alias.evaluated_name
    return not name.isupper(), not name[0].isupper(), name


def _sort(section: Sequence[Statement]) -> list[Statement]:
    """Sorted; the blank lines before the section stay before it."""
    above = leading_lines(section[0])
    first, *rest = [with_leading(s, ()) for s in sorted(section, key=_sort_key)]
    return [with_leading(first, above), *rest]
