"""Answers outlive the run that asked for them, and are never another run's."""

from __future__ import annotations

import json
import os
import resource
from pathlib import Path
from typing import Any

import pytest

from page_size_eval.asking.answer import Answer
from page_size_eval.asking.checkpoint import Checkpoint
from page_size_eval.asking.lines import encode_line
from page_size_eval.asking.question import Condition
from page_size_eval.asking.request import Request, build_request
from page_size_eval.errors import CannotMeasure
from page_size_eval.serving.metrics import ContextPrefill

# Whatever a damaged server may put into a text.
TEXTS = ("It is 7.\n#### 7", '\x00\u2028\ud800 \N{SNOWMAN} "\\', "")


def request_of(number: int, prompt: str = "Question: ?") -> Request:
    return build_request(number, prompt, {"max_gen_toks": 64, "until": ["Q:"]})


def answer_to(request: Request, text: str) -> Answer:
    return Answer(
        doc_id=request.doc_id,
        request_hash=request.request_hash,
        server="first",
        condition=Condition.ANSWERED if text else Condition.EMPTY,
        text=text,
        finish_reason="stop",
        prompt_tokens=500,
        completion_tokens=9,
    )


ANSWERS = {n: answer_to(request_of(n), text) for n, text in enumerate(TEXTS)}


