"""Training batches, generated on the fly from a seed."""

import random
from dataclasses import dataclass

import torch
from tokenizers import Tokenizer
from torch.utils.data import Dataset

from benchmark.gsm8k.generator import HeldOut, stream
from benchmark.gsm8k.prompts import document_text


@dataclass(frozen=True)
class BatchShape:
    """How many sequences a step takes, and how many tokens each has."""

    sequences: int
    tokens: int


class PackedBatches(Dataset[torch.Tensor]):
    """Batch `i` holds sequences of whole problems, cut to the same length.

    Every sequence starts at a problem, as prompts do, and runs over as many as
    fit. A batch depends on the seed and its index alone, so the number of worker
    processes does not change the training data.
    """

    def __init__(
        self,
        tokenizer: Tokenizer,
        held_out: HeldOut,
        shape: BatchShape,
        steps: int,
        seed: int,
    ) -> None:
        self.tokenizer = tokenizer
        self.held_out = held_out
        self.shape = shape
        self.steps = steps
        self.seed = seed

    def __len__(self) -> int:
        return self.steps

    def __getitem__(self, index: int) -> torch.Tensor:
        """Token ids, int64 [sequences, tokens]."""
        if index >= self.steps:
            raise IndexError(f"batch {index} of a run of {self.steps} steps")
        rng = random.Random(f"{self.seed}:batch:{index}")
        problems = stream(rng, self.held_out)
        rows = []
        for _ in range(self.shape.sequences):
            row: list[int] = []
            while len(row) < self.shape.tokens:
                row += self.tokenizer.encode(document_text(next(problems).record())).ids
            rows.append(row[: self.shape.tokens])
        return torch.tensor(rows)
