"""A subset takes along what it needs, and nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from sglang_graft import Applied

if TYPE_CHECKING:
    from sglang_graft.conftest import Sandbox

_BRANCH = ("_forward_extend_asm_context", "context-branch")


@pytest.mark.parametrize(
    ("only", "names"),
    [
        (["_counts"], ("_counts",)),
        (["_note"], ("_counts", "_note")),
        (["_gather_indices"], ("_CHECK", "_counts", "_note", "_gather_indices")),
        (["_CHECK", "logger"], ("logger", "_CHECK")),
        (
            ["context-branch"],
            ("_CHECK", "_counts", "_note", "_gather_indices", "_context_indices")
            + _BRANCH,
        ),
        (
            ["no-prefix-branch"],
            ("_forward_extend_asm_no_prefix", "no-prefix-branch"),
        ),
        (
            ["_forward_extend_asm_context"],
            ("_CHECK", "_counts", "_note", "_gather_indices", "_context_indices")
            + _BRANCH,
        ),
    ],
)
def test_subset_takes_along_what_it_needs(
    sandbox: Sandbox, only: list[str], names: tuple[str, ...]
) -> None:
    outcome = sandbox.apply(*only)
    assert isinstance(outcome, Applied), outcome
    assert outcome.names == names
    text = sandbox.backend.read_text()
    assert ("self._forward_extend_asm_context(" in text) == ("context-branch" in names)


def test_helper_alone_fits_a_release_without_the_branch(sandbox: Sandbox) -> None:
    sandbox.make_target(
        "import torch\n\n\nclass AiterAttnBackend:\n    def forward_extend(self):\n"
        "        pass\n",
        release="0.5.18",
    )
    assert isinstance(sandbox.apply("_gather_indices"), Applied)


def test_subset_then_all_equals_all(sandbox: Sandbox) -> None:
    sandbox.apply("_note")
    assert isinstance(sandbox.apply(), Applied)
    assert sandbox.backend.read_text() == sandbox.text("inline_grafted")
    sandbox.revert()
    assert sandbox.backend.read_text() == sandbox.text("inline")


def test_new_file_comes_along_only_where_it_is_imported(sandbox: Sandbox) -> None:
    sandbox.make_overlay(
        "A = 1\n\n\ndef f():\n    from sglang.srt.layers.attention.one import g\n\n"
        "    return g\n",
        {
            "srt/layers/attention/one.py": "import sglang.srt.layers.two\n\ng = 1\n",
            "srt/layers/two.py": "h = 2\n",
            "srt/layers/three.py": "i = 3\n",
        },
    )
    first = sandbox.apply("A")
    assert isinstance(first, Applied), first
    assert len(first.files) == 1, first
    second = sandbox.apply("f")
    assert isinstance(second, Applied), second
    assert set(second.files) == {
        "srt/layers/attention/one.py",
        "srt/layers/two.py",
        "srt/layers/attention/aiter_backend.py",
    }


def test_unknown_name_lists_the_valid_ones(sandbox: Sandbox) -> None:
    refused = sandbox.refused("_note", "_nota")
    assert refused.exit_code == 2
    assert "no _nota" in refused.reason
    for name in ("_note", "_gather_indices", "context-branch"):
        assert name in refused.next_step, refused.next_step


_COUNTING = """\
def _count_asm_context_prefill(outcome):
    print(outcome)


def _fall_back(reason):
    # Somebody should hear of it.
    _count_asm_context_prefill(reason)
    return reason


def _both():
    return _fall_back("x"), _count_asm_context_prefill("y")
"""


def test_counts_are_left_out_unless_they_are_asked_for(sandbox: Sandbox) -> None:
    sandbox.make_overlay(_COUNTING)
    outcome = sandbox.apply("_fall_back")
    assert isinstance(outcome, Applied), outcome
    assert outcome.names == ("_fall_back",)
    alone = "def _fall_back(reason):\n    return reason\n"
    assert alone in sandbox.backend.read_text()
    assert "_count" not in sandbox.backend.read_text()
    sandbox.apply("_fall_back", "_count_asm_context_prefill")
    assert "    _count_asm_context_prefill(reason)\n" in sandbox.backend.read_text()


def test_count_whose_result_is_used_cannot_be_left_out(sandbox: Sandbox) -> None:
    sandbox.make_overlay(_COUNTING)
    refused = sandbox.refused("_both")
    assert refused.anchor == "name _count_asm_context_prefill"


def test_method_that_is_only_needed_does_not_bring_its_edit(sandbox: Sandbox) -> None:
    sandbox.make_target(sandbox.text("head_dim_128"))
    sandbox.make_overlay(
        "class AiterAttnBackend:\n"
        "    def _gather_asm_context_kv(self, k_cache, v_cache, tok_idx):\n"
        "        return k_cache, v_cache\n\n"
        "    def _other(self):\n"
        "        return self._gather_asm_context_kv(1, 2, 3)\n"
    )
    sandbox.apply("_other")
    assert "index_select" in sandbox.backend.read_text()
    sandbox.apply("_gather_asm_context_kv")
    assert "index_select" not in sandbox.backend.read_text()
