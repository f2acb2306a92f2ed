"""lm-eval's prompts go out as lm-eval sends them, and its verdicts come back."""

from __future__ import annotations

import shutil
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from lm_eval import simple_evaluate
from lm_eval._cli import HarnessCLI
from lm_eval.config.evaluate_config import EvaluatorConfig
from lm_eval.tasks import TaskManager

from fakes.listening import serve
from fakes.questions import numbers_asked, settings_for
from page_size_eval.asking import scoring
from page_size_eval.asking.checkpoint import Checkpoint
from page_size_eval.asking.command import lm_eval_command
from page_size_eval.asking.model import CompletionsModel
from page_size_eval.asking.one_pass import OnePass, Watch
from page_size_eval.asking.question import Condition
from page_size_eval.asking.scoring import (
    FILTERS,
    TASKS,
    Score,
    ask,
    count_duplicates,
    require_task,
)
from page_size_eval.errors import CannotMeasure

LIMIT = 6


@pytest.fixture
def checkpoint(tmp_path: Path) -> Iterator[Checkpoint]:
    with Checkpoint(tmp_path / "answers", key="k", arm="page 1") as checkpoint:
        yield checkpoint


def ask_mode(
    mode: str,
    checkpoint: Checkpoint,
    only: set[int] | None = None,
    task: str = "gsm_tiny",
    limit: int = LIMIT,
) -> tuple[Score, list[dict[str, Any]]]:
    """The score, whatever is missing, and the requests that the server got."""
    with serve(mode, only) as server:
        settings = settings_for(server.url)
        score = ask(task, limit, settings, checkpoint, Watch(), 1)
    return score, server.replies.asked


def test_sound_answers_are_right_by_every_filter(checkpoint: Checkpoint) -> None:
    score, asked = ask_mode("sound", checkpoint)
    assert score.exact_match == dict.fromkeys(FILTERS, 1.0)
    assert [q.doc_id for q in score.questions] == list(range(LIMIT))
    assert [q.prompt_tokens for q in score.questions] == [500 + n for n in range(LIMIT)]
    for question in score.questions:
        assert question.condition == Condition.ANSWERED
        assert question.correct == question.parsed == dict.fromkeys(FILTERS, True)
    assert len(score.samples) == len(FILTERS) * LIMIT
    assert len(asked) == LIMIT
    assert score.task_config["generation_kwargs"]["max_gen_toks"] == 64
    assert score.task_config["num_fewshot"] == 5
    assert score.task_version == 1.0


def test_no_answer_is_wrong_and_not_parsed(checkpoint: Checkpoint) -> None:
    score, _ = ask_mode("refuses", checkpoint, only={2})
    question = score.questions[2]
    assert (question.condition, question.text) == (Condition.FAILED, "")
    assert question.prompt_tokens is None
    assert question.correct == question.parsed == dict.fromkeys(FILTERS, False)
    expected = (LIMIT - 1) / LIMIT
    assert score.exact_match == pytest.approx(dict.fromkeys(FILTERS, expected))


def test_truncated_answer_is_parsed_and_judged_as_it_is(checkpoint: Checkpoint) -> None:
    score, _ = ask_mode("truncates", checkpoint, only={1})
    question = score.questions[1]
    assert question.condition == Condition.TRUNCATED
    assert question.parsed == {"strict-match": False, "flexible-extract": True}
    assert question.correct == dict.fromkeys(FILTERS, False)


def test_truncated_answer_that_is_right_stays_truncated(checkpoint: Checkpoint) -> None:
    score, _ = ask_mode("truncates-late", checkpoint, only={1})
    assert score.questions[1].condition == Condition.TRUNCATED
    assert score.questions[1].correct == dict.fromkeys(FILTERS, True)


def test_one_text_for_every_question_is_counted(checkpoint: Checkpoint) -> None:
    score, _ = ask_mode("same-text", checkpoint)
    assert count_duplicates(score.questions) == 1
    assert count_duplicates(score.questions[:1]) == 0


def test_different_and_empty_texts_are_no_duplicates(checkpoint: Checkpoint) -> None:
    score, _ = ask_mode("empty", checkpoint, only={1, 2})
    assert [q.text.strip() for q in score.questions].count("") == 2
    assert count_duplicates(score.questions) == 0


