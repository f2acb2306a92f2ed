"""Writes that leave each file old or new, and all files old if one cannot be made."""

from __future__ import annotations

import fcntl
import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

_TEMPORARY_SUFFIX = ".sglang_graft.tmp"


@dataclass(frozen=True)
class Write:
    """The content that `path` is to have; None removes the file."""

    path: Path
    content: bytes | None


class HalfWritten(OSError):
    """A write failed and what had been written before it could not be undone."""


def read_if_there(path: Path) -> bytes | None:
    """The bytes of `path`, or None if there is no such file."""
    try:
        return path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return None


@contextmanager
def exclusive(folder: Path) -> Iterator[None]:
    """Hold off other grafts of the same tree; the kernel frees a killed one's lock."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def write_all(writes: Sequence[Write]) -> None:
    """Make all writes, in their order.

    Every content is complete on disk, beside its destination, before the first file
    is replaced: a full disk or a read-only folder shows before anything has changed.
    Killed at any moment, each file is its old or its new self.

    Raises:
        OSError: nothing has changed.
        HalfWritten: some files have changed and could not be changed back.
    """
    before = {write.path: read_if_there(write.path) for write in writes}
    folders: list[Path] = []
    done: list[Write] = []
    try:
        for index, write in enumerate(writes):
            folders += _make_folders(write.path.parent)
            _stage(write, index)
        for index, write in enumerate(writes):
            _commit(write, index)
            done.append(write)
    except OSError as error:
        _undo(error, writes, done, before, folders)
        raise


def discard_temporaries(folder: Path) -> None:
    """Remove what a killed write left beside its destination."""
    for leftover in folder.rglob(f".*{_TEMPORARY_SUFFIX}"):
        leftover.unlink(missing_ok=True)


def _temporary(path: Path, index: int) -> Path:
    return path.with_name(f".{path.name}.{index}{_TEMPORARY_SUFFIX}")


def _make_folders(folder: Path) -> list[Path]:
    missing = [f for f in (folder, *folder.parents) if not f.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    return missing[::-1]


def _stage(write: Write, index: int) -> None:
    if write.content is None:
        return
    temporary = _temporary(write.path, index)
    temporary.unlink(missing_ok=True)
    with open(temporary, "xb") as file:
        file.write(write.content)
        if write.path.exists():
            os.fchmod(file.fileno(), stat.S_IMODE(write.path.stat().st_mode))
        file.flush()
        os.fsync(file.fileno())


def _commit(write: Write, index: int) -> None:
    if write.content is None:
        write.path.unlink(missing_ok=True)
    else:
        os.replace(_temporary(write.path, index), write.path)
    # Some network file systems do not sync folders; the file is in place either way.
    with suppress(OSError):
        _sync_folder(write.path.parent)


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _undo(
    error: OSError,
    writes: Sequence[Write],
    done: Sequence[Write],
    before: dict[Path, bytes | None],
    folders: Sequence[Path],
) -> None:
    try:
        for index, write in enumerate(writes):
            _temporary(write.path, index).unlink(missing_ok=True)
        for write in reversed(done):
            original = Write(write.path, before[write.path])
            _stage(original, 0)
            _commit(original, 0)
    except OSError as undo_error:
        raise HalfWritten(
            error.errno, f"{error.strerror}, then {undo_error.strerror}", error.filename
        ) from error
    # A folder that something else has filled meanwhile stays.
    with suppress(OSError):
        for folder in reversed(folders):
            folder.rmdir()
