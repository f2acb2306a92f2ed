"""Every defect of the catalogue can be planted, and has its story."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from matrix.runs import Settings, import_sglang, targets_of_all
from page_size_eval.defect import CATALOGUE, defect_names

NAMES = defect_names()
# Used by name elsewhere in the suite.
NAMED = {"page_granular", "single_swapped_slot", "last_partial_page"}


def test_there_are_enough() -> None:
    assert len(NAMES) >= 30 and set(NAMES) >= NAMED


@pytest.mark.parametrize("name", NAMES)
def test_story_begins_with_one_sentence(name: str) -> None:
    tree = ast.parse((CATALOGUE / f"{name}.py").read_text())
    story = ast.get_docstring(tree)
    assert story and re.fullmatch(r"[^\n]+[.]", story.splitlines()[0]), story


def test_every_defect_replaces_something_in_sglang(tmp_path: Path) -> None:
    """In forks of this process: what is planted there stays there."""
    import_sglang()
    settings = Settings(tmp_path, jobs=2, timeout_s=120.0)
    targets = targets_of_all(NAMES, settings)
    assert set(targets) == set(NAMES)
    for name, replaced in targets.items():
        assert all(target.startswith("sglang") for target in replaced), (name, replaced)
    assert targets["page_granular"] == [
        "sglang.srt.layers.attention.aiter_backend:AiterAttnBackend"
        "._asm_context_prefill_indices"
    ]
