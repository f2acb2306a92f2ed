"""Mutants of the overlay's functions, made by mutmut's operators.

mutmut's own runner copies a project and imports it from the copy. Here the functions
under test live spliced into an installed SGLang, so its operators alone are used, and
each mutant replaces one function of the module that is loaded.
"""

from __future__ import annotations
import __future__

import difflib
import textwrap
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import libcst
from libcst.metadata import MetadataWrapper
from mutmut.mutation.file_mutation import MutationVisitor
from mutmut.mutation.mutators import mutation_operators
from mutmut.mutation.pragma_handling import IgnoredCode


@dataclass(frozen=True)
class Mutant:
    """One function with one change.

    Attributes:
        key: names it from run to run, wherever its lines are: the function, the lines
            that differ, and which of several mutants that differ in the same words.
        function: its name.
        source: the whole function, at the left margin.
    """

    key: str
    function: str
    source: str


def make_mutants(path: Path, functions: tuple[str, ...]) -> list[Mutant]:
    """All mutants of the named functions and methods of a file.

    Raises:
        ValueError: a function is not there, or has nothing to mutate.
    """
    wrapper = MetadataWrapper(libcst.parse_module(path.read_text()))
    visitor = MutationVisitor(mutation_operators, IgnoredCode(set(), set(), set()))
    wrapper.visit(visitor)
    seen: Counter[str] = Counter()
    mutants = []
    for mutation in visitor.mutations:
        function = mutation.contained_by_top_level_function
        if function is None or function.name.value not in functions:
            continue
        name = function.name.value
        changed = function.deep_replace(mutation.original_node, mutation.mutated_node)
        before, after = (_source_of(node) for node in (function, changed))
        key = f"{name}: {_change(before, after)}"
        seen[key] += 1
        number = f" #{seen[key]}" if seen[key] > 1 else ""
        mutants.append(Mutant(key + number, name, after))
    for name in functions:
        if not any(mutant.function == name for mutant in mutants):
            raise ValueError(f"{path}: expected mutants of {name}, got none")
    return mutants


def _source_of(function: Any) -> str:
    code = libcst.Module([function]).code
    return textwrap.dedent(code.lstrip("\n"))


def _change(before: str, after: str) -> str:
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), n=0)
    changed = [line for line in lines if line[:1] in "+-" and line[:3] not in _HEADS]
    return " ".join(" ".join(f"{line[0]} {line[1:]}".split()) for line in changed)


_HEADS = ("+++", "---")


def install(mutant: Mutant, module: Any, owner: Any) -> None:
    """Let the mutant take its function's place in a loaded module.

    Args:
        owner: the class of a method, or the module itself.
    """
    flags = __future__.annotations.compiler_flag
    code = compile(mutant.source, f"<mutant of {mutant.function}>", "exec", flags)
    made: dict[str, Any] = {}
    # The module's own globals, so that a test's patches reach the mutant.
    exec(code, vars(module), made)
    setattr(owner, mutant.function, made[mutant.function])
