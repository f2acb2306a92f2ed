"""Greedy accuracy of a model on few-shot prompts, in plain transformers."""

import sys
from dataclasses import dataclass
from pathlib import Path

import torch
from tokenizers import Tokenizer
from transformers import LlamaForCausalLM, StoppingCriteria, StoppingCriteriaList

from benchmark.gsm8k.dataset import Record, read_split
from benchmark.gsm8k.kv_cache_rounding import AttentionProbe
from benchmark.gsm8k.prompts import STOP, few_shot_prompts, final_answer

# The longest answer takes fewer tokens; gsm8k's own limit of 256 is for real data.
MAX_NEW_TOKENS = 128


@dataclass(frozen=True)
class Score:
    """How many questions were answered right, and what the attention saw."""

    right: int
    questions: int
    largest: dict[str, float]

    @property
    def accuracy(self) -> float:
        """The share of right answers."""
        return self.right / self.questions


class EndsWith(StoppingCriteria):
    """Ends a row whose last tokens spell the stop text."""

    def __init__(self, tokenizer: Tokenizer, text: str) -> None:
        self.ids = torch.tensor(tokenizer.encode(text).ids)

    def __call__(
        self, input_ids: torch.Tensor, scores: object, **options: object
    ) -> torch.Tensor:
        tail = input_ids[:, -len(self.ids) :]
        return (tail == self.ids.to(input_ids.device)).all(dim=1)


def score_model(
    model: LlamaForCausalLM,
    tokenizer: Tokenizer,
    data_dir: Path,
    questions: int,
    fp8_kv: bool,
    batch_size: int = 256,
) -> Score:
    """Strict-match accuracy on the first `questions` test problems, five shots."""
    pool, test = read_split(data_dir, "train"), read_split(data_dir, "test")
    asked = test[:questions]
    prompts = few_shot_prompts(pool, asked)
    probe = AttentionProbe(rounds_to_fp8=fp8_kv)
    probe.install(model)
    right = 0
    for start in range(0, len(asked), batch_size):
        stop = start + batch_size
        completions = complete(model, tokenizer, prompts[start:stop])
        right += _count_right(asked[start:stop], completions)
        print(f"{right} right of {min(stop, len(asked))}", file=sys.stderr)
    return Score(right, len(asked), probe.largest)


def complete(
    model: LlamaForCausalLM, tokenizer: Tokenizer, prompts: list[str]
) -> list[str]:
    """The greedy completion of each prompt up to the next question."""
    rows = [encoding.ids for encoding in tokenizer.encode_batch(prompts)]
    width = max(len(row) for row in rows)
    padding = model.config.pad_token_id
    # Padding goes to the left, so that every row's next token is the last column.
    ids = torch.tensor([[padding] * (width - len(row)) + row for row in rows])
    mask = torch.tensor([[0] * (width - len(row)) + [1] * len(row) for row in rows])
    with torch.no_grad():
        output = model.generate(
            input_ids=ids.to(model.device),
            attention_mask=mask.to(model.device),
            max_new_tokens=MAX_NEW_TOKENS,
            do_sample=False,
            stopping_criteria=StoppingCriteriaList([EndsWith(tokenizer, STOP)]),
        )
    texts = tokenizer.decode_batch(output[:, width:].tolist())
    return [text.split(STOP)[0] for text in texts]


def _count_right(asked: list[Record], completions: list[str]) -> int:
    """How many completions end in the number of their record."""
    return sum(
        final_answer(completion) == final_answer(record["answer"])
        for record, completion in zip(asked, completions, strict=True)
    )
