"""The text that a model sees: gsm8k's prompt form, five shots per question."""

import random
import re

from benchmark.gsm8k.dataset import Record

SHOTS = 5
# lm-eval's default few-shot seed, and its way of drawing: one generator for the
# whole split, one sample of the pool per question, in the order of the split.
FEWSHOT_SEED = 1234
STOP = "Question:"
_STRICT_ANSWER = re.compile(r"#### (-?[0-9.,]+)")


def question_text(record: Record) -> str:
    """The open question; the completion begins with a space."""
    return f"Question: {record['question']}\nAnswer:"


def document_text(record: Record) -> str:
    """Question and answer with the separator that follows every example."""
    return f"{question_text(record)} {record['answer']}\n\n"


def few_shot_prompts(
    pool: list[Record], questions: list[Record], seed: int = FEWSHOT_SEED
) -> list[str]:
    """The prompt of each question, as lm-eval builds it for the task gsm_tiny."""
    rng = random.Random(seed)
    return [
        "".join(document_text(shot) for shot in rng.sample(pool, SHOTS))
        + question_text(question)
        for question in questions
    ]


def final_answer(text: str) -> str | None:
    """The number after the first "####", or None."""
    match = _STRICT_ANSWER.search(text)
    return match.group(1) if match else None
