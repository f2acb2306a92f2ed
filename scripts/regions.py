"""Parts of a page that a script writes, from `<!-- NAME -->` to `<!-- /NAME -->`."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
UP_TO_DATE, DIFFERS, NOT_WRITTEN = 0, 1, 2


def fill(text: str, regions: Mapping[str, str]) -> str:
    """`text` with the content of each region replaced.

    Raises:
        ValueError: a region is not there once, or the text has one more.
    """
    marked = re.findall(r"^<!-- (\w+) -->$", text, re.M)
    if sorted(marked) != sorted(regions):
        raise ValueError(
            f"expected the regions {', '.join(sorted(regions))}, each once, found"
            f" {', '.join(sorted(marked)) or 'none'}"
        )
    for name, content in regions.items():
        start, end = f"<!-- {name} -->", f"<!-- /{name} -->"
        pattern = re.compile(f"{start}\n.*?^{end}$", re.M | re.S)
        filled = f"{start}\n{content.strip()}\n{end}"
        text, count = pattern.subn(lambda _, filled=filled: filled, text)  # type: ignore[misc]
        if count != 1:
            raise ValueError(f"expected {end} after {start}, found none")
    return text


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def update(
    page: Path, regions: Mapping[str, str], argv: Sequence[str] | None, about: str
) -> int:
    """The command line of a script that writes `page`; returns its exit status."""
    parser = argparse.ArgumentParser(
        description=about, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--check",
        action="store_true",
        help="write nothing; exit 1 if the page would change (default: write it)",
    )
    check = parser.parse_args(argv).check
    name = page.relative_to(ROOT)
    text = page.read_text()
    try:
        filled = fill(text, regions)
    except ValueError as error:
        print(f"{name}: {error}", file=sys.stderr)
        return NOT_WRITTEN
    if filled == text:
        return UP_TO_DATE
    if check:
        print(f"{name} is not up to date. Next: run this without --check")
        return DIFFERS
    page.write_text(filled)
    print(f"{name}: written")
    return UP_TO_DATE
