"""lm-eval's task against a running server."""

from __future__ import annotations

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
    """One arm's result; `exact_match` per filter, in [0, 1]."""

    n: int
    exact_match: dict[str, float]
    samples: list[dict[str, Any]]


def score(
    url: str,
    model: Path,
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
    # Not at the top: it takes seconds, and a refused run should not.
    from lm_eval import simple_evaluate
    from lm_eval.tasks import TaskManager

    logging.getLogger("lm_eval").setLevel(logging.ERROR)
    try:
        results = simple_evaluate(
            model="local-completions",
            model_args={
                "model": str(model),
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
            task_manager=TaskManager(include_path=str(TASKS)),
        )
    except Exception as error:
        raise CannotMeasure(
            f"lm-eval task {task} against {url}: expected every request to be answered,"
            f" got {type(error).__name__}: {error}"
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
    return Score(len(questions), exact_match, samples)
