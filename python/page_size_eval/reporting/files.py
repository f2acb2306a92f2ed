"""Files of a run, each replaced as a whole."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from pathlib import Path
from typing import Any

from page_size_eval.errors import CannotMeasure


def write_json(path: Path, content: Any) -> None:
    """Replace `path` by `content` as JSON; see `write_bytes`."""
    write_text(path, json.dumps(content, indent=1, default=str) + "\n")


def write_text(path: Path, text: str) -> None:
    """Replace `path` by `text`; see `write_bytes`."""
    write_bytes(path, text.encode())


def write_bytes(path: Path, content: bytes) -> None:
    """Replace `path` as a whole: a full disk leaves the old file.

    Raises:
        CannotMeasure: it cannot be written.
    """
    scratch = path.with_name(path.name + ".partial")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        scratch.write_bytes(content)
        os.replace(scratch, path)
    except OSError as error:
        with suppress(OSError):
            scratch.unlink()
        raise CannotMeasure(
            f"{path}: expected to be written, got {error.strerror}. Next: make room or"
            " give another folder with --output"
        ) from error
