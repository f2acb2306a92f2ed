"""This repository's overlay against SGLang itself: installed, and other releases."""

from __future__ import annotations

import ast
import importlib.util
import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import sglang_graft
from sglang_graft import AlreadyApplied, Applied, Refused
from sglang_graft.edits import EDITS

if TYPE_CHECKING:
    from sglang_graft.conftest import Sandbox

_RELEASES = os.environ.get("SGLANG_RELEASES")
_GRAFTED = ("0.5.19", "0.5.20", "0.5.21", "0.5.22", "0.5.23")
_REFUSED = ("0.5.18",)
_OURS = {edit.name for edit in EDITS}


@pytest.fixture
def installed() -> Path:
    """The installed package."""
    spec = importlib.util.find_spec("sglang")
    if spec is None or spec.origin is None:
        pytest.skip("needs an installed sglang")
    return Path(spec.origin).parent


@pytest.fixture
def release(request: pytest.FixtureRequest) -> Path:
    """The package of one release, by its version."""
    if _RELEASES is None:
        pytest.skip("needs SGLANG_RELEASES: a folder with <version>/sglang/ in it")
    version: str = request.param
    package = Path(_RELEASES) / version / "sglang"
    if not package.is_dir():
        pytest.skip(f"needs {version}/sglang in SGLANG_RELEASES")
    return package


def _copy(package: Path, sandbox: Sandbox) -> None:
    """Copy what the graft looks at."""
    sandbox.backend.unlink()
    source = package / sandbox.backend.relative_to(sandbox.package)
    shutil.copy(source, sandbox.backend)
    shutil.copy(package / "_version.py", sandbox.package / "_version.py")


def _assert_grafts(sandbox: Sandbox) -> None:
    before = sandbox.backend.read_bytes()
    outcome = sglang_graft.apply(sandbox.package)
    assert isinstance(outcome, Applied), outcome
    after = sandbox.backend.read_bytes()
    compile(after, str(sandbox.backend), "exec")
    _assert_only_ours_differ(before, after)
    assert isinstance(sglang_graft.apply(sandbox.package), AlreadyApplied)
    sglang_graft.revert(sandbox.package)
    assert sandbox.backend.read_bytes() == before


def _assert_only_ours_differ(before: bytes, after: bytes) -> None:
    """Only our names are new or other; forward_extend differs in one `if` body."""
    old, new = _statements(ast.parse(before)), _statements(ast.parse(after))
    assert set(old) <= set(new), set(old) - set(new)
    differ = {name for name in new if old.get(name) != new[name]}
    assert differ <= _OURS | {"forward_extend"}, differ - _OURS
    ours = [n for n in ast.walk(ast.parse(after)) if _is_our_branch(n)]
    assert len(ours) == 1, len(ours)


def _is_our_branch(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and ast.unparse(node.body[0]).startswith(
        "o = self._forward_extend_asm_context("
    )


def _statements(module: ast.Module) -> dict[str, str]:
    """Name (or text) to text of every statement and method, imports left out."""
    found: dict[str, str] = {}
    for statement in module.body:
        if isinstance(statement, ast.ClassDef) and statement.name == "AiterAttnBackend":
            found |= _named(statement.body)
        elif not isinstance(statement, ast.Import | ast.ImportFrom):
            found |= _named([statement])
    return found


def _named(body: list[ast.stmt]) -> dict[str, str]:
    return {_name(statement): ast.unparse(statement) for statement in body}


def _name(statement: ast.stmt) -> str:
    match statement:
        case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
            return name
        case ast.Assign(targets=[ast.Name(id=name)]):
            return name
        case ast.AnnAssign(target=ast.Name(id=name)):
            return name
    return ast.unparse(statement)


def test_installed_release_is_grafted(sandbox: Sandbox, installed: Path) -> None:
    _copy(installed, sandbox)
    # A grafted installation is tested from its original.
    backup = installed / ".sglang_graft/backup/srt/layers/attention/aiter_backend.py"
    if backup.exists():
        shutil.copy(backup, sandbox.backend)
    _assert_grafts(sandbox)


@pytest.mark.parametrize("release", _GRAFTED, indirect=True)
def test_release_with_the_branch_is_grafted(sandbox: Sandbox, release: Path) -> None:
    _copy(release, sandbox)
    _assert_grafts(sandbox)


@pytest.mark.parametrize("release", _REFUSED, indirect=True)
def test_release_without_the_branch_is_refused(sandbox: Sandbox, release: Path) -> None:
    _copy(release, sandbox)
    before = sandbox.snapshot()
    outcome = sglang_graft.apply(sandbox.package)
    assert isinstance(outcome, Refused), outcome
    assert outcome.anchor == "context-branch"
    assert "first ships in 0.5.19" in outcome.reason
    assert sandbox.snapshot() == before


def test_inline_page_granular_form_is_repaired(sandbox: Sandbox) -> None:
    """The form before 0.5.19, with the names that this repository's overlay uses."""
    outcome = sglang_graft.apply(sandbox.package)
    assert isinstance(outcome, Refused), outcome
    assert "ForwardBatch" in outcome.reason
    source = sandbox.text("inline").replace(
        "from layers import Layer", "from layers import ForwardBatch, RadixAttention"
    )
    sandbox.make_target(source, release="unknown")
    outcome = sglang_graft.apply(sandbox.package)
    assert isinstance(outcome, Applied), outcome
    assert "// self.page_size" not in sandbox.backend.read_text()
