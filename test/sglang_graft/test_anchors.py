"""Every anchor has its expected count; any other refuses and writes nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from sglang_graft import Applied

if TYPE_CHECKING:
    from sglang_graft.conftest import Sandbox

_PREFIX = "any(forward_batch.extend_prefix_lens_cpu)"
_BRANCH = f"        if {_PREFIX} and layer.qk_head_dim == 256:\n"
_NO_PREFIX_BRANCH = f"        if (\n            not {_PREFIX}\n"
_END = "        return mha_batch_prefill_func"


def _branch(source: str) -> str:
    """The context branch of the later form, whole."""
    return source[source.index(_BRANCH) : source.index(_NO_PREFIX_BRANCH)]


def _no_prefix_branch(source: str) -> str:
    """The no-prefix branch of the later form, whole."""
    return source[source.index(_NO_PREFIX_BRANCH) : source.index(_END)]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (_PREFIX, f"not {_PREFIX}"),
        (_PREFIX, f"({_PREFIX} or save_kv_cache)"),
        (_PREFIX, "forward_batch.extend_prefix_lens_cpu"),
        ("layer.qk_head_dim == 256", "layer.qk_head_dim == 192"),
        ("flash_attn_varlen_fp8_pertensor_func(\n", "flash_attn_varlen_func(\n"),
    ],
)
def test_no_context_branch_is_refused(sandbox: Sandbox, old: str, new: str) -> None:
    source = sandbox.text("released")
    branch = _branch(source)
    sandbox.make_target(source.replace(branch, branch.replace(old, new)))
    refused = sandbox.refused()
    assert refused.anchor == "context-branch"
    assert "expected 1, found 0" in refused.reason
    assert "sglang 0.5.23" in refused.reason
    assert str(sandbox.backend) in refused.reason
    assert not sandbox.state.exists()


def test_two_context_branches_are_refused(sandbox: Sandbox) -> None:
    source = sandbox.text("released")
    branch = _branch(source)
    sandbox.make_target(source.replace(branch, branch * 2))
    refused = sandbox.refused()
    assert refused.anchor == "context-branch"
    assert "expected 1, found 2" in refused.reason
    assert not sandbox.state.exists()


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (f"not {_PREFIX}", f"not ({_PREFIX} or save_kv_cache)"),
        ("layer.qk_head_dim == 256", "layer.qk_head_dim == 192"),
        ("flash_attn_varlen_fp8_pertensor_func(\n", "flash_attn_varlen_func(\n"),
    ],
)
def test_no_branch_for_first_chunks_is_refused(
    sandbox: Sandbox, old: str, new: str
) -> None:
    source = sandbox.text("released")
    branch = _no_prefix_branch(source)
    assert old in branch
    sandbox.make_target(source.replace(branch, branch.replace(old, new)))
    refused = sandbox.refused()
    assert refused.anchor == "no-prefix-branch"
    assert "expected 1, found 0" in refused.reason
    assert "not any(forward_batch.extend_prefix_lens_cpu)" in refused.reason
    assert "--only" in refused.next_step
    assert isinstance(sandbox.apply("context-branch"), Applied)


def test_two_branches_for_first_chunks_are_refused(sandbox: Sandbox) -> None:
    source = sandbox.text("released")
    branch = _no_prefix_branch(source)
    sandbox.make_target(source.replace(branch, branch * 2))
    refused = sandbox.refused()
    assert refused.anchor == "no-prefix-branch"
    assert "expected 1, found 2" in refused.reason


def test_first_chunks_of_an_early_release_can_be_repaired(sandbox: Sandbox) -> None:
    """0.5.18 has no context branch, and the branch for first chunks has the fault."""
    source = sandbox.text("released")
    sandbox.make_target(source.replace(_branch(source), ""), release="0.5.18")
    assert isinstance(sandbox.apply("no-prefix-branch"), Applied)
    assert "self._forward_extend_asm_no_prefix(" in sandbox.backend.read_text()


def test_release_before_the_branch_is_told_so(sandbox: Sandbox) -> None:
    source = sandbox.text("released")
    sandbox.make_target(source.replace(_branch(source), ""), release="0.5.18")
    refused = sandbox.refused()
    assert refused.anchor == "context-branch"
    assert "ASM context prefill first ships in 0.5.19" in refused.reason
    assert "0.5.18" in refused.reason
    assert "0.5.19" in refused.next_step


@pytest.mark.parametrize(
    "tail",
    ["        else:\n            q = k\n", "        elif q:\n            q = k\n"],
)
def test_branch_with_an_alternative_is_refused(sandbox: Sandbox, tail: str) -> None:
    source = sandbox.text("released")
    branch = _branch(source)
    sandbox.make_target(source.replace(branch, branch + tail))
    refused = sandbox.refused()
    assert "found an elif or else beside it" in refused.reason


def test_branch_that_is_an_alternative_is_refused(sandbox: Sandbox) -> None:
    source = sandbox.text("released")
    before = "        if q:\n            q = k\n        elif any"
    sandbox.make_target(source.replace("        if any", before))
    refused = sandbox.refused()
    assert "found an elif or else beside it" in refused.reason


@pytest.mark.parametrize(
    ("old", "anchor", "names"),
    [
        ("k_descale, v_descale = ", "context-branch", "k_descale, v_descale"),
        ("cache_loc = ", "no-prefix-branch", "cache_loc"),
    ],
)
def test_branch_without_the_local_names_is_refused(
    sandbox: Sandbox, old: str, anchor: str, names: str
) -> None:
    source = sandbox.text("released")
    sandbox.make_target(source.replace(old, old.upper()))
    refused = sandbox.refused()
    assert refused.anchor == anchor
    assert f"does not bind {names}" in refused.reason


@pytest.mark.parametrize(
    ("old", "new", "anchor", "found"),
    [
        ("class AiterAttnBackend", "class Other", "class AiterAttnBackend", 0),
        ("class Updater:", "class AiterAttnBackend:", "class AiterAttnBackend", 2),
        ("def forward_extend", "def extend", "AiterAttnBackend.forward_extend", 0),
        (
            "    def forward_extend",
            "    def forward_extend(self):\n        pass\n\n    def forward_extend",
            "AiterAttnBackend.forward_extend",
            2,
        ),
        (
            "    # Indices of the batch.",
            "    def _context_indices(self):\n        pass\n",
            "method _context_indices",
            2,
        ),
    ],
)
def test_other_anchor_found_too_rarely_or_too_often_is_refused(
    sandbox: Sandbox, old: str, new: str, anchor: str, found: int
) -> None:
    sandbox.make_target(sandbox.text("released").replace(old, new))
    refused = sandbox.refused()
    assert refused.anchor == anchor
    assert f"expected 1, found {found}" in refused.reason
    assert refused.next_step
