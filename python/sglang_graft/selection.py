"""The part of the overlay that one run splices."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sglang_graft.names import ImportedName, bound_name, imported_names
from sglang_graft.optional import without_calls
from sglang_graft.outcome import Refusal
from sglang_graft.overlay import Definition, Overlay

CONTEXT_BRANCH = "context-branch"
NO_PREFIX_BRANCH = "no-prefix-branch"
HEAD_DIM_128_GATHER = "head-dim-128-gather"
# Edits of forward_extend, in their order, by the method of ours that they call.
STATEMENT_EDITS = {
    CONTEXT_BRANCH: "_forward_extend_asm_context",
    NO_PREFIX_BRANCH: "_forward_extend_asm_no_prefix",
    HEAD_DIM_128_GATHER: "_gather_asm_context_kv",
}
# A selection without these leaves their calls out: they watch and change nothing.
OPTIONAL = frozenset({"_count_asm_context_prefill", "_count_asm_context_hit"})


@dataclass(frozen=True)
class Selection:
    """Definitions in the overlay's order, and what has to come along with them."""

    definitions: tuple[Definition, ...]
    imports: frozenset[ImportedName]
    statement_edits: tuple[str, ...]
    new_files: Mapping[str, bytes]

    @property
    def names(self) -> tuple[str, ...]:
        """The names spliced, the statement edits last."""
        return (*(d.name for d in self.definitions), *self.statement_edits)


def select(overlay: Overlay, only: Sequence[str] = ()) -> Selection:
    """All of the overlay, or the definitions `only` and whatever they need of it.

    Raises:
        Refusal: a name that the overlay does not have; lists those that it has.
    """
    known = {d.name: d for d in overlay.definitions}
    edits = {e: method for e, method in STATEMENT_EDITS.items() if method in known}
    valid = [*known, *edits]
    unknown = [name for name in only if name not in valid]
    if unknown:
        raise Refusal(
            "--only",
            f"the overlay has no {', '.join(unknown)}",
            f"choose from {', '.join(valid)}",
            exit_code=2,
        )
    wanted = [edits.get(name, name) for name in only or valid]
    chosen = _closure(known, wanted)
    left_out = OPTIONAL - chosen
    definitions = tuple(
        without_calls(d, left_out) for d in overlay.definitions if d.name in chosen
    )
    used = {name for d in definitions for name in d.uses.all}
    imports = frozenset(
        i for i in overlay.imports if i[0] == "__future__" or bound_name(i) in used
    )
    return Selection(
        definitions=definitions,
        imports=imports,
        # A method brings its edit along where it is asked for, not where it is needed.
        statement_edits=tuple(e for e, method in edits.items() if method in wanted),
        new_files=_needed_files(overlay, definitions, imports)
        if only
        else overlay.new_files,
    )


def _closure(known: Mapping[str, Definition], wanted: Sequence[str]) -> frozenset[str]:
    chosen: set[str] = set()
    pending = [name for name in wanted if name in known]
    while pending:
        name = pending.pop()
        if name not in chosen:
            chosen.add(name)
            uses = known[name].uses
            needed = uses.all - OPTIONAL
            pending += [n for n in needed if n in known and not known[n].is_method]
            pending += [n for n in uses.attributes if n in known and known[n].is_method]
    return frozenset(chosen)


def _needed_files(
    overlay: Overlay,
    definitions: Sequence[Definition],
    imports: frozenset[ImportedName],
) -> dict[str, bytes]:
    """New files that the definitions, or other needed new files, import."""
    needed: dict[str, bytes] = {}
    pending = list(imports.union(*(d.uses.imports for d in definitions)))
    while pending:
        module, name, _ = pending.pop()
        for dotted in (module, f"{module}.{name}"):
            path = dotted.removeprefix("sglang.").replace(".", "/") + ".py"
            if path in overlay.new_files and path not in needed:
                needed[path] = overlay.new_files[path]
                pending += _imports_of(needed[path], path)
    return needed


def _imports_of(source: bytes, path: str) -> list[ImportedName]:
    try:
        nodes = ast.walk(ast.parse(source))
    except SyntaxError as error:
        raise Refusal("overlay", f"{path}: {error}", "mend the file") from None
    return [i for node in nodes for i in imported_names(node)]
