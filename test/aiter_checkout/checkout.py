"""Functions of an aiter checkout, taken out of its files without importing aiter.

aiter's test files import aiter, pandas and a GPU. The references in them are plain
torch: their definitions are compiled here alone, with what they need of the same file,
and everything stays in the checkout.
"""

from __future__ import annotations
import __future__

import ast
import builtins
import difflib
import functools
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from page_size_eval.errors import CannotMeasure

SUPPLIED = ("einops", "math", "numpy", "os", "torch")
"""Packages that a reference may import; another import is left out."""

MARK = "op_tests"
"""The folder that tells a checkout of aiter."""


class ReferenceFailed(Exception):
    """A function of aiter's raised; `error` is what."""

    def __init__(self, function: str, error: Exception) -> None:
        super().__init__(f"{function}: {type(error).__name__}: {error}")
        self.error = error


_Definition = ast.FunctionDef | ast.Assign | ast.Import | ast.ImportFrom


@dataclass(frozen=True)
class Checkout:
    """A folder that holds aiter's text.

    Raises:
        CannotMeasure: on construction, it holds no op_tests.
    """

    root: Path

    def __post_init__(self) -> None:
        if not (self.root / MARK).is_dir():
            raise CannotMeasure(
                f"{self.root}: expected an aiter checkout, with a folder {MARK}, got"
                f" {_kind(self.root)}. Next: clone ROCm/aiter and give its path"
            )

    def commit(self) -> str:
        """The commit, or "unknown" for a tree that is no git checkout."""
        # Otherwise git would answer for a repository around the folder.
        if not (self.root / ".git").exists():
            return "unknown"
        command = ["git", "-C", str(self.root), "rev-parse", "HEAD"]
        done = subprocess.run(command, capture_output=True, text=True)
        return done.stdout.strip() if done.returncode == 0 else "unknown"

    def take(
        self, file: str, names: Sequence[str], supplied: Mapping[str, Any]
    ) -> dict[str, Any]:
        """The named functions of a file, with what they use of that file.

        Args:
            file: relative to the checkout.
            supplied: values for names that the file imports from aiter.

        Returns:
            By name; what a function raises, it raises as ReferenceFailed.

        Raises:
            CannotMeasure: the file or a name is not there, or does not compile.
        """
        path = self.root / file
        if not path.is_file():
            raise CannotMeasure(
                f"{file}: expected in the aiter checkout {self.root}, got no such file."
                " Next: see where aiter moved it"
            )
        definitions = _definitions(_parse(path, file))
        for name in names:
            if not isinstance(definitions.get(name), ast.FunctionDef):
                raise CannotMeasure(_missing(name, file, definitions))
        used = _closure(names, definitions)
        body = [node for node in dict.fromkeys(definitions.values()) if node in used]
        module = ast.Module(body=list(body), type_ignores=[])
        namespace = dict(supplied)
        # Annotations may name what is not here.
        flags = __future__.annotations.compiler_flag
        try:
            code = compile(module, str(path), "exec", flags, dont_inherit=True)
            exec(code, namespace)
        except (NameError, ImportError) as error:
            raise CannotMeasure(
                f"{file}: expected {', '.join(names)} to need"
                f" {', '.join(SUPPLIED)} alone, got {error}. Next: supply the name"
                " in test/aiter_checkout"
            ) from error
        return {name: _telling(namespace[name]) for name in names}


def _telling(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, so that what it raises is told from a fault of this repository."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        # Text of another repository: it may raise anything.
        except Exception as error:
            raise ReferenceFailed(function.__name__, error) from error

    return call


def _kind(path: Path) -> str:
    if not path.exists():
        return "no such path"
    if not path.is_dir():
        return "a file"
    return f"a folder with {len(list(path.iterdir()))} entries and no {MARK}"


def _parse(path: Path, file: str) -> ast.Module:
    try:
        return ast.parse(path.read_text(encoding="utf-8"))
    except SyntaxError as error:
        raise CannotMeasure(
            f"{file}: expected Python that this interpreter reads, got {error}. Next:"
            " use the Python that this aiter asks for"
        ) from error


def _definitions(module: ast.Module) -> dict[str, _Definition]:
    """What the module's own top level binds; of a name bound twice the last."""
    found: dict[str, _Definition] = {}
    for node in module.body:
        if isinstance(node, _Definition):
            found |= dict.fromkeys(_bound(node), node)
    return found


def _bound(node: _Definition) -> Iterator[str]:
    if isinstance(node, ast.FunctionDef):
        yield node.name
    elif isinstance(node, ast.Assign):
        yield from (t.id for t in node.targets if isinstance(t, ast.Name))
    elif isinstance(node, ast.Import):
        for alias in node.names:
            if alias.name.partition(".")[0] in SUPPLIED:
                yield alias.asname or alias.name.partition(".")[0]
    elif (node.module or "").partition(".")[0] in SUPPLIED and node.level == 0:
        yield from (alias.asname or alias.name for alias in node.names)


def _closure(
    names: Sequence[str], definitions: Mapping[str, _Definition]
) -> set[_Definition]:
    """The definitions of the names and of everything that they mention."""
    waiting, used = list(names), set()
    while waiting:
        node = definitions.get(waiting.pop())
        if node is None or node in used:
            continue
        used.add(node)
        waiting += [
            part.id
            for part in ast.walk(node)
            if isinstance(part, ast.Name) and not hasattr(builtins, part.id)
        ]
    return used


def _missing(name: str, file: str, definitions: Mapping[str, _Definition]) -> str:
    functions = [
        key for key, node in definitions.items() if isinstance(node, ast.FunctionDef)
    ]
    near = difflib.get_close_matches(name, functions, n=3, cutoff=0.4)
    got = f"{len(functions)} other functions"
    if near:
        got += f", the nearest {', '.join(near)}"
    return (
        f"{file}: expected a function {name}, got {got}. Next: see what aiter calls it"
        " now, and change test/aiter_checkout"
    )
