"""What the pages of this repository say: commands, links, paths, names of tests."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGES = (
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    *sorted((ROOT / "docs").rglob("*.md")),
)
_FENCE = re.compile(r"^```.*?^```", re.M | re.S)
_BLOCK = re.compile(r"(?:^    .*\n)+", re.M)
_SPAN = re.compile(r"`([^`\n]+(?:\n[^`\n]+)?)`")
_LINK = re.compile(r"\]\(([^)\s]+)\)")
_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z_0-9]*=.*", re.S)
_HEADING = re.compile(r"^#+ (.+)$", re.M)


@dataclass(frozen=True)
class Command:
    """A command line: variables before it, and its words."""

    environment: tuple[str, ...]
    words: tuple[str, ...]
    text: str


def name_of(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def code_blocks(text: str) -> list[str]:
    """Fenced and indented blocks, without the marks."""
    fenced = ["\n".join(b.splitlines()[1:-1]) for b in _FENCE.findall(text)]
    indented = [
        "\n".join(line[4:] for line in block.splitlines())
        for block in _BLOCK.findall(_FENCE.sub("", text))
    ]
    return fenced + indented


def code_spans(text: str) -> list[str]:
    """What stands between backquotes in the running text."""
    prose = _BLOCK.sub("", _FENCE.sub("", text))
    return [" ".join(span.split()) for span in _SPAN.findall(prose)]


def commands(text: str, program: str) -> list[Command]:
    """The command lines of a page that call `program`, by the end of its path."""
    lines: list[str] = []
    for block in code_blocks(text):
        lines += block.replace("\\\n", " ").splitlines()
    found = []
    for line in [*lines, *code_spans(text)]:
        if program not in line:
            continue
        try:
            words = shlex.split(line, comments=True)
        except ValueError:
            continue  # a piece of output, not a command
        before = []
        while words and _ASSIGNMENT.fullmatch(words[0]):
            before.append(words.pop(0))
        if words and words[0].rpartition("/")[2] == program:
            found.append(Command(tuple(before), tuple(words[1:]), line.strip()))
    return found


def links(text: str) -> list[str]:
    """Targets of links that stay in the repository."""
    return [t for t in _LINK.findall(text) if not re.match(r"\w+:", t)]


def anchors(text: str) -> set[str]:
    """What a link to a heading of a page may say after #."""
    titles = (title.lower().strip() for title in _HEADING.findall(text))
    return {re.sub(r"[^\w\- ]", "", title).replace(" ", "-") for title in titles}
