"""The committed splits: the test problems and the pool of few-shot examples."""

import hashlib
import json
import random
from collections.abc import Iterable
from pathlib import Path

from benchmark.gsm8k.generator import HeldOut, distinct, stream
from benchmark.gsm8k.problem import Problem

DATA_DIR = Path(__file__).parent / "data"
DATA_SEED = 20260824
TEST_SIZE = 1319  # as many as gsm8k's test split
TRAIN_SIZE = 512
SPLITS = ("train", "test")

Record = dict[str, str]


def make_splits(seed: int = DATA_SEED) -> dict[str, list[Problem]]:
    """Both splits of this seed; no train problem is a test problem."""
    test = distinct(stream(random.Random(f"{seed}:test")), TEST_SIZE)
    pool = stream(random.Random(f"{seed}:train"), HeldOut.of(test))
    return {"train": distinct(pool, TRAIN_SIZE), "test": test}


def to_jsonl(records: Iterable[Record]) -> str:
    """One JSON object per line."""
    return "".join(json.dumps(record) + "\n" for record in records)


def write_splits(splits: dict[str, list[Problem]], folder: Path) -> None:
    """Writes train.jsonl and test.jsonl."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, problems in splits.items():
        text = to_jsonl(problem.record() for problem in problems)
        (folder / f"{name}.jsonl").write_text(text, encoding="utf-8")


def read_split(folder: Path, name: str) -> list[Record]:
    """The records of one split file."""
    lines = (folder / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def split_hashes(folder: Path) -> dict[str, str]:
    """SHA-256 of each split file, by file name."""
    paths = [folder / f"{name}.jsonl" for name in SPLITS]
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in paths}
