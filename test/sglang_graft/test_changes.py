"""The changes for upstream cover the overlay, and their mails are git's."""

from __future__ import annotations

from pathlib import Path

from sglang_graft.changes import CHANGES
from sglang_graft.mail import make_patch
from sglang_graft.overlay import default_overlay, load_overlay
from sglang_graft.selection import select

_TREES = Path(__file__).parent / "trees"


def test_text_is_that_of_git_format_patch() -> None:
    files = {"b.py": (b"-- one\nno end", b"++ one\ntwo\n"), "a.py": (None, b"new\n")}
    made = make_patch(
        *("name", "1/2", "[AMD] Subject", "Body.", files),
        author="A <a@example.invalid>",
        date="Thu, 1 Jan 1970 00:00:00 +0000",
    )
    assert made.text == (_TREES / "mail.patch.txt").read_text()
    assert (made.files, made.insertions, made.deletions) == (2, 3, 2)


def test_every_edit_is_in_one_change() -> None:
    overlay = load_overlay(default_overlay())
    asked = [name for change in CHANGES for name in change.edits]
    assert len(set(asked)) == len(asked)
    assert select(overlay, asked) == select(overlay)


def test_every_message_has_its_parts_and_fits_its_lines() -> None:
    for change in CHANGES:
        assert change.subject.startswith("[AMD] ") and len(change.subject) <= 72, change
        for part in ("Problem: ", "Change: ", "Tested: "):
            assert change.body.count(part) == 1, (change.name, part)
        assert max(map(len, change.body.splitlines())) <= 80, change.name
        assert change.body.isascii() and change.subject.isascii()
