"""The gather of the head_dim-128 branch becomes one call, where there is the branch."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from sglang_graft import AlreadyApplied, Applied

if TYPE_CHECKING:
    from sglang_graft.conftest import Sandbox

_OVERLAY = """\
class AiterAttnBackend:
    def _gather_asm_context_kv(self, k_cache, v_cache, tok_idx):
        return k_cache[tok_idx], v_cache[tok_idx]
"""
_TEST = "layer.qk_head_dim == layer.v_head_dim == 128"
_KERNEL = "flash_attn_varlen_fp8_pertensor_func(q"


@pytest.fixture
def source(sandbox: Sandbox) -> str:
    """A file with the branch, in the target; the overlay has the method alone."""
    sandbox.make_overlay(_OVERLAY)
    source = sandbox.text("head_dim_128")
    sandbox.make_target(source)
    return source


def test_pair_of_selects_becomes_one_call(sandbox: Sandbox, source: str) -> None:
    assert isinstance(sandbox.apply(), Applied)
    assert sandbox.backend.read_text() == sandbox.text("head_dim_128_grafted")


def test_grafted_branch_is_left_alone(sandbox: Sandbox, source: str) -> None:
    sandbox.make_target(sandbox.text("head_dim_128_grafted"))
    assert isinstance(sandbox.apply(), AlreadyApplied)


@pytest.mark.parametrize("release", ["0.5.21", "0.5.19", "unknown", "0.0.0.dev1"])
def test_earlier_release_has_no_branch_to_edit(
    sandbox: Sandbox, source: str, release: str
) -> None:
    sandbox.make_target(source.replace("== 128", "== 64"), release)
    assert isinstance(sandbox.apply(), Applied)
    assert "index_select" in sandbox.backend.read_text()


@pytest.mark.parametrize("release", ["0.5.22", "0.5.23", "0.6.0"])
def test_later_release_without_the_branch_is_refused(
    sandbox: Sandbox, source: str, release: str
) -> None:
    sandbox.make_target(source.replace("== 128", "== 64"), release)
    refused = sandbox.refused()
    assert refused.anchor == "head-dim-128-gather"
    assert "expected 1, found 0" in refused.reason


@pytest.mark.parametrize(
    ("old", "new", "anchor", "found"),
    [
        (_KERNEL, "other(q", "head-dim-128-gather", 0),
        ("(0, tok_idx)", "(0, rows)", "head-dim-128-gather, gathers of K and V", 0),
        ("v_gather = ", "w_gather = ", "head-dim-128-gather, gathers of K and V", 0),
        ("v_cache.view", "k_cache.view", "head-dim-128-gather, gathers of K and V", 0),
    ],
)
def test_other_shape_of_the_branch_is_refused(
    sandbox: Sandbox, source: str, old: str, new: str, anchor: str, found: int
) -> None:
    assert old in source
    sandbox.make_target(source.replace(old, new))
    refused = sandbox.refused()
    assert refused.anchor == anchor
    assert f"expected 1, found {found}" in refused.reason


def test_two_branches_are_refused(sandbox: Sandbox, source: str) -> None:
    start, end = (
        source.index(f"        if on() and {_TEST}"),
        source.index("        return self.paged"),
    )
    sandbox.make_target(source[:end] + source[start:])
    assert "expected 1, found 2" in sandbox.refused().reason


def test_two_pairs_are_refused(sandbox: Sandbox, source: str) -> None:
    start, end = (
        source.index("                k_gather = ("),
        source.index("                return flash"),
    )
    sandbox.make_target(source[:end] + source[start:])
    refused = sandbox.refused()
    assert refused.anchor == "head-dim-128-gather, gathers of K and V"
    assert "expected 1, found 2" in refused.reason
