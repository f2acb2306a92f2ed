"""The batches and settings under which a kernel meets a reference of aiter's."""

from __future__ import annotations

import itertools
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Any

import torch

BF16, FP16 = torch.bfloat16, torch.float16
FP8, FNUZ = torch.float8_e4m3fn, torch.float8_e4m3fnuz

BATCHES: dict[str, tuple[tuple[int, ...], tuple[int, ...]]] = {
    # A prefix, no prefix, one query, exactly two pages of 16, one page of 64.
    "ragged": ((5, 13, 1, 3, 16), (141, 13, 30, 32, 64)),
    # More than a block of 64 queries, more keys than a page of 1024.
    "long": ((70, 130), (1100, 130)),
    "more queries than keys": ((11, 4), (2, 4)),
    "row without keys": ((2, 3), (0, 9)),
    "row without queries": ((0, 5), (9, 20)),
    "decode": ((1,) * 5, (70, 1, 16, 33, 64)),
    "long decode": ((1, 1), (1100, 257)),
    "decode without keys": ((1, 1), (0, 9)),
    "decode of 128": ((1, 1), (128, 128)),
}
"""Query tokens and key tokens of every row."""


@dataclass(frozen=True)
class Case:
    """One call of a kernel.

    Attributes:
        batch: a name of BATCHES.
        page_size: tokens per page.
        layout: "3D" by token, "4D" by page, "5D" vectorised.
        dtype: of the queries, and of the cache unless that is given.
        value_dim: head dim of V where it is another than that of K.
        window: keys to the left and right of a query's own, as the kernel takes them.
        scales: descales are "one", one for a "tensor", or one for a "row and head".
        scale_factor: the softmax scale over head_dim ** -0.5, a power of two.
        spare_keys: how far max_seqlen_k is beyond the longest row.
        beyond: an argument that the kernel is expected to refuse as not modelled.
    """

    batch: str = "ragged"
    page_size: int = 16
    layout: str = "4D"
    dtype: torch.dtype = BF16
    cache: torch.dtype | None = None
    heads: tuple[int, int] = (4, 2)
    head_dim: int = 128
    value_dim: int | None = None
    causal: bool = True
    window: tuple[int, int] = (-1, -1)
    soft_cap: float = 0.0
    sinks: bool = False
    scales: str = "one"
    scale_factor: float = 1.0
    spare_keys: int = 0
    beyond: str = ""

    @property
    def label(self) -> str:
        """Everything that is not the default."""
        changed = [
            f"{field.name}={getattr(self, field.name)}"
            for field in fields(self)
            if field.name == "batch" or getattr(self, field.name) != field.default
        ]
        return " ".join(changed)

    @property
    def seed(self) -> int:
        """Another one for every case, the same in every run."""
        return zlib.crc32(self.label.encode())

    @property
    def q_lens(self) -> tuple[int, ...]:
        return BATCHES[self.batch][0]

    @property
    def k_lens(self) -> tuple[int, ...]:
        return BATCHES[self.batch][1]

    @property
    def softmax_scale(self) -> float:
        return float(self.head_dim**-0.5 * self.scale_factor)


def grid(**axes: tuple[Any, ...]) -> Iterator[Case]:
    """A case for every combination; an axis may set several attributes at once.

    Args:
        axes: by attribute its values; a name such as page_size__layout takes tuples.
    """
    for values in itertools.product(*axes.values()):
        settings: dict[str, Any] = {}
        for name, value in zip(axes, values, strict=True):
            names = name.split("__")
            parts = (value,) if len(names) == 1 else value
            settings |= dict(zip(names, parts, strict=True))
        yield Case(**settings)