def test_requests_are_those_of_lm_evals_own_command(
    checkpoint: Checkpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, ours = ask_mode("sound", checkpoint)
    with serve("sound") as server:
        command = lm_eval_command("gsm_tiny", LIMIT, settings_for(server.url))
        monkeypatch.setattr(sys, "argv", command)
        run_lm_eval(EvaluatorConfig.from_cli(HarnessCLI().parse_args()))
    theirs = server.replies.asked
    assert len(theirs) == LIMIT
    assert sorted(ours, key=str) == sorted(theirs, key=str)
    assert ours[0]["stop"] == ["Question:", "</s>", "<|im_end|>"]
    assert ours[0]["max_tokens"] == 64 and ours[0]["prompt"].count("Question:") == 6


def run_lm_eval(config: EvaluatorConfig) -> None:
    """What the command does next, its thousands of other tasks left out."""
    tasks = TaskManager(include_path=config.include_path, include_defaults=False)
    simple_evaluate(
        model=config.model,
        model_args=config.model_args,
        tasks=config.tasks,
        limit=config.limit,
        gen_kwargs=config.gen_kwargs,
        bootstrap_iters=0,
        task_manager=tasks,
    )


def test_resumed_pass_asks_and_counts_only_the_rest(tmp_path: Path) -> None:
    with Checkpoint(tmp_path / "a", key="k", arm="page 1") as checkpoint:
        first, _ = ask_mode("refuses", checkpoint, only={4})
    with Checkpoint(tmp_path / "a", key="k", arm="page 1") as checkpoint:
        second, asked = ask_mode("sound", checkpoint)
    assert (first.asked_before, second.asked_before) == (0, LIMIT - 1)
    assert len(asked) == 1
    with Checkpoint(tmp_path / "a", key="k", arm="page 1") as checkpoint:
        fewer, asked = ask_mode("sound", checkpoint, limit=2)
    assert (fewer.asked_before, len(fewer.questions), asked) == (2, 2, [])
    assert second.exact_match == dict.fromkeys(FILTERS, 1.0)
    assert first.prompts_hash == second.prompts_hash


def test_changed_shots_refuse_the_earlier_answers(
    checkpoint: Checkpoint, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, _ = ask_mode("sound", checkpoint)
    name = change_tasks(tmp_path, monkeypatch, "num_fewshot: 5", "num_fewshot: 4")
    with pytest.raises(CannotMeasure, match="few-shot examples or the generation"):
        ask_mode("sound", checkpoint, task=name)
    with Checkpoint(tmp_path / "new", key="k", arm="page 1") as new:
        after, _ = ask_mode("sound", new, task=name)
    assert before.prompts_hash != after.prompts_hash


def test_nothing_is_shown_but_progress(
    checkpoint: Checkpoint,
    capfd: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
) -> None:
    scoring._task_manager.cache_clear()  # as in a run of its own

    def show(done: int, total: int) -> None:
        print(f"{done}/{total}", file=sys.stderr)

    with serve("sound") as server:
        watch = Watch(progress=show)
        require_task("gsm_tiny")
        ask("gsm_tiny", LIMIT, settings_for(server.url), checkpoint, watch)
    shown = capfd.readouterr()
    assert shown.out == ""
    assert [r.message for r in caplog.records if r.name.startswith("lm_eval")] == []
    assert shown.err.split() == [f"{done}/{LIMIT}" for done in range(LIMIT + 1)]


def test_too_many_missing_answers_give_no_score(checkpoint: Checkpoint) -> None:
    with (
        serve("null-text", only={0}) as server,
        pytest.raises(CannotMeasure, match="1 empty.*a reasoning parser"),
    ):
        ask("gsm_tiny", LIMIT, settings_for(server.url), checkpoint, Watch())


@pytest.mark.parametrize(
    ("before", "after", "what"),
    [
        ("name: strict-match", "name: other", "got exact_match for other and flex"),
        ("metric: exact_match", "metric: bypass", "got bypass for strict-match and"),
        ("repeats: 1", "repeats: 2", "and repeats 2"),
    ],
)
def test_task_of_another_form_is_refused_unasked(
    before: str,
    after: str,
    what: str,
    checkpoint: Checkpoint,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    name = change_tasks(tmp_path, monkeypatch, before, after)
    with pytest.raises(CannotMeasure, match=f"{name}: expected exact.*{what}"):
        require_task(name)
    with serve("sound") as server, pytest.raises(CannotMeasure, match=what):
        ask(name, LIMIT, settings_for(server.url), checkpoint, Watch())
    assert numbers_asked(server) == []


def test_task_without_its_data_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GSM8K_DATA", raising=False)
    with pytest.raises(CannotMeasure, match="gsm8k_local: .*GSM8K_DATA, which is not"):
        require_task("gsm8k_local")


def test_log_probabilities_are_not_given(checkpoint: Checkpoint) -> None:
    settings = settings_for("http://127.0.0.1:9")
    model = CompletionsModel(OnePass(settings, checkpoint, Watch()))
    for method in (model.loglikelihood, model.loglikelihood_rolling):
        with pytest.raises(NotImplementedError, match="log-probabilities"):
            method([])


def change_tasks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, before: str, after: str
) -> str:
    """A task like gsm_tiny, but for a line of what gsm8k's tasks share; its name."""
    name = f"gsm_{uuid.uuid4().hex}"
    tasks = tmp_path / "gsm8k" / "tasks"
    shutil.copytree(TASKS, tasks)
    (tmp_path / "gsm8k" / "data").symlink_to(TASKS.parent / "data")
    for path, old, new in (
        (tasks / "gsm_form.yaml.inc", before, after),
        (tasks / "gsm_tiny.yaml", "task: gsm_tiny", f"task: {name}"),
    ):
        assert path.read_text().count(old) == 1
        path.write_text(path.read_text().replace(old, new))
    (tasks / "gsm_tiny.yaml").rename(tasks / f"{name}.yaml")
    monkeypatch.setattr(scoring, "TASKS", tasks)
    return name
