"""Unified diffs of one file, as git reads them."""

from __future__ import annotations

import difflib


def unified(path: str, before: bytes | None, after: bytes | None) -> str:
    """The diff of the file at `path`; None stands for no file, "" for no difference."""
    old, new = (
        (content or b"").decode(errors="replace").splitlines(keepends=True)
        for content in (before, after)
    )
    lines = difflib.unified_diff(
        old,
        new,
        "/dev/null" if before is None else f"a/{path}",
        "/dev/null" if after is None else f"b/{path}",
    )
    return "".join(
        line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"
        for line in lines
    )