def reopen(path: Path, key: str = "k") -> dict[int, Answer]:
    """What the file holds, read as a later run would."""
    with Checkpoint(path, key=key, arm="page 1") as checkpoint:
        return checkpoint.answers


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A file with the three answers."""
    path = tmp_path / "folder" / "answers.jsonl"
    with Checkpoint(path, key="k", arm="page 1") as checkpoint:
        for answer in ANSWERS.values():
            checkpoint.add_answer(answer)
    return path


def test_answers_are_read_back_as_they_were(path: Path) -> None:
    with Checkpoint(path, key="k", arm="page 1") as checkpoint:
        assert checkpoint.answers == ANSWERS
        assert checkpoint.found == ANSWERS.keys()
        assert checkpoint.servers == {"first"}
        assert checkpoint.finished(request_of(1)) == ANSWERS[1]
        assert checkpoint.finished(request_of(9)) is None
    assert all(json.loads(line) for line in path.read_text().splitlines())


def test_file_cut_anywhere_loses_the_torn_line_alone(path: Path) -> None:
    whole = path.read_bytes()
    for size in range(len(whole)):
        path.write_bytes(whole[:size])
        kept = max(whole[:size].count(b"\n") - 1, 0)
        assert reopen(path) == {n: ANSWERS[n] for n in range(kept)}, size
        with Checkpoint(path, key="k", arm="page 1") as checkpoint:
            for answer in list(ANSWERS.values())[kept:]:
                checkpoint.add_answer(answer)
        assert path.read_bytes() == whole, size


def test_any_damaged_byte_before_the_last_line_is_refused(path: Path) -> None:
    whole = path.read_bytes()
    for place in range(len(whole) - 1):
        damaged = bytearray(whole)
        damaged[place] ^= 1
        path.write_bytes(damaged)
        line = whole[:place].count(b"\n") + 1
        # A line end that is none any more joins two lines.
        with pytest.raises(CannotMeasure, match=rf"line {line}: expected a line of"):
            reopen(path)
        assert path.read_bytes() == damaged, "a refused file stays as it is"


def test_line_that_this_program_never_writes_is_refused(path: Path) -> None:
    with path.open("ab") as file:
        file.write(encode_line({"kind": "guess"}))
    with pytest.raises(CannotMeasure, match="line 5: .*the kind 'guess'"):
        reopen(path)


@pytest.mark.parametrize(
    ("changed", "what"),
    [
        ({"key": "other"}, "with key other, got one of page 1 with key k"),
        ({"arm": "page 16"}, "page 16 with arm page 16, got one of page 1"),
        ({"repeat": 2}, "with repeat 2, got one of page 1 with repeat 1"),
    ],
)
def test_another_runs_answers_are_never_read(
    changed: dict[str, Any], what: str, path: Path
) -> None:
    with pytest.raises(CannotMeasure, match=what) as error:
        Checkpoint(path, **{"key": "k", "arm": "page 1", **changed})
    assert str(path) in str(error.value)
    assert reopen(path) == ANSWERS


def test_file_of_something_else_is_refused_and_kept(path: Path) -> None:
    for content in (b"a line without an end", b"{}\n", b"\n"):
        path.write_bytes(content)
        with pytest.raises(CannotMeasure, match="line 1: expected a line of"):
            reopen(path)
        assert path.read_bytes() == content


def test_changed_prompt_or_setting_is_refused(path: Path) -> None:
    longer = build_request(1, "Question: ?", {"max_gen_toks": 65, "until": ["Q:"]})
    with Checkpoint(path, key="k", arm="page 1") as checkpoint:
        for request in (request_of(1, "Question: !"), longer):
            with pytest.raises(CannotMeasure, match="question 1 to have been asked by"):
                checkpoint.finished(request)


def test_answer_given_twice_is_taken_if_it_is_the_same(path: Path) -> None:
    with Checkpoint(path, key="k", arm="page 1") as checkpoint:
        checkpoint.add_answer(ANSWERS[0])
    assert reopen(path) == ANSWERS
    with Checkpoint(path, key="k", arm="page 1") as checkpoint:
        checkpoint.add_answer(answer_to(request_of(0), "#### 8"))
    with pytest.raises(CannotMeasure, match="line 6: .*second answer to question 0"):
        reopen(path)


def test_full_disk_names_the_file_and_keeps_the_rest(path: Path) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    more = answer_to(request_of(3), "#### 3")
    with Checkpoint(path, key="k", arm="page 1") as checkpoint:
        room = path.stat().st_size + 10
        resource.setrlimit(resource.RLIMIT_FSIZE, (room, hard))
        try:
            with pytest.raises(CannotMeasure) as error:
                checkpoint.add_answer(more)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        assert str(path) in str(error.value) and "make room" in str(error.value)
        assert more.doc_id not in checkpoint.answers
        checkpoint.add_answer(more)
    assert reopen(path) == ANSWERS | {3: more}


def test_run_interrupted_in_a_write_leaves_whole_lines(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = os.write

    def interrupt(file: int, line: bytes) -> int:
        write(file, line[:20])
        raise KeyboardInterrupt

    with Checkpoint(path, key="k", arm="page 1") as checkpoint:
        with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
            patch.setattr(os, "write", interrupt)
            checkpoint.add_answer(answer_to(request_of(3), "#### 3"))
        checkpoint.add_answer(answer_to(request_of(4), "#### 4"))
    assert reopen(path).keys() == {0, 1, 2, 4}


def test_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for path in (tmp_path, tmp_path / "file" / "answers.jsonl", Path("/dev/full")):
        with pytest.raises(CannotMeasure, match=f"^{path}: expected a file"):
            reopen(path)


def test_second_writer_is_refused_until_the_first_is_done(path: Path) -> None:
    with (
        Checkpoint(path, key="k", arm="page 1"),
        pytest.raises(CannotMeasure, match="another run is writing it"),
    ):
        reopen(path)
    assert reopen(path) == ANSWERS


def test_refused_file_is_let_go(path: Path) -> None:
    with pytest.raises(CannotMeasure):
        reopen(path, key="other")
    assert reopen(path) == ANSWERS


def test_last_note_of_each_server_counts(path: Path) -> None:
    with Checkpoint(path, key="k", arm="page 1") as checkpoint:
        assert checkpoint.prefill == {}
        checkpoint.add_prefill("first", ContextPrefill(4, {"negative_slot": 1}))
        checkpoint.add_prefill("first", ContextPrefill(9, {"negative_slot": 2}))
        checkpoint.add_prefill("second", ContextPrefill(100))
        noted = dict(checkpoint.prefill)
    with Checkpoint(path, key="k", arm="page 1") as checkpoint:
        assert checkpoint.prefill == noted
    total = sum(noted.values(), ContextPrefill())
    assert total == ContextPrefill(109, {"negative_slot": 2})
