"""Where the tasks of this folder read their documents: local files, no network.

lm-eval imports this file by its path, so it needs nothing of this repository on
the import path and works from any current directory.
"""

import json
import os
from pathlib import Path

from datasets import Dataset

ORIGINAL_DATA_VARIABLE = "GSM8K_DATA"
SPLITS = ("train", "test")
FIELDS = ("question", "answer")


def load_tiny(**_: object) -> dict[str, Dataset]:
    """The committed splits of the templated problems."""
    return _load_folder(Path(__file__).resolve().parents[1] / "data")


def load_original(**_: object) -> dict[str, Dataset]:
    """gsm8k's own splits, from the folder that the environment names."""
    folder = os.environ.get(ORIGINAL_DATA_VARIABLE)
    if not folder:
        raise ValueError(
            f"the task gsm8k_local needs {ORIGINAL_DATA_VARIABLE}, which is not set; "
            "set it to a folder that holds gsm8k's train.jsonl and test.jsonl"
        )
    return _load_folder(Path(folder))


def _load_folder(folder: Path) -> dict[str, Dataset]:
    missing = [name for name in SPLITS if not (folder / f"{name}.jsonl").is_file()]
    if missing:
        wanted = " and ".join(f"{name}.jsonl" for name in missing)
        raise FileNotFoundError(
            f"expected {wanted} in {folder.absolute()}, found none there; copy the "
            "files there or name the folder that has them"
        )
    return {name: _load_file(folder / f"{name}.jsonl") for name in SPLITS}


def _load_file(path: Path) -> Dataset:
    records = []
    lines = path.read_text(encoding="utf-8").splitlines()
    for number, line in enumerate(lines, start=1):
        try:
            record = json.loads(line)
            records.append({field: record[field] for field in FIELDS})
        except (ValueError, KeyError, TypeError) as error:
            raise ValueError(
                f"{path}, line {number}: expected a JSON object with the fields "
                f"{' and '.join(FIELDS)}, got {line[:80]!r}"
            ) from error
    if not records:
        raise ValueError(f"{path} holds no records; expected one JSON object a line")
    return Dataset.from_list(records)
