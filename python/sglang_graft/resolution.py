"""Whether every name that our definitions use exists in the spliced file."""

from __future__ import annotations

import builtins

from sglang_graft.anchors import Site
from sglang_graft.names import Bindings, bindings_of
from sglang_graft.overlay import BACKEND_CLASS, Definition
from sglang_graft.selection import Selection

# A method that calls super() reads __class__.
_ALWAYS_BOUND = {*dir(builtins), "__name__", "__file__", "__doc__", "__class__"}


def require_bound(result: bytes, selection: Selection, site: Site) -> None:
    """Refuse a splice whose definitions would meet a NameError.

    Raises:
        Refusal: the splice does not parse; or, naming both, a definition uses a name
            that is not bound, bound for type checkers only, or bound too late.
    """
    try:
        bindings = bindings_of(result)
    except SyntaxError as error:
        raise site.refuse(
            "result", f"does not parse: {error}", "mend the overlay"
        ) from None
    for definition in selection.definitions:
        for name in sorted(definition.uses.all - _ALWAYS_BOUND):
            problem = _problem(name, definition, bindings)
            if problem:
                raise site.refuse(
                    f"name {name}",
                    f"{definition.name} uses {name}, which is {problem}",
                    f"define or import {name} in the overlay, or do without it for"
                    " this release",
                )


def _problem(name: str, definition: Definition, bindings: Bindings) -> str | None:
    uses = definition.uses
    at_import = uses.at_import | (
        frozenset() if bindings.lazy_annotations else uses.annotations
    )
    if name not in bindings.runtime:
        if name not in bindings.type_checking:
            return "not bound at module level"
        if name in at_import | uses.later:
            return "bound under TYPE_CHECKING only"
        return None
    # Methods are defined while the class is.
    holder = BACKEND_CLASS if definition.is_method else definition.name
    late = bindings.runtime[name] > bindings.runtime[holder]
    return "bound only after it" if late and name in at_import else None
