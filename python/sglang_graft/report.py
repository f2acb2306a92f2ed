"""Status of a tree, and its difference from SGLang."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

from sglang_graft.atomic import read_if_there
from sglang_graft.manifest import (
    FileRecord,
    Manifest,
    State,
    load_manifest,
    original_bytes,
    refuse_foreign,
    sha256,
)
from sglang_graft.operations import open_overlay, refusing
from sglang_graft.outcome import Refusal
from sglang_graft.overlay import default_overlay
from sglang_graft.plan import plan_changes
from sglang_graft.selection import select
from sglang_graft.target import CHECKOUT_PATH, Target, find_target
from sglang_graft.unified import unified

TreeState = Literal["not applied", "grafted", "half applied", "foreign"]


@dataclass(frozen=True)
class FileStatus:
    """One grafted file: what it should hold and what it does."""

    path: str
    kind: str
    state: State
    names: tuple[str, ...]
    sha256_before: str | None
    sha256_after: str | None
    sha256_now: str | None


@dataclass(frozen=True)
class Status:
    """The state of a tree; `has_manifest` is False where it was patched otherwise."""

    package: Path
    release: str
    state: TreeState
    has_manifest: bool
    files: tuple[FileStatus, ...]

    @property
    def exit_code(self) -> int:
        """1 for a tree that needs attention."""
        return 0 if self.state in ("not applied", "grafted") else 1

    def to_json(self) -> str:
        """All fields as one JSON document."""
        return json.dumps(asdict(self), indent=2, default=str)

    def __str__(self) -> str:
        lines = [f"{self.state}: sglang {self.release} in {self.package}"]
        if self.state == "grafted" and not self.has_manifest:
            lines.append("  no manifest: patched without sglang_graft")
        for file in self.files:
            before, after, now = (
                (h or "none")[:12]
                for h in (file.sha256_before, file.sha256_after, file.sha256_now)
            )
            lines += [
                f"  {file.path} ({file.kind}): {file.state}",
                f"    sha256 original {before} grafted {after} now {now}",
                f"    names {', '.join(file.names)}",
            ]
        return "\n".join(lines)


@dataclass(frozen=True)
class Diff:
    """A unified diff, with paths as in a source checkout; empty if nothing differs."""

    text: str
    exit_code: int = 0

    def __str__(self) -> str:
        return self.text


@refusing
def status(target: Path | None = None, overlay: Path | None = None) -> Status:
    """What a tree holds: each grafted file against its hashes."""
    tree = find_target(target, overlay or default_overlay())
    manifest = load_manifest(tree.package)
    if manifest is None:
        state: TreeState = (
            "grafted" if _is_grafted_already(tree, overlay) else "not applied"
        )
        return Status(tree.package, tree.release, state, False, ())
    files = tuple(_file_status(tree.package, r) for r in manifest.files)
    return Status(tree.package, tree.release, _tree_state(files), True, files)


@refusing
def diff(
    target: Path | None = None, only: Sequence[str] = (), overlay: Path | None = None
) -> Diff:
    """What apply would change in a tree or, in a grafted one, has changed.

    A tree that is grafted in part is compared as apply would leave it.
    """
    tree = find_target(target, overlay or default_overlay())
    manifest = load_manifest(tree.package)
    if manifest:
        refuse_foreign(tree.package, manifest)
        if all(
            _file_status(tree.package, r).state == "grafted" for r in manifest.files
        ):
            return Diff("".join(_applied_diffs(tree.package, manifest)))
    definitions = open_overlay(overlay)
    selection = select(definitions, only)
    changes = plan_changes(tree, definitions, selection, manifest)
    diffs = (unified(f"{CHECKOUT_PATH}/{c.path}", c.before, c.after) for c in changes)
    return Diff("".join(diffs))


def _file_status(package: Path, record: FileRecord) -> FileStatus:
    content = read_if_there(package / record.path)
    return FileStatus(
        path=record.path,
        kind=record.kind,
        state=record.state(content),
        names=record.names,
        sha256_before=record.sha256_before,
        sha256_after=record.sha256_after,
        sha256_now=sha256(content),
    )


def _tree_state(files: Sequence[FileStatus]) -> TreeState:
    states = {file.state for file in files}
    if "foreign" in states:
        return "foreign"
    return "grafted" if states <= {"grafted"} else "half applied"


def _is_grafted_already(tree: Target, overlay: Path | None) -> bool:
    """Whether a tree without a manifest holds our splice, say through `git am`."""
    try:
        definitions = open_overlay(overlay)
        return not plan_changes(tree, definitions, select(definitions), None)
    except Refusal:
        # A tree that apply would refuse is readable, and it is not grafted.
        return False


def _applied_diffs(package: Path, manifest: Manifest) -> Iterator[str]:
    for record in manifest.files:
        before = original_bytes(package, record)
        after = read_if_there(package / record.path)
        yield unified(f"{CHECKOUT_PATH}/{record.path}", before, after)
