"""Apply and revert."""

from __future__ import annotations

import functools
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import ParamSpec, TypeVar

from sglang_graft.atomic import (
    HalfWritten,
    Write,
    discard_temporaries,
    exclusive,
    read_if_there,
    write_all,
)
from sglang_graft.edits import require_registered
from sglang_graft.manifest import (
    STATE_FOLDER,
    Manifest,
    load_manifest,
    manifest_path,
    original_bytes,
    refuse_foreign,
)
from sglang_graft.outcome import (
    AlreadyApplied,
    Applied,
    NotApplied,
    Outcome,
    Refusal,
    Refused,
    Reverted,
)
from sglang_graft.overlay import Overlay, default_overlay, load_overlay
from sglang_graft.plan import plan_changes, writes_of
from sglang_graft.selection import select
from sglang_graft.target import Target, find_target

P = ParamSpec("P")
T = TypeVar("T")


def refusing(operation: Callable[P, T]) -> Callable[P, T | Refused]:
    """Turn refusals and file errors of an operation into its result."""

    @functools.wraps(operation)
    def run(*args: P.args, **kwargs: P.kwargs) -> T | Refused:
        try:
            return operation(*args, **kwargs)
        except Refusal as refusal:
            return refusal.outcome
        except HalfWritten as error:
            return Refused(
                "write",
                f"{error}; what was written before could not be undone",
                "free space or permissions, then apply or revert again: both can"
                " finish from here",
            )
        except OSError as error:
            return Refused(
                "file access",
                f"{error.strerror or error}: {error.filename}; nothing was changed",
                "make the target readable and writable, with room on its disk",
            )

    return run


@refusing
def apply(
    target: Path | None = None, only: Sequence[str] = (), overlay: Path | None = None
) -> Outcome:
    """Splice our definitions into an SGLang tree.

    Args:
        target: package, checkout or site-packages folder; None: the installed one.
        only: names of definitions (or "context-branch") to splice, with what they
            need; all if empty.
        overlay: another folder of definitions than this repository's.

    Returns:
        Applied, AlreadyApplied, or Refused with the tree as it was.
    """
    definitions = open_overlay(overlay)
    selection = select(definitions, only)
    tree = find_target(target, definitions.root)
    with exclusive(tree.package):
        manifest = load_manifest(tree.package)
        if manifest:
            refuse_foreign(tree.package, manifest)
        changes = plan_changes(tree, definitions, selection, manifest)
        writes = writes_of(tree, changes, manifest)
        if not writes:
            return AlreadyApplied(tree.package, tree.release)
        if manifest is None:
            _refuse_orphan_backup(tree)
        discard_temporaries(tree.package)
        write_all(writes)
    return Applied(
        tree.package, tree.release, tuple(c.path for c in changes), selection.names
    )


@refusing
def revert(target: Path | None = None, overlay: Path | None = None) -> Outcome:
    """Give an SGLang tree its original bytes back.

    Returns:
        Reverted, NotApplied, or Refused with the tree as it was.
    """
    tree = find_target(target, overlay or default_overlay())
    with exclusive(tree.package):
        manifest = load_manifest(tree.package)
        if manifest is None:
            _refuse_orphan_backup(tree)
            discard_temporaries(tree.package)
            _remove_state(tree.package)
            return NotApplied(tree.package, tree.release)
        refuse_foreign(tree.package, manifest)
        discard_temporaries(tree.package)
        write_all(_restoring(tree.package, manifest))
        _remove_state(tree.package)
    return Reverted(tree.package, tree.release, tuple(r.path for r in manifest.files))


def open_overlay(root: Path | None) -> Overlay:
    """The overlay at `root`, or this repository's, which its registry must match.

    Raises:
        Refusal: it is missing, unreadable, or not what the registry says.
    """
    overlay = load_overlay(root or default_overlay())
    if root is None:
        require_registered(overlay)
    return overlay


def _restoring(package: Path, manifest: Manifest) -> list[Write]:
    """Spliced files first: they may import the new files that go after them."""
    records = sorted(manifest.files, key=lambda r: r.kind != "spliced")
    writes = [Write(package / r.path, original_bytes(package, r)) for r in records]
    return [w for w in writes if read_if_there(w.path) != w.content]


def _refuse_orphan_backup(tree: Target) -> None:
    """Keep the only copy of an original whose manifest is gone.

    A graft that was killed before it wrote its manifest had not changed the file yet.
    """
    backups = tree.package / STATE_FOLDER / "backup"
    for backup in sorted(backups.rglob("*.py")):
        path = backup.relative_to(backups)
        if backup.read_bytes() != read_if_there(tree.package / path):
            raise Refusal(
                "manifest",
                f"{backup} differs from {tree.package / path}, and there is no"
                f" {manifest_path(tree.package)} to say why",
                "copy the backup over the file to restore it, then remove"
                f" {tree.package / STATE_FOLDER}",
            )


def _remove_state(package: Path) -> None:
    """The manifest goes first: without it the backup is known to be left over."""
    manifest_path(package).unlink(missing_ok=True)
    state = package / STATE_FOLDER
    if state.exists():
        shutil.rmtree(state)
