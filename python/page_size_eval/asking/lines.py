"""Lines of a checkpoint: one JSON object each, with a sum that shows damage."""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from typing import Any

SUM = "crc32"


def encode_line(record: Mapping[str, Any]) -> bytes:
    """The line of `record`, newline included; ASCII, whatever its texts hold."""
    return _dump({**record, SUM: zlib.crc32(_dump(record))}) + b"\n"


def decode_line(line: bytes) -> dict[str, Any]:
    """The record of a line, without its newline.

    Raises:
        ValueError: it is not what `encode_line` wrote.
    """
    record = json.loads(line)
    if not isinstance(record, dict) or SUM not in record:
        raise ValueError(f"no {SUM}")
    if record.pop(SUM) != zlib.crc32(_dump(record)):
        raise ValueError(f"{SUM} of another content")
    return record


def _dump(record: Mapping[str, Any]) -> bytes:
    return json.dumps(record, sort_keys=True).encode("ascii")
