"""The reference as the package `aiter`."""

from __future__ import annotations

import ast
import importlib
import importlib.util
import logging
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest
import torch

import aiter_reference
from aiter_reference.triton_helpers import make_kernel_repr

BACKEND = "srt/layers/attention/aiter_backend.py"
UTILS = "srt/layers/attention/aiter_utils.py"


@pytest.fixture(autouse=True)
def only_here(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Start and end without an aiter."""
    aiter_reference.uninstall()
    yield
    aiter_reference.uninstall()


def sglang_root() -> Path:
    spec = importlib.util.find_spec("sglang")
    if spec is None or not spec.submodule_search_locations:
        pytest.skip("needs an installed sglang")
    return Path(spec.submodule_search_locations[0])


def imports(body: list[ast.stmt]) -> list[tuple[str, str]]:
    """(module, name) of the `from module import name` among these statements."""
    return [
        (statement.module, alias.name)
        for statement in body
        if isinstance(statement, ast.ImportFrom) and statement.module
        for alias in statement.names
    ]


def import_block(source: Path) -> list[tuple[str, str]]:
    """The imports of the `try` block that takes names from aiter."""
    for node in ast.parse(source.read_text()).body:
        if isinstance(node, ast.Try):
            block = imports(node.body)
            if any(is_aiter(module) for module, _ in block):
                return block
    raise LookupError(f"no try block in {source} imports from aiter")


def is_aiter(module: str) -> bool:
    return module.split(".")[0] == "aiter"


def test_import_block_of_the_installed_sglang_resolves() -> None:
    block = import_block(sglang_root() / BACKEND)
    names = [(module, name) for module, name in block if is_aiter(module)]
    # SGLang's own modules in the block count too: where one cannot be imported, the
    # names of the whole block stay unbound.
    for module in {module for module, _ in block if not is_aiter(module)}:
        source = sglang_root() / Path(*module.split(".")[1:]).with_suffix(".py")
        below = imports(ast.parse(source.read_text()).body)
        names += [(module, name) for module, name in below if is_aiter(module)]
    # Ten names of aiter, two of aiter.mla, unified_attention, two Triton helpers.
    assert len(names) == 15, names
    # Of the 5D layout: guarded there, and None where they are missing.
    names += import_block(sglang_root() / UTILS)
    assert len(names) == 18, names
    aiter_reference.install()
    for module, name in names:
        assert hasattr(importlib.import_module(module), name), (module, name)


def test_kernels_are_those_of_the_reference() -> None:
    aiter_reference.install()
    aiter = importlib.import_module("aiter")
    assert aiter.__reference__ is True
    assert aiter.__version__ == "0+reference"
    for name in (
        "flash_attn_varlen_fp8_pertensor_func",
        "mha_batch_prefill_func",
        "paged_attention_ragged",
    ):
        assert getattr(aiter, name) is getattr(aiter_reference, name)
    for module, name in (
        ("aiter.ops.triton.attention.unified_attention", "unified_attention"),
        ("aiter.ops.triton.gluon.pa_decode_gluon", "pa_decode_gluon"),
    ):
        kernel = getattr(importlib.import_module(module), name)
        assert kernel is getattr(aiter_reference, name)


def test_install_twice_keeps_the_modules() -> None:
    aiter_reference.install()
    before = {name: sys.modules[name] for name in sys.modules if "aiter" in name}
    aiter_reference.install()
    after = {name: sys.modules[name] for name in sys.modules if "aiter" in name}
    assert before == after


def test_uninstall_leaves_nothing() -> None:
    aiter_reference.install()
    aiter_reference.uninstall()
    assert [name for name in sys.modules if name.split(".")[0] == "aiter"] == []


def test_guarded_imports_of_absent_modules_fail_as_import_errors() -> None:
    aiter_reference.install()
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("aiter.ops.triton.gluon.mla_gluon")
    assert importlib.util.find_spec("aiter") is not None


@pytest.mark.parametrize("name", ["aiter", "aiter.ops"])
def test_another_imported_aiter_is_never_replaced(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = ModuleType(name)
    real.__file__ = "/somewhere/aiter/__init__.py"
    monkeypatch.setitem(sys.modules, name, real)
    with pytest.raises(RuntimeError, match=r"/somewhere/.*SGLANG_PLATFORM"):
        aiter_reference.install()
    aiter_reference.uninstall()
    assert sys.modules[name] is real


def test_an_installed_aiter_is_shadowed_with_a_warning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "aiter").mkdir()
    (tmp_path / "aiter" / "__init__.py").write_text("raise ImportError('real')\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    with caplog.at_level(logging.WARNING):
        aiter_reference.install()
    assert str(tmp_path) in caplog.text
    assert importlib.import_module("aiter").__reference__ is True


def test_kernel_repr_names_a_kernel_after_its_constants() -> None:
    name_kernel = make_kernel_repr("decode", ["HEAD", "name", "absent"])
    specialization = SimpleNamespace(constants={"HEAD": 256, "name": "a b/c"})
    assert name_kernel(specialization) == "decode_HEAD_256_name_a_b_c_absent_None"


def test_e4m3_dtype_is_that_of_gfx950() -> None:
    aiter_reference.install()
    types = importlib.import_module("aiter.ops.triton.utils.types")
    assert torch.finfo(types.e4m3_dtype).max == 448.0
