"""The prompts that every server answers, and what is read of an answer."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from page_size_eval.serving.endpoint import Endpoint
from page_size_eval.settings import ROOT

DATA = ROOT / "benchmark" / "gsm8k" / "data"
NEW_TOKENS = 16


@dataclass(frozen=True)
class Answer:
    """One prompt's greedy continuation, with logprobs of the prompt and of it.

    Attributes:
        prompt_tokens: tokens of the prompt.
        cached_tokens: those of them that the prefix cache had.
        token_ids: the continuation.
        runner_up: logprob of the second best token, by token of the continuation.
        logprobs: of the prompt from its second token on, if asked for, then of the
            continuation.
    """

    prompt_tokens: int
    cached_tokens: int
    token_ids: list[int]
    runner_up: list[float]
    logprobs: list[float]

    @property
    def first_new(self) -> int:
        """Where the continuation starts in `logprobs`."""
        return len(self.logprobs) - len(self.token_ids)


def make_prompts(count: int, shots: int) -> list[str]:
    """Prompts with a common prefix of `shots` examples and tails of ragged lengths."""
    examples = _read("train", shots)
    shared = "".join(
        f"Question: {e['question']}\nAnswer: {e['answer']}\n\n" for e in examples
    )
    return [
        f"{shared}Question: {record['question']}\nAnswer:"
        for record in _read("test", count)
    ]


def ask(
    server: Endpoint, prompts: Sequence[str], *, whole: bool = True
) -> list[Answer]:
    """Send prompts at once and wait for all.

    Args:
        whole: with the prompts' logprobs, for which SGLang computes every token of a
            prompt, whatever its prefix cache has.
    """
    body: dict[str, Any] = {
        "text": list(prompts),
        "sampling_params": {
            "temperature": 0,
            "max_new_tokens": NEW_TOKENS,
            # Every answer of one length: position by position.
            "ignore_eos": True,
        },
        "return_logprob": True,
        "top_logprobs_num": 2,
    }
    if whole:
        body["logprob_start_len"] = 0
    return [_read_answer(reply["meta_info"]) for reply in server.generate(body)]


def _read_answer(meta: dict[str, Any]) -> Answer:
    prompt = meta["input_token_logprobs"] or []
    # The first token of a prompt has no logprob.
    if prompt and prompt[0][0] is None:
        prompt = prompt[1:]
    new = meta["output_token_logprobs"]
    return Answer(
        prompt_tokens=int(meta["prompt_tokens"]),
        cached_tokens=int(meta["cached_tokens"]),
        token_ids=[int(token) for _, token, *_ in new],
        runner_up=[float(top[1][0]) for top in meta["output_top_logprobs"]],
        logprobs=[float(logprob) for logprob, *_ in [*prompt, *new]],
    )


def _read(split: str, count: int) -> list[dict[str, str]]:
    path = Path(DATA / f"{split}.jsonl")
    lines = path.read_text(encoding="utf-8").splitlines()[:count]
    return [json.loads(line) for line in lines]
