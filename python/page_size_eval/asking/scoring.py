"""lm-eval's task against a running server."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import io
import json
import logging
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from page_size_eval.asking.answer import Answer
from page_size_eval.asking.checkpoint import Checkpoint
from page_size_eval.asking.one_pass import OnePass, Watch
from page_size_eval.asking.question import Question
from page_size_eval.asking.request import RequestSettings
from page_size_eval.asking.unanswered import MAX_UNANSWERED
from page_size_eval.errors import CannotMeasure

TASKS = Path(__file__).resolve().parents[3] / "benchmark" / "gsm8k" / "tasks"
FILTERS = ("strict-match", "flexible-extract")
FEWSHOT_SEED = 1234  # lm-eval's default
NOTHING_FOUND = "[invalid]"  # what lm-eval's regex filter gives then


@dataclass(frozen=True)
class Score:
    """One pass over the questions of a task.

    Attributes:
        questions: by doc_id.
        exact_match: lm-eval's own mean by filter, in [0, 1].
        samples: lm-eval's records, one per question and filter.
        asked_before: how many answers the checkpoint had when it was opened.
        task_config: the task as lm-eval ran it, generation settings included.
        task_version: as the task states it.
        prompts_hash: of all doc_ids and prompts; equal for arms that can be compared.
    """

    questions: tuple[Question, ...]
    exact_match: Mapping[str, float]
    samples: list[dict[str, Any]]
    asked_before: int
    task_config: Mapping[str, Any]
    task_version: str | float | None
    prompts_hash: str


def require_task(name: str) -> None:
    """Load the task and its data once, before any server starts.

    Raises:
        CannotMeasure: there is no such task, its data cannot be had, or it is not
            judged as gsm8k is.
    """
    _load(name)


def _load(name: str) -> Any:
    """lm-eval's account of the task, as `evaluate` takes it."""
    try:
        loaded = _task_manager(name).load([name])
    except Exception as error:
        raise CannotMeasure(
            f"lm-eval task {name}: expected a task that can be loaded, got"
            f" {type(error).__name__}: {error}. Next: use gsm_tiny, or gsm8k where"
            " there is a network, or gsm8k_local with GSM8K_DATA naming a folder"
        ) from error
    task = loaded["tasks"].get(name)
    filters = [one["name"] for one in task.config.filter_list or ()] if task else []
    metrics = [one["metric"] for one in task.config.metric_list or ()] if task else []
    repeats = task.config.repeats if task else 0
    if not {*FILTERS} <= {*filters} or "exact_match" not in metrics or repeats != 1:
        raise CannotMeasure(
            f"lm-eval task {name}: expected exact_match for the filters"
            f" {' and '.join(FILTERS)}, and repeats 1; got {' and '.join(metrics)} for"
            f" {' and '.join(filters)}, and repeats {repeats}."
            " Next: use gsm8k, gsm8k_local or gsm_tiny"
        )
    return loaded


@functools.cache
def _task_manager(task: str) -> Any:
    # Not at the top: it takes seconds, and a refused run should not.
    from lm_eval.tasks import TaskManager

    logging.getLogger("lm_eval").setLevel(logging.CRITICAL)
    # lm-eval's own tasks are thousands of files, read only if one of them is asked for.
    ours = (TASKS / f"{task}.yaml").is_file()
    return TaskManager(include_path=str(TASKS), include_defaults=not ours)


def ask(
    task: str,
    limit: int | None,
    settings: RequestSettings,
    checkpoint: Checkpoint,
    watch: Watch,
    max_unanswered: float = MAX_UNANSWERED,
) -> Score:
    """Ask a server the questions of `task` that the checkpoint has no answer to.

    Args:
        task: a task of lm-eval or of benchmark/gsm8k/tasks.
        limit: the first so many questions, or None for all.
        settings: where the server is, and how it is asked.
        checkpoint: of this arm and pass.
        watch: called while the questions are asked.
        max_unanswered: so large a share of the questions may stay without a whole
            answer; they are scored as they are.

    Raises:
        ServerDied: the server ended. Every answer that came is in the checkpoint: start
            the server, and ask again.
        CannotMeasure: too many questions stay without a whole answer, the checkpoint
            refuses, or the task gives no score.
    """
    loaded = _load(task)
    loaded["tasks"][task].set_config(
        "generation_kwargs", {"max_gen_toks": settings.max_gen_toks}, update=True
    )
    # As lm-eval's command does: the examples depend on it.
    loaded["tasks"][task].set_fewshot_seed(FEWSHOT_SEED)
    one_pass = OnePass(settings, checkpoint, watch, max_unanswered)
    results = _evaluate(loaded, limit, one_pass)
    metrics = results["results"][task]
    samples = list(results["samples"][task])
    questions = _questions(samples, one_pass.answers)
    prompts = [[question.doc_id, question.prompt_hash] for question in questions]
    return Score(
        questions=questions,
        exact_match={name: float(metrics[f"exact_match,{name}"]) for name in FILTERS},
        samples=samples,
        asked_before=len(checkpoint.found & one_pass.answers.keys()),
        task_config=results["configs"][task],
        task_version=results["versions"][task],
        prompts_hash=hashlib.sha256(json.dumps(prompts).encode()).hexdigest(),
    )


def count_duplicates(questions: Iterable[Question]) -> int:
    """How many texts, empty ones left out, are the answer to more than one question."""
    texts = Counter(q.text.strip() for q in questions if q.text.strip())
    return sum(count > 1 for count in texts.values())


def _evaluate(loaded: Any, limit: int | None, one_pass: OnePass) -> Any:
    # Not simple_evaluate, which also lists the machine's packages, for seconds, and
    # lets git complain outside of a repository.
    from lm_eval import evaluate

    from page_size_eval.asking.model import CompletionsModel

    model = CompletionsModel(one_pass)
    try:
        with contextlib.redirect_stderr(io.StringIO()):
            return evaluate(model, loaded, limit=limit, bootstrap_iters=0)
    except CannotMeasure:
        raise
    except Exception as error:
        raise CannotMeasure(
            f"lm-eval: expected a score, got {type(error).__name__}: {error}."
            " Next: run the same questions through lm-eval alone, see --dry-run"
        ) from error


def _questions(
    samples: Iterable[Mapping[str, Any]], answers: Mapping[int, Answer]
) -> tuple[Question, ...]:
    by_question: dict[int, dict[str, Mapping[str, Any]]] = {}
    for sample in samples:
        by_question.setdefault(sample["doc_id"], {})[sample["filter"]] = sample
    return tuple(
        _question(answers[doc_id], by_question[doc_id])
        for doc_id in sorted(by_question)
    )


def _question(answer: Answer, samples: Mapping[str, Mapping[str, Any]]) -> Question:
    return Question(
        doc_id=answer.doc_id,
        prompt_hash=samples[FILTERS[0]]["prompt_hash"],
        prompt_tokens=answer.prompt_tokens,
        condition=answer.condition,
        text=answer.text,
        correct={name: bool(samples[name]["exact_match"]) for name in FILTERS},
        parsed={
            name: samples[name]["filtered_resps"] != [NOTHING_FOUND] for name in FILTERS
        },
    )
