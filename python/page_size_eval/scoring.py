"""lm-eval's task against a running server."""

from __future__ import annotations

import functools
import logging
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from page_size_eval.errors import CannotMeasure

TASKS = Path(__file__).resolve().parents[2] / "benchmark" / "gsm8k" / "tasks"
FILTERS = ("strict-match", "flexible-extract")
REQUEST_TIMEOUT_S = 1800


@dataclass(frozen=True)
class Score:
    """One arm's result; `exact_match` per filter, in [0, 1].

    `empty` of the `n` answers had no text; they count as wrong.
    """

    n: int
    empty: int
    exact_match: dict[str, float]
    samples: list[dict[str, Any]]


def require_task(name: str) -> None:
    """Load the task and its data once, before any server starts.

    Raises:
        CannotMeasure: there is no such task, or its data cannot be had.
    """
    try:
        _task_manager(name).load([name])
    except Exception as error:
        raise CannotMeasure(
            f"lm-eval task {name}: expected a task that can be loaded, got"
            f" {type(error).__name__}: {error}. Next: use gsm_tiny, or gsm8k where"
            " there is a network, or gsm8k_local with GSM8K_DATA naming a folder"
        ) from error


@functools.cache
def _task_manager(task: str) -> Any:
    # Not at the top: it takes seconds, and a refused run should not.
    from lm_eval.tasks import TaskManager

    # lm-eval's own tasks are thousands of files, read only if one of them is asked for.
    ours = (TASKS / f"{task}.yaml").is_file()
    return TaskManager(include_path=str(TASKS), include_defaults=not ours)


def score(
    url: str,
    model: str,
    task: str,
    limit: int | None,
    concurrency: int,
    max_gen_toks: int,
) -> Score:
    """Ask the server at `url` the questions of `task`.

    Args:
        url: where the server listens, without a path.
        model: the model's name in the requests.
        task: a task of lm-eval or of benchmark/gsm8k/tasks.
        limit: the first so many questions, or None for all.
        concurrency: requests in flight.
        max_gen_toks: longest answer, in tokens; lm-eval's own 256 cuts real models.

    Raises:
        CannotMeasure: a request failed, or the task gave no score.
    """
    from lm_eval import simple_evaluate

    # A dead server is reported once, by us, not once per request.
    for name in ("lm_eval", "asyncio"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    try:
        results = simple_evaluate(
            model="local-completions",
            model_args={
                "model": model,
                "base_url": f"{url}/v1/completions",
                "num_concurrent": concurrency,
                "max_retries": 1,
                "timeout": REQUEST_TIMEOUT_S,
                # The server tokenises: lm-eval would cut prompts to its own limit.
                "tokenizer_backend": None,
                "tokenized_requests": False,
            },
            tasks=[task],
            limit=limit,
            gen_kwargs={"max_gen_toks": max_gen_toks},
            bootstrap_iters=0,
            log_samples=True,
            task_manager=_task_manager(task),
        )
    except Exception as error:
        raise CannotMeasure(
            f"lm-eval task {task} against {url}: expected every request to be answered,"
            f" got {type(error).__name__}: {error}. Next: read the server's log"
        ) from error
    return _read(results, task)


def _read(results: Any, task: str) -> Score:
    metrics = (results or {}).get("results", {}).get(task, {})
    missing = [f for f in FILTERS if f"exact_match,{f}" not in metrics]
    if missing:
        raise CannotMeasure(
            f"lm-eval task {task}: expected exact_match for the filters"
            f" {', '.join(FILTERS)}, {', '.join(missing)} missing."
            " Next: use gsm8k, gsm8k_local or gsm_tiny"
        )
    samples = list(results["samples"][task])
    questions = {sample["doc_id"] for sample in samples}
    exact_match = {f: float(metrics[f"exact_match,{f}"]) for f in FILTERS}
    empty = {sample["doc_id"] for sample in samples if _is_empty(sample)}
    return Score(len(questions), len(empty), exact_match, samples)


def _is_empty(sample: dict[str, Any]) -> bool:
    """Whether the server gave no text, or null, which lm-eval makes an empty one."""
    return not any(text.strip() for texts in sample["resps"] for text in texts)
