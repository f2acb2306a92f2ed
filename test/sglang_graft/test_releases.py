"""This repository's overlay against SGLang itself: installed, and other releases."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import sglang_graft
from sglang_graft import AlreadyApplied, Applied, Refused
from sglang_graft.edits import EDITS

if TYPE_CHECKING:
    from sglang_graft.conftest import Sandbox

_GRAFTED = ("0.5.19", "0.5.20", "0.5.21", "0.5.22", "0.5.23")
_REFUSED = ("0.5.18",)
_GATHERED = ("k_gather", "v_gather", "(k_gather, v_gather)", "k_gather, v_gather")
_OURS = {edit.name for edit in EDITS}


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
    """Only our names are new or other, and in forward_extend what calls them."""
    old, new = _statements(ast.parse(before)), _statements(ast.parse(after))
    assert set(old) <= set(new), set(old) - set(new)
    differ = {name for name in new if old.get(name) != new[name]}
    assert differ <= _OURS | {"forward_extend"}, differ - _OURS
    kept = [_without_edits(statements["forward_extend"]) for statements in (old, new)]
    assert kept[0] == kept[1]
    has_head_dim_128 = b"== layer.v_head_dim == 128" in before
    for method, expected in (
        ("_forward_extend_asm_context", 1),
        ("_forward_extend_asm_no_prefix", 1),
        ("_gather_asm_context_kv", int(has_head_dim_128)),
    ):
        assert new["forward_extend"].count(f"self.{method}(") == expected, method


def _without_edits(forward_extend: str) -> str:
    """The method without the bodies and statements that the graft may replace."""
    return ast.unparse(_Editable().visit(ast.parse(forward_extend)))


class _Editable(ast.NodeTransformer):
    """Drops both head_dim-256 branches' bodies and what assigns gathered K and V."""

    def visit_If(self, node: ast.If) -> ast.AST:
        self.generic_visit(node)
        test = ast.unparse(node.test)
        if "any(forward_batch.extend_prefix_lens_cpu)" in test and (
            "layer.qk_head_dim == 256" in test
        ):
            node.body = [ast.Pass()]
        return node

    def visit_Assign(self, node: ast.Assign) -> ast.AST | None:
        gathers = ast.unparse(node.targets[0]) in _GATHERED
        return None if gathers else node


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
    sandbox.copy_target(installed)
    _assert_grafts(sandbox)


@pytest.mark.parametrize("release", _GRAFTED, indirect=True)
def test_release_with_the_branch_is_grafted(sandbox: Sandbox, release: Path) -> None:
    sandbox.copy_target(release)
    _assert_grafts(sandbox)


@pytest.mark.parametrize("release", _REFUSED, indirect=True)
def test_release_without_the_branch_is_refused(sandbox: Sandbox, release: Path) -> None:
    sandbox.copy_target(release)
    before = sandbox.snapshot()
    outcome = sglang_graft.apply(sandbox.package)
    assert isinstance(outcome, Refused), outcome
    assert outcome.anchor == "context-branch"
    assert "first ships in 0.5.19" in outcome.reason
    assert sandbox.snapshot() == before


def test_inline_page_granular_form_is_repaired(sandbox: Sandbox) -> None:
    """The form before 0.5.19, with the names that this repository's overlay uses."""
    sandbox.make_target(sandbox.text("inline"), release="unknown")
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
