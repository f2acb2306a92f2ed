"""Names that a definition uses, and names that a module binds."""

from __future__ import annotations

import ast
import symtable
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

# (module, name or None for `import module`, alias or None)
ImportedName = tuple[str, str | None, str | None]

_COMPREHENSIONS = frozenset({"listcomp", "setcomp", "dictcomp", "genexpr"})


@dataclass(frozen=True)
class Uses:
    """Global names that one definition uses, by when they are looked up."""

    at_import: frozenset[str]
    later: frozenset[str]
    annotations: frozenset[str]
    attributes: frozenset[str]
    imports: frozenset[ImportedName]

    @property
    def all(self) -> frozenset[str]:
        """Every global name, annotations included."""
        return self.at_import | self.later | self.annotations


@dataclass(frozen=True)
class Bindings:
    """What a module binds at its top level.

    `runtime` maps a name to the index of the statement that binds it first;
    `type_checking` holds names bound under `if TYPE_CHECKING:`.
    """

    runtime: Mapping[str, int]
    type_checking: frozenset[str]
    imports: frozenset[ImportedName]
    lazy_annotations: bool


def uses_of(code: str) -> Uses:
    """The names that `code`, one function, class or constant, uses.

    Raises:
        SyntaxError: `code` does not parse.
    """
    tree = ast.parse(code)
    eraser = _AnnotationEraser()
    erased = ast.fix_missing_locations(eraser.visit(tree))
    table = symtable.symtable(ast.unparse(erased), "definition", "exec")
    at_import = {s.get_name() for s in table.get_symbols() if s.is_referenced()}
    later: set[str] = set()
    for child in table.get_children():
        at_once = child.get_type() == "class" or child.get_name() in _COMPREHENSIONS
        (at_import if at_once else later).update(_globals(child))
    nodes = list(ast.walk(erased))
    return Uses(
        at_import=frozenset(at_import),
        later=frozenset(later),
        annotations=frozenset(eraser.names),
        attributes=frozenset(n.attr for n in nodes if isinstance(n, ast.Attribute)),
        imports=frozenset(i for n in nodes for i in imported_names(n)),
    )


def bindings_of(source: bytes) -> Bindings:
    """What the module `source` binds.

    Raises:
        SyntaxError: `source` does not parse.
    """
    runtime: dict[str, int] = {}
    eraser = _TypeCheckingEraser()
    imports: set[ImportedName] = set()
    for index, statement in enumerate(ast.parse(source).body):
        erased = eraser.visit(statement)
        for name in _bound(erased):
            runtime.setdefault(name, index)
        for node in erased:
            imports.update(i for n in ast.walk(node) for i in imported_names(n))
    hidden = {name for name in _bound(eraser.erased) if name not in runtime}
    lazy = ("__future__", "annotations", None) in imports
    return Bindings(runtime, frozenset(hidden), frozenset(imports), lazy)


def local_names(code: str, function: str) -> frozenset[str]:
    """Parameters and local variables of `function`, the one definition in `code`."""
    table = symtable.symtable(code, "definition", "exec")
    found = [c for c in table.get_children() if c.get_name() == function]
    return frozenset(
        s.get_name() for c in found for s in c.get_symbols() if s.is_local()
    )


def imported_names(node: ast.AST) -> Iterator[ImportedName]:
    """What an import statement imports; nothing for another node."""
    match node:
        case ast.Import(names=aliases):
            for alias in aliases:
                yield alias.name, None, alias.asname
        case ast.ImportFrom(module=module, names=aliases, level=level):
            for alias in aliases:
                yield "." * level + (module or ""), alias.name, alias.asname


def bound_name(imported: ImportedName) -> str:
    """The name under which an import is known in its module."""
    module, name, alias = imported
    return alias or name or module.partition(".")[0]


def _globals(table: symtable.SymbolTable) -> Iterator[str]:
    for symbol in table.get_symbols():
        if symbol.is_global():
            yield symbol.get_name()
    for child in table.get_children():
        yield from _globals(child)


def _bound(statements: list[ast.stmt]) -> list[str]:
    module = ast.fix_missing_locations(ast.Module(body=statements, type_ignores=[]))
    table = symtable.symtable(ast.unparse(module), "module", "exec")
    return [
        s.get_name() for s in table.get_symbols() if s.is_assigned() or s.is_imported()
    ]


class _AnnotationEraser(ast.NodeTransformer):
    """Takes annotations out, since they are not looked up when the code runs."""

    def __init__(self) -> None:
        self.names: set[str] = set()

    def _note(self, annotation: ast.expr | None) -> None:
        for node in ast.walk(annotation) if annotation else ():
            if isinstance(node, ast.Name):
                self.names.add(node.id)

    def visit_arg(self, node: ast.arg) -> ast.arg:
        self._note(node.annotation)
        return ast.arg(node.arg)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        self._note(node.returns)
        node.returns = None
        self.generic_visit(node)
        return node

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AST:
        self._note(node.returns)
        node.returns = None
        return self.generic_visit(node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.Assign:
        self._note(node.annotation)
        # A declaration without a value still makes its name local.
        value = node.value or ast.Constant(None)
        return ast.Assign([node.target], self.visit(value))


class _TypeCheckingEraser:
    """Drops `if TYPE_CHECKING:` blocks, and bodies, which bind nothing here."""

    def __init__(self) -> None:
        self.erased: list[ast.stmt] = []

    def visit(self, statement: ast.stmt) -> list[ast.stmt]:
        match statement:
            case ast.If(
                test=ast.Name(id="TYPE_CHECKING") | ast.Attribute(attr="TYPE_CHECKING")
            ):
                self.erased += statement.body
                return statement.orelse
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                name = ast.Name(statement.name, ast.Store())
                return [ast.Assign([name], ast.Constant(None))]
        return [statement]
