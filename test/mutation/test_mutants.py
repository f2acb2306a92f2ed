"""Mutants of a function: each another change, each takes the function's place."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

pytest.importorskip("mutmut", reason="mutants are made by mutmut's operators")

from mutation.mutants import install, make_mutants

SOURCE = '''"""A module."""

LIMIT = 3


def clip(value: int) -> int:
    """Cut to LIMIT."""
    if value > LIMIT:
        return LIMIT + 0
    return value


class Holder:
    def double(self, value: int) -> int:
        return value * 2


def other(value: int) -> int:
    return value + 1
'''


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "module.py"
    path.write_text(SOURCE)
    return path


def test_only_the_named_functions_are_mutated_and_every_key_is_another(
    file: Path,
) -> None:
    mutants = make_mutants(file, ("clip", "double"))
    keys = [mutant.key for mutant in mutants]
    assert len(set(keys)) == len(keys)
    assert {mutant.function for mutant in mutants} == {"clip", "double"}
    assert "clip: - if value > LIMIT: + if value >= LIMIT:" in keys
    assert "double: - return value * 2 + return value / 2" in keys


def test_keys_do_not_depend_on_the_lines_before(file: Path) -> None:
    before = make_mutants(file, ("clip",))
    file.write_text("# A line more.\n" + SOURCE)
    assert [m.key for m in make_mutants(file, ("clip",))] == [m.key for m in before]


def test_a_function_that_is_not_there_is_refused(file: Path) -> None:
    with pytest.raises(ValueError, match="expected mutants of missing"):
        make_mutants(file, ("clip", "missing"))


def test_mutant_takes_the_functions_place_and_sees_the_modules_names(
    file: Path,
) -> None:
    module: Any = ModuleType("module")
    exec(SOURCE, vars(module))
    by_key = {mutant.key: mutant for mutant in make_mutants(file, ("clip", "double"))}
    install(by_key["clip: - return LIMIT + 0 + return LIMIT + 1"], module, module)
    tripled = by_key["double: - return value * 2 + return value * 3"]
    install(tripled, module, module.Holder)
    assert (module.clip(9), module.clip(2)) == (4, 2)
    module.LIMIT = 5
    assert module.clip(9) == 6
    assert module.Holder().double(4) == 12
