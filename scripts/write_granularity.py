"""Write the tables of docs/metadata-granularity.md from what the tests declare.

Example: .venv/bin/python scripts/write_granularity.py --check
"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
# `test` has the declarations that the producer tests check tables against.
sys.path[:0] = [str(ROOT), str(ROOT / "test")]

from producers.contract import TABLES, Table  # noqa: E402
from scripts.granularity_tables import BY_READING, SINCE  # noqa: E402
from scripts.regions import table, update  # noqa: E402

PAGE = ROOT / "docs" / "metadata-granularity.md"
HEADER = (
    "table",
    "producer",
    "consumer",
    "unit of an entry",
    "dtype",
    "pool",
    "live length",
    "behind it",
    "page size",
    "since",
)


def releases_of(name: str) -> str:
    """Since which release SGLang has a table, part by part."""
    return ", ".join(f"{since.release} {since.part}".strip() for since in SINCE[name])


def mark_names(text: str) -> str:
    """Identifiers as code, so that Markdown leaves their underscores alone."""
    return re.sub(r"(?:[A-Za-z]\w*)?_\w+|\bAiter\w+", r"`\g<0>`", text)


def list_tables(tables: Sequence[Table]) -> str:
    """One line for each table."""
    return table(
        HEADER,
        [
            [
                f"`{t.name}`",
                *(
                    mark_names(cell)
                    for cell in (
                        *(t.producer, t.consumer, t.unit, t.dtype, t.pool),
                        *(t.live, t.tail, t.page_size, releases_of(t.name)),
                    )
                ),
            ]
            for t in tables
        ],
    )


def regions() -> dict[str, str]:
    """The generated parts of the page, by name."""
    return {"checked": list_tables(TABLES), "read": list_tables(BY_READING)}


def main(argv: Sequence[str] | None = None) -> int:
    return update(PAGE, regions(), argv, __doc__ or "")


if __name__ == "__main__":
    sys.exit(main())
