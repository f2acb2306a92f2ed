"""One patch as the mail that `git am` takes."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass

from sglang_graft.unified import unified

AUTHOR = "sglang_graft <sglang-graft@example.invalid>"
DATE = "Thu, 1 Jan 1970 00:00:00 +0000"

_NO_COMMIT = "0" * 40
# What git format-patch has here; nothing reads more of it than that it is there.
_SEPARATOR_DATE = "Mon Sep 17 00:00:00 2001"
_SIGNATURE = "sglang_graft"

# Path in the checkout to its bytes before and after; None stands for no file.
Files = Mapping[str, tuple[bytes | None, bytes | None]]


@dataclass(frozen=True)
class Patch:
    """One mail, and its size in files and lines."""

    name: str
    text: str
    files: int
    insertions: int
    deletions: int

    def __str__(self) -> str:
        return (
            f"{self.name}: {self.files} files, {self.insertions} insertions,"
            f" {self.deletions} deletions"
        )


def make_patch(
    name: str, place: str, subject: str, body: str, files: Files, author: str, date: str
) -> Patch:
    """The patch that changes `files`; `place` is "1/3" for the first of three.

    Its text depends on the arguments alone.
    """
    diffs = {path: _diff(path, *content) for path, content in sorted(files.items())}
    sizes = {path: _size(diff) for path, diff in diffs.items()}
    stat = "".join(f" {path} | +{new} -{old}\n" for path, (new, old) in sizes.items())
    head = (
        f"From {_NO_COMMIT} {_SEPARATOR_DATE}\n"
        f"From: {author}\n"
        f"Date: {date}\n"
        f"Subject: [PATCH {place}] {subject}\n"
        "MIME-Version: 1.0\n"
        "Content-Type: text/plain; charset=UTF-8\n"
        "Content-Transfer-Encoding: 8bit\n"
    )
    text = f"{head}\n{body}\n---\n{stat}\n{''.join(diffs.values())}-- \n{_SIGNATURE}\n"
    return Patch(
        name=name,
        text=text,
        files=len(diffs),
        insertions=sum(new for new, _ in sizes.values()),
        deletions=sum(old for _, old in sizes.values()),
    )


def _diff(path: str, before: bytes | None, after: bytes | None) -> str:
    kept = before is not None and after is not None
    mode = (
        "" if kept else f"{'new' if before is None else 'deleted'} file mode 100644\n"
    )
    blobs = f"index {_blob(before)}..{_blob(after)}{' 100644' if kept else ''}\n"
    return f"diff --git a/{path} b/{path}\n{mode}{blobs}{unified(path, before, after)}"


def _blob(content: bytes | None) -> str:
    """Git's name of the content, so that `git am --3way` can find its base."""
    if content is None:
        return _NO_COMMIT
    return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()


def _size(diff: str) -> tuple[int, int]:
    """Lines inserted and deleted."""
    lines = diff.split("\n@@", 1)[-1].splitlines()
    return (
        sum(line.startswith("+") for line in lines),
        sum(line.startswith("-") for line in lines),
    )
