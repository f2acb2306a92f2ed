"""A file that only grows, by whole lines, with one writer at a time."""

from __future__ import annotations

import fcntl
import os
import stat
from contextlib import suppress
from pathlib import Path

from page_size_eval.errors import CannotMeasure


class AppendedFile:
    """The file at `path`, made with its folders if there is none, and locked."""

    def __init__(self, path: Path) -> None:
        """Open it.

        Raises:
            CannotMeasure: it cannot be written, or another process has it open.
        """
        self.path = path
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
        except OSError as error:
            raise CannotMeasure(
                f"{path}: expected a file that can be written, got {error.strerror}."
                " Next: choose another folder for the results"
            ) from error
        why = self._why_blocked()
        if why:
            self.close()
            raise CannotMeasure(
                f"{path}: expected a file for this run alone, {why}. Next: let the"
                " other run end, or choose another folder for the results"
            )

    def close(self) -> None:
        """Let go of it; closing again does nothing."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def read(self) -> bytes:
        """All that it holds."""
        return os.pread(self._file, os.fstat(self._file).st_size, 0)

    def cut(self, size: int) -> None:
        """Keep the first `size` bytes."""
        os.ftruncate(self._file, size)

    def append(self, line: bytes) -> None:
        """Add a line, in full or not at all.

        It is in the kernel's hands when this returns: it outlives a killed process, not
        a power cut.

        Raises:
            CannotMeasure: it cannot be written; what was there before is kept.
        """
        try:
            self._write(line)
        except OSError as error:
            raise CannotMeasure(
                f"{self.path}: expected to append a line, got {error.strerror}; all"
                " that it held is kept. Next: make room there, and run the same again"
            ) from error

    def _write(self, line: bytes) -> None:
        size = os.fstat(self._file).st_size
        try:
            while line:
                line = line[os.write(self._file, line) :]
        except BaseException:
            # A part of a line, left there, would run into the next one.
            with suppress(OSError):
                self.cut(size)
            raise

    def _why_blocked(self) -> str:
        if not stat.S_ISREG(os.fstat(self._file).st_mode):
            return "it is no regular file"
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return "another run is writing it"
        except OSError as error:
            return f"it cannot be locked ({error.strerror})"
        return ""
