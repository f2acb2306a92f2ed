"""The numbers of a training run, kept as JSON next to the weights."""

import json
import platform
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

import torch

from benchmark.gsm8k.dataset import split_hashes
from benchmark.gsm8k.greedy import Score
from benchmark.gsm8k.training import TrainingResult

FILE_NAME = "training.json"
PACKAGES = ("torch", "transformers", "tokenizers", "safetensors")


@dataclass(frozen=True)
class Recipe:
    """What has to be given again to train the same model again."""

    seed: int
    steps: int
    sequences_per_step: int
    tokens_per_sequence: int
    learning_rate: float


def write_run_record(
    folder: Path,
    recipe: Recipe,
    training: TrainingResult,
    scores: dict[str, Score],
    data_dir: Path,
) -> None:
    """Writes recipe, loss, scores, data hashes and versions."""
    record = {
        "recipe": vars(recipe),
        "loss": round(training.loss, 5),
        "training_seconds": round(training.seconds, 1),
        "scores": {name: _score_entry(score) for name, score in scores.items()},
        "data_sha256": split_hashes(data_dir),
        "device": _device_name(),
        "versions": {
            "python": platform.python_version(),
            **{package: version(package) for package in PACKAGES},
        },
    }
    text = json.dumps(record, indent=2) + "\n"
    (folder / FILE_NAME).write_text(text, encoding="utf-8")


def _score_entry(score: Score) -> dict[str, object]:
    return {
        "right": score.right,
        "questions": score.questions,
        "accuracy": round(score.accuracy, 5),
        "largest_abs": {name: round(x, 2) for name, x in score.largest.items()},
    }


def _device_name() -> str:
    if torch.cuda.is_available():
        return torch.cuda.get_device_name()
    return "CPU"
