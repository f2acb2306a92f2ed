"""Splices the selected definitions into one file of an SGLang tree."""

from __future__ import annotations

from collections.abc import Sequence

import libcst as cst
import libcst.matchers as m

from sglang_graft.anchors import (
    Site,
    expect_count,
    find_backend,
    find_extend,
)
from sglang_graft.branches import BRANCHES, graft_branch
from sglang_graft.gather_call import graft_head_dim_128_gather
from sglang_graft.imports import add_imports, missing_imports
from sglang_graft.names import Bindings, bindings_of
from sglang_graft.overlay import Definition
from sglang_graft.resolution import require_bound
from sglang_graft.selection import HEAD_DIM_128_GATHER, Selection
from sglang_graft.statements import (
    Statement,
    blank_lines,
    leading_lines,
    positions,
    split_leading,
    with_leading,
)

_COMPOUND = m.FunctionDef() | m.ClassDef()


def splice(source: bytes, selection: Selection, site: Site) -> bytes:
    """`source` with the selection spliced in; the same bytes if it is there already.

    Raises:
        Refusal: an anchor is not found as often as expected, or a definition would
            not find a name that it uses.
    """
    try:
        module = cst.parse_module(source)
        bindings = bindings_of(source)
    except (cst.ParserSyntaxError, SyntaxError, UnicodeDecodeError) as error:
        raise site.refuse(
            "source", f"does not parse: {error}", "restore the file"
        ) from None
    functions = [d for d in selection.definitions if not d.is_method]
    methods = [d for d in selection.definitions if d.is_method]
    body = list(module.body)
    backend = find_backend(body, site)
    body[backend] = _splice_class(body[backend], methods, selection, module, site)
    body = _splice_functions(body, functions, bindings, module, site)
    missing = missing_imports(selection.imports, bindings, site)
    body = add_imports(body, missing, module, find_backend(body, site))
    result = module.with_changes(body=body).bytes
    require_bound(result, selection, site)
    return result


def _splice_class(
    backend: cst.CSTNode,
    methods: Sequence[Definition],
    selection: Selection,
    module: cst.Module,
    site: Site,
) -> Statement:
    """The class with the methods replaced, or inserted right before forward_extend."""
    assert isinstance(backend, cst.ClassDef)
    body: list[cst.CSTNode] = list(backend.body.body)
    extend = find_extend(body, site)
    body[extend] = _splice_extend(
        cst.ensure_type(body[extend], cst.FunctionDef), selection, module, site
    )
    for method_definition in methods:
        found = positions(body, method_definition.name)
        if found:
            expect_count(f"method {method_definition.name}", len(found), site)
            old = body[found[0]]
            body[found[0]] = _parse(method_definition, module, _above(old))
        else:
            new = _parse(method_definition, module, blank_lines(1))
            body.insert(find_extend(body, site), new)
    return backend.with_changes(body=backend.body.with_changes(body=body))


def _splice_extend(
    method: cst.FunctionDef, selection: Selection, module: cst.Module, site: Site
) -> cst.FunctionDef:
    """forward_extend with the statement edits of the selection."""
    config = module.config_for_parsing
    for branch in BRANCHES:
        if branch.name in selection.statement_edits:
            method = graft_branch(branch, method, config, site)
    if HEAD_DIM_128_GATHER in selection.statement_edits:
        method = graft_head_dim_128_gather(method, config, site)
    return method


def _splice_functions(
    body: list[Statement],
    functions: Sequence[Definition],
    bindings: Bindings,
    module: cst.Module,
    site: Site,
) -> list[Statement]:
    """The module's body with functions and constants replaced, or inserted.

    New ones go before the class, or before the first replaced one that needs one of
    them while the module is imported.
    """
    new = [d for d in functions if not positions(body, d.name)]
    new_names = {d.name for d in new}
    place = find_backend(body, site)
    for definition in functions:
        if definition.name in new_names:
            expect_count(
                f"other bindings of {definition.name}",
                int(definition.name in bindings.runtime),
                site,
                expected=0,
            )
            continue
        found = positions(body, definition.name)
        expect_count(f"definition {definition.name}", len(found), site)
        body[found[0]] = _parse(definition, module, _above(body[found[0]]))
        if definition.uses.at_import & new_names:
            place = min(place, found[0])
    return _insert(body, place, new, module)


def _insert(
    body: Sequence[Statement],
    place: int,
    new: Sequence[Definition],
    module: cst.Module,
) -> list[Statement]:
    """`body` with the new definitions at `place`, spaced as SGLang's formatter does."""
    result = list(body[:place])
    for definition in new:
        parsed = _parse(definition, module, ())
        compound = bool(result) and m.matches(result[-1], _COMPOUND)
        apart = compound or m.matches(parsed, _COMPOUND) or definition is new[0]
        blanks = blank_lines(2 if apart else definition.blank_lines)
        result.append(with_leading(parsed, [*blanks, *leading_lines(parsed)]))
    return [*result, *body[place:]]


def _above(statement: cst.CSTNode) -> Sequence[cst.EmptyLine]:
    """What stays before a replaced definition: all but the comment right above it."""
    return split_leading(leading_lines(statement))[0]


def _parse(
    definition: Definition, module: cst.Module, above: Sequence[cst.EmptyLine]
) -> Statement:
    code = definition.code.replace("\n", module.default_newline)
    statement = cst.parse_statement(code, config=module.config_for_parsing)
    return with_leading(statement, [*above, *leading_lines(statement)])
