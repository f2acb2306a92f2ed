"""One run of the script, as it was asked for."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TINY_MODEL = ROOT / "benchmark" / "gsm8k" / "tiny_model"
TINY_TASK = "gsm_tiny"


@dataclass(frozen=True)
class Settings:
    """What all arms of a run share.

    Attributes:
        model: folder of the model; of no use where `urls` are given.
        limit: the first so many questions, or None for all.
        repeats: passes over the questions, per arm.
        margin: loss that still counts as equivalent, as a share; None: by `repeats`.
        max_unanswered: share of failed, timed out, truncated and empty answers above
            which nothing is concluded.
        chunk: prefill chunk in tokens.
        max_gen_toks: longest answer in tokens.
        server_arguments: passed to every server as they are.
    """

    page_sizes: tuple[int, ...]
    model: Path
    task: str
    limit: int | None
    concurrency: int
    chunk: int
    max_gen_toks: int
    repeats: int = 1
    margin: float | None = None
    max_unanswered: float = 0.02
    request_timeout_s: float = 1800.0
    port: int | None = None
    defect: str | None = None
    tree: Path | None = None
    urls: tuple[str, ...] = ()
    server_arguments: tuple[str, ...] = ()
