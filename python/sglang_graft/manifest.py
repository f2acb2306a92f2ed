"""What a graft has done to a tree: kept inside the tree, checked by hashes."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from sglang_graft.atomic import read_if_there
from sglang_graft.outcome import Refusal

STATE_FOLDER = ".sglang_graft"
FORMAT = 1

Kind = Literal["spliced", "new"]
State = Literal["original", "grafted", "outdated", "foreign"]


@dataclass(frozen=True)
class FileRecord:
    """One file of the tree; a hash of None stands for no file.

    `sha256_earlier` are grafts that this one is replacing: until it is complete, the
    file may still hold one of them.
    """

    path: str
    kind: Kind
    names: tuple[str, ...]
    sha256_before: str | None
    sha256_after: str | None
    sha256_overlay: str
    sha256_earlier: tuple[str | None, ...] = ()

    def state(self, content: bytes | None) -> State:
        """What the file holds now."""
        now = sha256(content)
        if now == self.sha256_after:
            return "grafted"
        if now == self.sha256_before:
            return "original"
        return "outdated" if now in self.sha256_earlier else "foreign"


@dataclass(frozen=True)
class Manifest:
    """All files of one graft, and the release that they were made for."""

    release: str
    files: tuple[FileRecord, ...]

    def to_bytes(self) -> bytes:
        """The manifest as a JSON document."""
        document = {"format": FORMAT, **asdict(self)}
        return (json.dumps(document, indent=2) + "\n").encode()


def sha256(content: bytes | None) -> str | None:
    """The hash of a file's content, None for no file."""
    return None if content is None else hashlib.sha256(content).hexdigest()


def manifest_path(package: Path) -> Path:
    """Where the manifest of a tree is."""
    return package / STATE_FOLDER / "manifest.json"


def backup_path(package: Path, path: str) -> Path:
    """Where the original bytes of a spliced file are kept."""
    return package / STATE_FOLDER / "backup" / path


def load_manifest(package: Path) -> Manifest | None:
    """The manifest of a tree, None if it has none.

    Raises:
        Refusal: it is damaged, or of another format.
    """
    file = manifest_path(package)
    content = read_if_there(file)
    if content is None:
        return None
    try:
        document = json.loads(content)
        if document["format"] == FORMAT:
            files = tuple(_record(entry) for entry in document["files"])
            return Manifest(document["release"], files)
        reason = f"expected format {FORMAT}, found {document['format']}, in {file}"
    except (ValueError, KeyError, TypeError) as error:
        reason = f"{file} cannot be read: {error!r}"
    raise Refusal(
        "manifest",
        reason,
        "use the version of sglang_graft that wrote it, or reinstall SGLang and remove"
        f" {file.parent}",
    )


def original_bytes(package: Path, record: FileRecord) -> bytes | None:
    """The file's bytes before the graft, None if there was no file.

    Raises:
        Refusal: the backup is missing or damaged.
    """
    if record.sha256_before is None:
        return None
    backup = backup_path(package, record.path)
    for content in (read_if_there(package / record.path), read_if_there(backup)):
        if sha256(content) == record.sha256_before:
            return content
    raise Refusal(
        "backup",
        f"expected the original of {package / record.path} in {backup}, found"
        " no or other bytes",
        f"reinstall SGLang and remove {package / STATE_FOLDER}",
    )


def refuse_foreign(package: Path, manifest: Manifest) -> None:
    """Refuse to touch a tree with a file that is neither original nor ours.

    Raises:
        Refusal: naming the file.
    """
    for record in manifest.files:
        file = package / record.path
        if record.state(read_if_there(file)) == "foreign":
            raise Refusal(
                "hash",
                f"{file} is neither the file that was grafted (sglang"
                f" {manifest.release}) nor the graft: it was edited or reinstalled"
                " since",
                "undo the edit; or, to keep the file as it is, remove"
                f" {package / STATE_FOLDER} (it holds the original) and start anew",
            )


def _record(entry: dict[str, Any]) -> FileRecord:
    lists = {key: tuple(entry[key]) for key in ("names", "sha256_earlier")}
    return FileRecord(**{**entry, **lists})
