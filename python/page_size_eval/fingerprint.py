"""Hashes that tell models, data and code apart."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path

from page_size_eval.errors import CannotMeasure

# Larger files count by size and both ends: a checkpoint of hundreds of GB takes longer
# to read than its questions take to answer.
WHOLE_BYTES = 64 * 2**20
END_BYTES = 2**20


def fingerprint(root: Path, files: Iterable[Path]) -> str:
    """SHA-256 over names and contents of `files`, which lie under `root`.

    Raises:
        CannotMeasure: a file cannot be read.
    """
    digest = hashlib.sha256()
    for path in sorted(files):
        digest.update(f"{path.relative_to(root)}\0".encode())
        try:
            _add(digest, path)
        except OSError as error:
            raise CannotMeasure(
                f"{path}: expected a readable file, got {error.strerror}. Next: check"
                " the folder's contents and permissions"
            ) from error
    return digest.hexdigest()


def fingerprint_folder(root: Path) -> str:
    """The same over every file of a folder, hidden ones left out."""
    files = (path for path in root.rglob("[!.]*") if path.is_file())
    return fingerprint(root, (p for p in files if "__pycache__" not in p.parts))


def _add(digest: hashlib._Hash, path: Path) -> None:
    size = path.stat().st_size
    digest.update(f"{size}\0".encode())
    with path.open("rb") as file:
        if size <= WHOLE_BYTES:
            digest.update(file.read())
        else:
            digest.update(file.read(END_BYTES))
            file.seek(size - END_BYTES)
            digest.update(file.read(END_BYTES))
