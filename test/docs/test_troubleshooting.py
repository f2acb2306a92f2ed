"""Each reason of a fall back and each refusal has its entry, and no entry is stale."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from docs.pages import ROOT

PAGE = (ROOT / "docs/troubleshooting.md").read_text()
OVERLAY = ROOT / "python/sglang/srt/layers/attention/aiter_backend.py"
REFUSALS = ("CannotMeasure", "ServerDied")


def reasons() -> set[str]:
    """Everything that the overlay hands to its one function of fall backs."""
    tree = ast.parse(OVERLAY.read_text())
    (helper,) = (
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef)
        and node.name == "_asm_context_prefill_gather_indices"
    )
    return {
        node.value
        for node in ast.walk(helper)
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and re.fullmatch(r"[a-z]+(_[a-z]+)+", node.value)
    }


def messages() -> Iterator[str]:
    """What each refusal of page_size_eval says, … standing for its values."""
    for path in sorted((ROOT / "python/page_size_eval").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and _is_refusal(node):
                yield f"{path.name}: {_text(node.args[0])}"
    commands = (ROOT / "python/page_size_eval/command_line.py").read_text()
    for node in ast.walk(ast.parse(commands)):
        said = _text(node) if isinstance(node, ast.Constant | ast.JoinedStr) else ""
        if said.startswith("cannot measure: "):
            yield said


def _is_refusal(node: ast.Call) -> bool:
    return isinstance(node.func, ast.Name) and node.func.id in REFUSALS


def _text(node: ast.AST) -> str:
    if isinstance(node, ast.Constant):
        return str(node.value)
    if isinstance(node, ast.JoinedStr):
        return "".join(_text(part) for part in node.values)
    return "…"


def documented() -> list[str]:
    """The first column of the table of refusals."""
    section = PAGE.partition("## Refusals of")[2]
    return re.findall(r"^\| `([^`]+)` \|", section, re.M)


def test_every_reason_has_an_entry() -> None:
    entries = set(re.findall(r"^### `(\w+)`$", PAGE, re.M))
    assert len(entries) == 7
    assert entries == reasons()


def test_every_refusal_has_an_entry() -> None:
    said = list(messages())
    assert len(said) > 40
    # A bare placeholder hands on what another refusal has said.
    without = [
        message
        for message in said
        if not any(entry in message for entry in documented())
        and set(message.partition(": ")[2]) - {"…"}
    ]
    assert not without, without


def test_no_entry_is_stale() -> None:
    said = list(messages())
    stale = [e for e in documented() if not any(e in message for message in said)]
    assert not stale, stale


def test_log_lines_are_those_of_the_overlay() -> None:
    source = " ".join(Path(OVERLAY).read_text().split())
    assert "serving context chunks from gathered K/V" in source
    assert "[asm-context-prefill] falling back to the paged kernel: %s" in source
    assert "(value=%d limit=%d mode=%s bs=%d)" in source
    assert "seq_lens cut to their kv_indices rows" in source
