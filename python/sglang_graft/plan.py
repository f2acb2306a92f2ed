"""What apply would change in a tree, before anything is written."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from sglang_graft.anchors import Site
from sglang_graft.atomic import Write, read_if_there
from sglang_graft.manifest import (
    FileRecord,
    Kind,
    Manifest,
    backup_path,
    manifest_path,
    original_bytes,
    sha256,
)
from sglang_graft.outcome import Refusal
from sglang_graft.overlay import SPLICED_FILE, Overlay
from sglang_graft.selection import Selection
from sglang_graft.splice import splice
from sglang_graft.target import Target


@dataclass(frozen=True)
class FileChange:
    """One file before and after; None stands for no file."""

    path: str
    kind: Kind
    before: bytes | None
    after: bytes | None
    names: tuple[str, ...]
    sha256_overlay: str

    @property
    def record(self) -> FileRecord:
        """The manifest's entry of this change."""
        return FileRecord(
            path=self.path,
            kind=self.kind,
            names=self.names,
            sha256_before=sha256(self.before),
            sha256_after=sha256(self.after),
            sha256_overlay=self.sha256_overlay,
        )


def plan_changes(
    target: Target, overlay: Overlay, selection: Selection, manifest: Manifest | None
) -> tuple[FileChange, ...]:
    """The files that differ once the selection is in: new ones, then spliced ones.

    A file that is grafted already is planned from its original.

    Raises:
        Refusal: an anchor does not hold, or a new file's place is taken.
    """
    records = {r.path: r for r in manifest.files} if manifest else {}

    def original(path: str) -> bytes | None:
        if path in records:
            return original_bytes(target.package, records[path])
        return read_if_there(target.package / path)

    changes = [
        _new_file(target, path, content, original)
        for path, content in selection.new_files.items()
    ]
    changes.append(_spliced_file(target, overlay, selection, original))
    return tuple(c for c in changes if c.before != c.after)


def writes_of(
    target: Target, changes: tuple[FileChange, ...], manifest: Manifest | None
) -> tuple[Write, ...]:
    """The writes that bring a tree from `manifest` to `changes`; none if it is there.

    In an order that a kill cannot harm: backups, the manifest, new files, spliced
    files. While a graft replaces another, the manifest knows the hashes of both.
    """
    package = target.package
    finished = Manifest(target.release, tuple(c.record for c in changes))
    if not changes and manifest is None:
        return ()
    underway, dropped = _replacing(finished, manifest, package)
    writes = [
        Write(backup_path(package, c.path), c.before)
        for c in changes
        if c.before is not None
    ]
    writes.append(Write(manifest_path(package), underway.to_bytes()))
    writes += [Write(package / c.path, c.after) for c in changes]
    writes += dropped
    if underway != finished:
        writes.append(Write(manifest_path(package), finished.to_bytes()))
    return tuple(w for w in writes if read_if_there(w.path) != w.content)


def _replacing(
    finished: Manifest, manifest: Manifest | None, package: Path
) -> tuple[Manifest, list[Write]]:
    """The manifest while an earlier graft is replaced, and what undoes its rest."""
    earlier = {r.path: r for r in manifest.files} if manifest else {}
    records = []
    for record in finished.files:
        old = earlier.pop(record.path, None)
        hashes = {*old.sha256_earlier, old.sha256_after} if old else set()
        known = hashes - {record.sha256_after, record.sha256_before}
        records.append(replace(record, sha256_earlier=tuple(sorted(known, key=str))))
    dropped = []
    for record in earlier.values():
        hashes = {*record.sha256_earlier, record.sha256_after}
        records.append(
            replace(
                record,
                sha256_after=record.sha256_before,
                sha256_earlier=tuple(sorted(hashes, key=str)),
            )
        )
        original = original_bytes(package, record)
        dropped.append(Write(package / record.path, original))
    return Manifest(finished.release, tuple(records)), dropped


def _new_file(
    target: Target,
    path: str,
    content: bytes,
    original: Callable[[str], bytes | None],
) -> FileChange:
    file = target.package / path
    before = original(path)
    if before not in (None, content):
        raise Refusal(
            f"new file {path}",
            f"expected no file at {file} (sglang {target.release}), found one that is"
            " not ours",
            "move it away, or rename ours in the overlay",
        )
    if not file.parent.is_dir():
        raise Refusal(
            f"new file {path}",
            f"expected the folder {file.parent} (sglang {target.release}), found none",
            "use sglang 0.5.19 to 0.5.23, or move the file in the overlay",
        )
    return FileChange(path, "new", before, content, (path,), sha256(content) or "")


def _spliced_file(
    target: Target,
    overlay: Overlay,
    selection: Selection,
    original: Callable[[str], bytes | None],
) -> FileChange:
    file = target.package / SPLICED_FILE
    before = original(SPLICED_FILE)
    if before is None:
        raise Refusal(
            "target file",
            f"expected {file} (sglang {target.release}), found no such file",
            "use sglang 0.5.19 to 0.5.23",
        )
    after = splice(before, selection, Site(file, target.release))
    return FileChange(
        SPLICED_FILE, "spliced", before, after, selection.names, overlay.spliced_sha256
    )
