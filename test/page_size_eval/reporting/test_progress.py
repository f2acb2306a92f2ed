"""How far an arm is, on a terminal and elsewhere."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from page_size_eval.reporting.progress import show_progress


def test_without_a_terminal_every_tenth_is_a_line() -> None:
    stream = io.StringIO()
    with show_progress("page 16, [a]", Console(file=stream)) as show:
        for done in range(1, 201):
            show(done, 200)
    lines = stream.getvalue().splitlines()
    assert lines[:2] == ["page 16, [a]: 1 of 200", "page 16, [a]: 20 of 200"]
    assert lines[-1] == "page 16, [a]: 200 of 200"
    assert len(lines) == 11, lines


def test_a_resumed_arm_begins_where_it_was() -> None:
    stream = io.StringIO()
    with show_progress("page 16", Console(file=stream)) as show:
        show(150, 200)
        show(151, 200)
    assert stream.getvalue() == "page 16: 150 of 200\n"


def test_nothing_to_do_is_done() -> None:
    stream = io.StringIO()
    with show_progress("page 16", Console(file=stream)) as show:
        show(0, 0)
    assert stream.getvalue() == "page 16: 0 of 0\n"


def test_on_a_terminal_it_is_one_bar() -> None:
    stream = io.StringIO()
    console = Console(file=stream, force_terminal=True, width=80)
    with show_progress("page [16]", console) as show:
        show(50, 200)
        show(200, 200)
    text = stream.getvalue()
    assert "page [16]" in text and "200/200" in text and "time left" in text


def test_stderr_is_where_it_goes(capsys: pytest.CaptureFixture[str]) -> None:
    with show_progress("page 16") as show:
        show(1, 1)
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("", "page 16: 1 of 1\n")
