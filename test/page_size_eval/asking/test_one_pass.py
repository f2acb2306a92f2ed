"""What becomes of each question when its server misbehaves."""

from __future__ import annotations

from pathlib import Path

import pytest

from fakes.listening import serve
from fakes.questions import numbers_asked, requests_for, settings_for
from page_size_eval.asking.checkpoint import Checkpoint
from page_size_eval.asking.one_pass import OnePass, Watch
from page_size_eval.asking.question import Condition
from page_size_eval.errors import CannotMeasure, ServerDied

ODD = 2


@pytest.fixture
def checkpoint(tmp_path: Path) -> Checkpoint:
    return Checkpoint(tmp_path / "answers.jsonl", key="k", arm="page 1")


@pytest.mark.parametrize(
    ("mode", "condition", "tries", "reason"),
    [
        ("sound", Condition.ANSWERED, 1, ""),
        ("no-usage", Condition.ANSWERED, 1, ""),
        ("recovers", Condition.ANSWERED, 3, ""),
        ("busy", Condition.ANSWERED, 2, ""),
        ("truncates", Condition.TRUNCATED, 1, ""),
        ("truncates-late", Condition.TRUNCATED, 1, ""),
        ("empty", Condition.EMPTY, 1, ""),
        ("null-text", Condition.EMPTY, 1, ""),
        ("slow", Condition.TIMED_OUT, 1, "no answer within 1 s"),
        ("fails", Condition.FAILED, 3, "HTTP 500: 'out of order"),
        ("resets", Condition.FAILED, 3, "the last of 3 tries"),
        ("refuses", Condition.FAILED, 1, "HTTP 400: 'not like this"),
        ("moves", Condition.FAILED, 1, "HTTP 302: 'elsewhere"),
        ("no-choices", Condition.FAILED, 1, "no choices"),
        ("two-choices", Condition.FAILED, 1, "2 choices for one prompt"),
        ("number-text", Condition.FAILED, 1, "a text that is a int"),
        ("aborts", Condition.FAILED, 1, "finish_reason 'abort'"),
        ("broken-json", Condition.FAILED, 1, "no JSON"),
    ],
)
def test_odd_reply_is_told_from_an_answer(
    mode: str, condition: Condition, tries: int, reason: str, checkpoint: Checkpoint
) -> None:
    with serve(mode, only={ODD}) as server:
        timeout_s = 1 if mode == "slow" else 30
        settings = settings_for(server.url, timeout_s=timeout_s)
        one_pass = OnePass(settings, checkpoint, Watch(), max_unanswered=1)
        one_pass.run(requests_for(range(4)))
    conditions = {n: answer.condition for n, answer in one_pass.answers.items()}
    assert conditions == dict.fromkeys(range(4), Condition.ANSWERED) | {ODD: condition}
    assert numbers_asked(server).count(ODD) == tries
    assert reason in one_pass.answers[ODD].reason
    assert bool(one_pass.answers[ODD].reason) == bool(reason)
    finished = {n for n, answer in one_pass.answers.items() if answer.finished}
    assert checkpoint.answers.keys() == finished
    assert (ODD in finished) == (not reason)


def test_what_the_server_counted_is_kept(checkpoint: Checkpoint) -> None:
    with serve("truncates") as server:
        one_pass = OnePass(settings_for(server.url), checkpoint, Watch(), 1)
        one_pass.run(requests_for([3]))
    answer = one_pass.answers[3]
    assert (answer.prompt_tokens, answer.finish_reason) == (503, "length")
    assert answer.completion_tokens and answer.text
    assert answer.server == "a server"


def test_so_many_requests_are_in_flight_and_no_more(checkpoint: Checkpoint) -> None:
    with serve("three-at-once") as server:
        settings = settings_for(server.url, concurrency=3)
        OnePass(settings, checkpoint, Watch()).run(requests_for(range(12)))
    assert server.replies.most_at_once == 3
    assert sorted(numbers_asked(server)) == list(range(12))


def test_proxy_of_the_environment_is_left_alone(
    checkpoint: Checkpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.delenv("NO_PROXY", raising=False)
    with serve("sound") as server:
        OnePass(settings_for(server.url), checkpoint, Watch()).run(requests_for([0]))
    assert numbers_asked(server) == [0]


@pytest.mark.parametrize(("mode", "tries"), [("fails", 3), ("empty", 1)])
def test_pass_stops_once_too_many_are_sure_to_miss(
    mode: str, tries: int, checkpoint: Checkpoint
) -> None:
    with serve(mode) as server, pytest.raises(CannotMeasure) as error:
        settings = settings_for(server.url, concurrency=1)
        OnePass(settings, checkpoint, Watch()).run(requests_for(range(100)))
    assert numbers_asked(server) == [n for n in range(3) for _ in range(tries)]
    counts = {"failed": 0, "timed out": 0, "truncated": 0, "empty": 0}
    counts |= {"failed" if mode == "fails" else "empty": 3}
    said = ", ".join(f"{count} {name}" for name, count in counts.items())
    assert f"at most 2 (2.0%) without a whole answer, got 3 among 3 asked: {said}" in (
        str(error.value)
    )


def test_answers_before_the_stop_are_kept(checkpoint: Checkpoint) -> None:
    with serve("fails", only=range(3, 100)) as server, pytest.raises(CannotMeasure):
        settings = settings_for(server.url, concurrency=1)
        OnePass(settings, checkpoint, Watch()).run(requests_for(range(10)))
    assert sorted(checkpoint.answers) == [0, 1, 2]


@pytest.mark.parametrize("mode", ["resets", "slow"])
def test_dead_server_ends_the_pass_at_once(mode: str, checkpoint: Checkpoint) -> None:
    def die() -> None:
        raise ServerDied("status 7. Next: read its log")

    with (
        serve(mode, only={ODD}) as server,
        pytest.raises(ServerDied, match="status 7"),
    ):
        settings = settings_for(server.url, concurrency=1, timeout_s=1)
        watch = Watch(require_alive=die)
        OnePass(settings, checkpoint, watch).run(requests_for(range(10)))
    assert numbers_asked(server) == [0, 1, ODD]
    assert sorted(checkpoint.answers) == [0, 1]


def test_server_that_was_never_there_is_a_failure(checkpoint: Checkpoint) -> None:
    with serve("sound") as server:
        url = server.url
    with pytest.raises(CannotMeasure, match=r"1 failed.*Question 0: Client"):
        OnePass(settings_for(url), checkpoint, Watch()).run(requests_for([0]))


def test_progress_begins_with_what_the_checkpoint_has(checkpoint: Checkpoint) -> None:
    told: list[tuple[int, int]] = []
    watch = Watch(progress=lambda done, total: told.append((done, total)))
    with serve("sound") as server:
        settings = settings_for(server.url)
        OnePass(settings, checkpoint, watch).run(requests_for(range(2)))
        OnePass(settings, checkpoint, watch).run(requests_for(range(4)))
    assert told == [(0, 2), (1, 2), (2, 2), (2, 4), (3, 4), (4, 4)]
