"""The same questions, asked by lm-eval's own command."""

from __future__ import annotations

from page_size_eval.asking.request import RequestSettings
from page_size_eval.asking.scoring import TASKS


def lm_eval_command(
    task: str, limit: int | None, settings: RequestSettings
) -> list[str]:
    """The arguments of an `lm_eval` run that sends the same requests as `ask`."""
    model_args = {
        "model": settings.model_name,
        "base_url": f"{settings.url}/v1/completions",
        "num_concurrent": settings.concurrency,
        "max_retries": settings.tries,
        "timeout": int(settings.timeout_s),
        # The server tokenises: lm-eval would cut prompts to a limit of its own.
        "tokenized_requests": False,
        "tokenizer_backend": None,
    }
    command = [
        *("lm_eval", "run", "--model", "local-completions"),
        *("--model_args", ",".join(f"{k}={v}" for k, v in model_args.items())),
        *("--tasks", task, "--include_path", str(TASKS)),
        *("--gen_kwargs", f"max_gen_toks={settings.max_gen_toks}"),
    ]
    return command if limit is None else [*command, "--limit", str(limit)]
