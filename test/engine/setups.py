"""How the engines of this folder are set up."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from page_size_eval.arms import Arm
from page_size_eval.defect import VARIABLE
from page_size_eval.serving.hardware import CPU
from page_size_eval.serving.in_force import ATTENTION_BACKEND, KV_CACHE_DTYPE
from page_size_eval.serving.server import ServerSpec
from page_size_eval.settings import TINY_MODEL

CHUNK = 256
# The longest context of the model: prompts of any length are one chunk.
WHOLE = 4096
# Of the pools, in tokens. A page-granular reading is up to page size times too high: in
# a pool with room above the live slots it finds something there.
POOL = 65536


@dataclass(frozen=True)
class Setup:
    """One engine.

    Attributes:
        page_view: whether the page-level view of the table is on.
        chunk: prefill chunk in tokens, a multiple of the page size.
        pool: tokens.
        conservativeness: how much of the tokens that running requests may still decode
            admission keeps free.
        mixed_chunk: whether decoding requests share batches with chunks.
        overlap: whether a batch is scheduled while the one before it runs.
        defect: of the catalogue, planted; empty for none; None for the one that the
            environment names, if it does.
        repeat: tells engines apart that are set up alike.
    """

    page_size: int = 1
    page_view: bool = False
    chunk: int = CHUNK
    pool: int = POOL
    conservativeness: float = 1.0
    mixed_chunk: bool = False
    overlap: bool = True
    defect: str | None = None
    repeat: int = 0

    @property
    def slug(self) -> str:
        """Names an engine's tests: where it differs from the default."""
        fields = vars(self).items()
        words = [f"{k}_{v}" for k, v in fields if v != getattr(Setup, k)]
        return "-".join(words) or "page_size_1"

    def spec(self, log: Path) -> ServerSpec:
        """As a server's; no engine of this folder listens on the port."""
        arm = Arm(self.page_size, page_view=self.page_view)
        return ServerSpec(
            model=TINY_MODEL,
            page_size=self.page_size,
            chunk=self.chunk,
            port=0,
            log=log,
            arguments=self._arguments(),
            environment={**arm.environment(), VARIABLE: self.planted},
        )

    @property
    def planted(self) -> str:
        """The defect that the engine plants, or nothing."""
        return os.environ.get(VARIABLE, "") if self.defect is None else self.defect

    def in_force(self) -> Mapping[str, Any]:
        """What the engine must say of itself."""
        return {
            "page_size": self.page_size,
            "chunked_prefill_size": self.chunk,
            "kv_cache_dtype": KV_CACHE_DTYPE,
            "attention_backend": ATTENTION_BACKEND,
            "disable_radix_cache": False,
            "enable_mixed_chunk": self.mixed_chunk,
            "disable_overlap_schedule": not self.overlap,
        }

    def _arguments(self) -> list[str]:
        replaced = ("--disable-radix-cache", "--max-total-tokens")
        return [
            *(a for a in CPU.arguments if not a.startswith(replaced)),
            f"--max-total-tokens={self.pool}",
            f"--schedule-conservativeness={self.conservativeness}",
            "--max-running-requests=64",
            # Requests of one call reach the scheduler as one: batches repeat.
            "--enable-tokenizer-batch-encode",
            *(["--enable-mixed-chunk"] if self.mixed_chunk else []),
            *([] if self.overlap else ["--disable-overlap-schedule"]),
        ]
