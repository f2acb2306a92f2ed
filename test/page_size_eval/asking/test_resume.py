"""A pass that was broken off goes on where it was, with another server."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from fakes.listening import serve
from fakes.questions import numbers_asked, requests_for, settings_for
from fakes.replies import QUESTIONS_BEFORE_DEATH
from fakes.server import FakeSpec
from page_size_eval.asking.checkpoint import Checkpoint
from page_size_eval.asking.one_pass import ANSWERS_PER_NOTE, OnePass, Watch
from page_size_eval.asking.request import RequestSettings
from page_size_eval.asking.scoring import Score, ask
from page_size_eval.errors import CannotMeasure, ServerDied
from page_size_eval.serving.metrics import ContextPrefill
from page_size_eval.serving.server import Server, pick_port

LIMIT = 12

# Asks twelve questions of the server at argv[1]; the checkpoint is argv[2].
ASKER = """
import sys
from pathlib import Path
from fakes.questions import requests_for, settings_for
from page_size_eval.asking.checkpoint import Checkpoint
from page_size_eval.asking.one_pass import OnePass, Watch
with Checkpoint(Path(sys.argv[2]), key="k", arm="page 1") as checkpoint:
    one_pass = OnePass(settings_for(sys.argv[1], "killed"), checkpoint, Watch())
    one_pass.run(requests_for(range(12)))
