"""Prompts of the tiny model, for kits whose own are for large ones."""

from __future__ import annotations

import functools
import json
import random
from pathlib import Path

from transformers import AutoTokenizer, PreTrainedTokenizerBase

from page_size_eval.parity.probes import DATA
from page_size_eval.settings import TINY_MODEL

VOCABULARY = 576
CONTEXT = 4096
# Four examples are 450 tokens: what follows them is in the second chunk or later.
SHOTS = 4


class InVocabulary(random.Random):
    """For kits that draw token ids below 30000: no integer is above the vocabulary."""

    def randint(self, a: int, b: int) -> int:
        return super().randint(a, min(b, VOCABULARY - 1))


@functools.cache
def tokenizer() -> PreTrainedTokenizerBase:
    return AutoTokenizer.from_pretrained(TINY_MODEL)


@functools.cache
def examples() -> str:
    """Solved problems, for a start that every prompt shares."""
    return "".join(
        f"Question: {e['question']}\nAnswer: {e['answer']}\n\n"
        for e in _read("train")[:SHOTS]
    )


def questions(count: int) -> list[tuple[str, str]]:
    """Problems, each with the line that ends the right answer, such as `#### 36`."""
    return [_ask(record) for record in _read("test")[:count]]


def question_with_answer(number: str) -> str:
    """The first problem that has this answer."""
    found = (q for q, answer in map(_ask, _read("test")) if answer == f"#### {number}")
    return next(found)


def prompt_ids(count: int) -> list[list[int]]:
    """Token ids of prompts: every second one has its examples in another order.

    Those of one order share pages of the prefix cache; the others do not, so that a
    request that is given its neighbour's pages reads something else.
    """
    first, *rest = examples().split("\n\n")[:-1]
    orders = ["\n\n".join([first, *rest, ""]), "\n\n".join([*rest, first, ""])]
    return [
        tokenizer().encode(orders[i % 2] + question)
        for i, (question, _) in enumerate(questions(count))
    ]


def cut_to_context(text: str, new_tokens: int) -> str:
    """The end of a text that leaves room for an answer in the model's context."""
    ids = tokenizer().encode(text)[-(CONTEXT - new_tokens - 16) :]
    return str(tokenizer().decode(ids))


def write_conversations(path: Path) -> None:
    """Problems and answers in the form of ShareGPT's conversations."""
    path.write_text(
        json.dumps(
            [
                {"conversations": [{"value": e["question"]}, {"value": e["answer"]}]}
                for e in _read("train")
            ]
        )
    )


def _ask(record: dict[str, str]) -> tuple[str, str]:
    return f"Question: {record['question']}\nAnswer:", record["answer"].split("\n")[-1]


@functools.cache
def _read(split: str) -> list[dict[str, str]]:
    lines = (DATA / f"{split}.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]
