"""Reads the overlay: the folder that mirrors SGLang's tree with our definitions."""

from __future__ import annotations

import ast
import hashlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import libcst as cst
import libcst.matchers as m

from sglang_graft.names import ImportedName, Uses, imported_names, uses_of
from sglang_graft.outcome import Refusal
from sglang_graft.statements import defined_name, leading_lines, split_leading

SPLICED_FILE = "srt/layers/attention/aiter_backend.py"
BACKEND_CLASS = "AiterAttnBackend"

_BACKEND = m.ClassDef(name=m.Name(BACKEND_CLASS))
_IMPORT = m.SimpleStatementLine(body=[m.Import() | m.ImportFrom()])
# For readers and type checkers only, and never spliced.
_UNSPLICED = (
    m.SimpleStatementLine(body=[m.Expr(m.SimpleString() | m.ConcatenatedString())])
    | m.SimpleStatementLine(body=[m.AnnAssign(value=None)])
    | m.SimpleStatementLine(body=[m.Pass()])
    | m.If(test=m.Name("TYPE_CHECKING"))
)


@dataclass(frozen=True)
class Definition:
    """One function, class, constant or method, with the comment right above it."""

    name: str
    is_method: bool
    code: str
    blank_lines: int
    uses: Uses


@dataclass(frozen=True)
class Overlay:
    """Definitions to splice into SPLICED_FILE, and whole files to add to the tree."""

    root: Path
    definitions: tuple[Definition, ...]
    imports: frozenset[ImportedName]
    spliced_sha256: str
    new_files: Mapping[str, bytes]


def default_overlay() -> Path:
    """The overlay of this repository, beside this package."""
    return Path(__file__).resolve().parents[1] / "sglang"


def load_overlay(root: Path) -> Overlay:
    """Read the overlay at `root`.

    Raises:
        Refusal: its spliced file is missing, or holds a statement that has no place
            in the target.
    """
    file = root / SPLICED_FILE
    try:
        source = file.read_bytes()
        module = cst.parse_module(source)
        definitions = tuple(_definitions(module.body, file))
        tree = ast.parse(source)
    except (FileNotFoundError, NotADirectoryError):
        raise Refusal(
            "overlay",
            f"expected our definitions in {file}, found no such file",
            "run from a checkout of this repository: the overlay is python/sglang/",
        ) from None
    except (cst.ParserSyntaxError, SyntaxError, UnicodeDecodeError) as error:
        raise Refusal("overlay", f"{file}: {error}", "repair the file") from None
    for (name, _), count in Counter((d.name, d.is_method) for d in definitions).items():
        if count > 1:
            raise Refusal(
                "overlay",
                f"{file}: expected one definition of {name}, found {count}",
                "keep one of them",
            )
    return Overlay(
        root=root,
        definitions=definitions,
        imports=frozenset(i for node in tree.body for i in imported_names(node)),
        spliced_sha256=hashlib.sha256(source).hexdigest(),
        new_files=_new_files(root),
    )


def _definitions(
    body: Sequence[cst.CSTNode], file: Path, is_method: bool = False
) -> Iterator[Definition]:
    """The definitions of a module's or a class's body, in their order."""
    for statement in body:
        name = defined_name(statement)
        if not is_method and m.matches(statement, _BACKEND):
            assert isinstance(statement, cst.ClassDef)
            yield from _definitions(statement.body.body, file, is_method=True)
        elif name and (not is_method or m.matches(statement, m.FunctionDef())):
            yield _definition(statement, name, is_method)
        elif not m.matches(statement, _UNSPLICED | _IMPORT):
            code = cst.Module([]).code_for_node(statement).strip().splitlines()[0]
            raise Refusal(
                "overlay",
                f"{file}: cannot place the statement `{code}`: expected functions,"
                f" constants, imports, and methods of {BACKEND_CLASS}",
                "move it into one of them",
            )


def _definition(statement: cst.CSTNode, name: str, is_method: bool) -> Definition:
    above, own = split_leading(leading_lines(statement))
    code = cst.Module([]).code_for_node(statement.with_changes(leading_lines=own))
    blank = sum(line.comment is None for line in above)
    return Definition(name, is_method, code, blank, uses_of(code))


def _new_files(root: Path) -> dict[str, bytes]:
    files = {}
    for path in sorted(root.rglob("*")):
        relative = path.relative_to(root)
        hidden = any(p.startswith(".") or p == "__pycache__" for p in relative.parts)
        if path.is_file() and not hidden and relative.as_posix() != SPLICED_FILE:
            files[relative.as_posix()] = path.read_bytes()
    return files