"""


def ask_dying_server(tmp_path: Path, checkpoint: Checkpoint) -> None:
    """What a run does with a server of its own."""
    spec = FakeSpec(
        model=tmp_path,
        page_size=1,
        chunk=256,
        port=pick_port(None),
        log=tmp_path / "server.log",
        mode="dies-mid-run",
    )
    with Server(spec) as server:
        server.wait_until_ready(60)
        settings = RequestSettings(server.url, spec.name, 4, 64, pause_s=lambda _: 0.5)
        watch = Watch(require_alive=server.require_alive)
        ask("gsm_tiny", LIMIT, settings, checkpoint, watch)


def ask_sound_server(checkpoint: Checkpoint) -> tuple[Score, list[int]]:
    """The score, and the numbers of the questions that were asked for it."""
    with serve("sound") as server:
        settings = settings_for(server.url)
        score = ask("gsm_tiny", LIMIT, settings, checkpoint, Watch())
    return score, numbers_asked(server)


def test_server_that_died_changes_no_result(tmp_path: Path) -> None:
    with Checkpoint(tmp_path / "undisturbed", key="k", arm="page 1") as checkpoint:
        undisturbed, _ = ask_sound_server(checkpoint)
    with Checkpoint(tmp_path / "disturbed", key="k", arm="page 1") as checkpoint:
        with pytest.raises(ServerDied, match=r"(?s)status 7.*out of memory"):
            ask_dying_server(tmp_path, checkpoint)
        answered = set(checkpoint.answers)
        resumed, asked = ask_sound_server(checkpoint)
        assert len(checkpoint.servers) == 2
    assert 0 < len(answered) <= QUESTIONS_BEFORE_DEATH
    assert sorted(asked) == sorted(set(range(LIMIT)) - answered)
    assert resumed.questions == undisturbed.questions
    assert resumed.samples == undisturbed.samples
    assert resumed.prompts_hash == undisturbed.prompts_hash
    # Two servers of one run: there was no earlier one.
    assert resumed.asked_before == 0


def test_killed_run_keeps_every_answer_that_came(tmp_path: Path) -> None:
    path = tmp_path / "answers.jsonl"
    root = Path(__file__).resolve().parents[3]
    folders = os.pathsep.join(map(str, (root, root / "python", root / "test")))
    with serve("slow", only=range(5, 12)) as server:
        asker = subprocess.Popen(
            [sys.executable, "-c", ASKER, server.url, str(path)],
            env={**os.environ, "PYTHONPATH": folders},
        )
        # The header and five answers; the others wait for a slow server.
        while not path.exists() or path.read_bytes().count(b"\n") < 6:
            assert asker.poll() is None
            time.sleep(0.02)
        asker.send_signal(signal.SIGKILL)
        asker.wait()
    with serve("sound") as server, Checkpoint(path, key="k", arm="page 1") as after:
        assert after.found == set(range(5))
        OnePass(settings_for(server.url), after, Watch()).run(requests_for(range(12)))
    assert sorted(numbers_asked(server)) == list(range(5, 12))
    assert sorted(after.answers) == list(range(12))


def test_only_failed_questions_are_asked_again(tmp_path: Path) -> None:
    path = tmp_path / "answers.jsonl"
    with (
        serve("fails", only={1, 3}) as server,
        Checkpoint(path, key="k", arm="page 1") as checkpoint,
    ):
        one_pass = OnePass(settings_for(server.url), checkpoint, Watch(), 0.5)
        one_pass.run(requests_for(range(4)))
    with serve("sound") as server, Checkpoint(path, key="k", arm="page 1") as after:
        OnePass(settings_for(server.url), after, Watch()).run(requests_for(range(4)))
    assert sorted(numbers_asked(server)) == [1, 3]


def test_truncated_answers_of_before_still_count(tmp_path: Path) -> None:
    path = tmp_path / "answers.jsonl"
    with (
        serve("truncates-late") as server,
        Checkpoint(path, key="k", arm="page 1") as checkpoint,
    ):
        one_pass = OnePass(settings_for(server.url), checkpoint, Watch(), 1)
        one_pass.run(requests_for(range(2)))
    with (
        serve("sound") as server,
        Checkpoint(path, key="k", arm="page 1") as after,
        pytest.raises(CannotMeasure, match="2 truncated"),
    ):
        OnePass(settings_for(server.url), after, Watch()).run(requests_for(range(9)))
    assert numbers_asked(server) == []


def test_hits_are_noted_as_the_pass_goes(tmp_path: Path) -> None:
    """Those of before, of the warm-up or an earlier pass, are not this pass's."""
    path = tmp_path / "answers.jsonl"
    total = ANSWERS_PER_NOTE + 5
    with (
        serve("sound") as server,
        Checkpoint(path, key="k", arm="page 1") as checkpoint,
    ):

        def count() -> ContextPrefill:
            return ContextPrefill(1000 + 2 * len(server.replies.asked), {"a": 7})

        settings = settings_for(server.url, concurrency=1)
        watch = Watch(snapshot=count)
        OnePass(settings, checkpoint, watch).run(requests_for(range(total)))
        # The same server, in a later run.
        OnePass(settings, checkpoint, watch).run(requests_for(range(total + 1)))
    noted = [json.loads(line) for line in path.read_text().splitlines()]
    hits = [line["hits"] for line in noted if line.get("kind") == "prefill"]
    assert hits == [2 * ANSWERS_PER_NOTE, 2 * total, 2 * (total + 1)]
    with Checkpoint(path, key="k", arm="page 1") as after:
        assert after.prefill == {"a server": ContextPrefill(2 * (total + 1))}


def test_server_without_a_counter_leaves_no_note(tmp_path: Path) -> None:
    with (
        serve("sound") as server,
        Checkpoint(tmp_path / "answers", key="k", arm="page 1") as checkpoint,
    ):
        watch = Watch(snapshot=lambda: None)
        OnePass(settings_for(server.url), checkpoint, watch).run(requests_for([0]))
        assert checkpoint.prefill == {}


def test_server_found_dead_by_the_counter_ends_the_pass(tmp_path: Path) -> None:
    def die() -> ContextPrefill:
        raise ServerDied("status 7. Next: read its log")

    with (
        serve("sound") as server,
        Checkpoint(tmp_path / "answers", key="k", arm="page 1") as checkpoint,
        pytest.raises(ServerDied, match="status 7"),
    ):
        watch = Watch(snapshot=die)
        OnePass(settings_for(server.url), checkpoint, watch).run(requests_for([0]))
