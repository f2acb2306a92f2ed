"""The registry and this repository's overlay name the same edits."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import sglang_graft
from sglang_graft import Refused, edits
from sglang_graft.edits import EDITS
from sglang_graft.overlay import default_overlay, load_overlay
from sglang_graft.selection import STATEMENT_EDITS

if TYPE_CHECKING:
    from sglang_graft.conftest import Sandbox


def test_registry_and_overlay_are_a_bijection() -> None:
    overlay = load_overlay(default_overlay())
    owned = [d.name for d in overlay.definitions]
    expected = sorted([*owned, *overlay.new_files, *STATEMENT_EDITS])
    assert sorted(edit.name for edit in EDITS) == expected


def test_every_edit_says_why_and_until_when() -> None:
    for edit in EDITS:
        assert edit.reason and edit.removal, edit
        assert edit.upstream.startswith("https://github.com/"), edit


@pytest.mark.parametrize(
    ("registry", "reason"),
    [
        (EDITS[1:], f"without an entry: {EDITS[0].name}"),
        (
            (*EDITS, replace(EDITS[0], name="_gone")),
            "entries without a definition: _gone",
        ),
        ((*EDITS, EDITS[0]), f"entries that occur twice: {EDITS[0].name}"),
    ],
)
def test_apply_refuses_an_overlay_that_is_not_registered(
    sandbox: Sandbox,
    monkeypatch: pytest.MonkeyPatch,
    registry: tuple[edits.Edit, ...],
    reason: str,
) -> None:
    monkeypatch.setattr(edits, "EDITS", registry)
    before = sandbox.snapshot()
    outcome = sglang_graft.apply(Path(sandbox.package))
    assert isinstance(outcome, Refused), outcome
    assert outcome.anchor == "edit registry"
    assert reason in outcome.reason
    assert sandbox.snapshot() == before
