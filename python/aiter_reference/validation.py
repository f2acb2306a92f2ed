"""Checks of the arguments of a kernel, once, at its boundary."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import torch

VECTOR_BYTES = 16
"""aiter loads a head in vectors of this many bytes: a head is a multiple of them."""

MAX_HEAD_DIM = 256


def describe(value: object) -> str:
    """A tensor by its dtype and shape, anything else as it prints."""
    if isinstance(value, torch.Tensor):
        return f"a tensor of {value.dtype} {tuple(value.shape)}"
    return repr(value)


def reject_unmodelled(kernel: str, **arguments: tuple[object, object]) -> None:
    """Refuse what the reference does not model.

    Args:
        arguments: by name, (the value given, the one value that is modelled).

    Raises:
        NotImplementedError: naming the argument and its value.
    """
    for name, (value, modelled) in arguments.items():
        if isinstance(value, torch.Tensor) or value != modelled:
            raise NotImplementedError(
                f"{kernel}: {name}={describe(value)} is not modelled by the reference,"
                f" only {name}={modelled!r} is"
            )


def require(
    condition: bool, kernel: str, name: str, expected: str, got: object
) -> None:
    """Raise ValueError unless the condition holds."""
    if not condition:
        raise ValueError(
            f"{kernel}: {name} must be {expected}, got"
            f" {got if isinstance(got, str) else describe(got)}"
        )


def check_dtype(
    kernel: str, name: str, tensor: torch.Tensor, allowed: Sequence[torch.dtype]
) -> None:
    names = " or ".join(str(dtype) for dtype in allowed)
    require(tensor.dtype in allowed, kernel, name, f"of {names}", tensor)


def check_shape(
    kernel: str, name: str, tensor: torch.Tensor, shape: tuple[int, ...]
) -> None:
    require(tuple(tensor.shape) == shape, kernel, name, f"of shape {shape}", tensor)


def check_heads(kernel: str, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> None:
    """Ranks, head counts and head dims of [..., heads, dim] tensors; K and V agree in
    all but the last."""
    require(q.ndim == 3, kernel, "q", "[tokens, heads, dim]", q)
    require(v.ndim == k.ndim, kernel, "v", f"of {k.ndim} dimensions, as k", v)
    require(
        v.shape[:-1] == k.shape[:-1],
        kernel,
        "v",
        f"of shape {tuple(k.shape[:-1])} but for the head dim, as k",
        v,
    )
    require(
        k.shape[-1] == q.shape[-1], kernel, "k", f"of head dim {q.shape[-1]}, as q", k
    )
    require(
        k.shape[-2] > 0 and q.shape[1] % k.shape[-2] == 0,
        kernel,
        "q",
        f"of a multiple of {k.shape[-2]} heads, those of k",
        q,
    )
    for name, tensor in (("q", q), ("k", k), ("v", v)):
        vector = VECTOR_BYTES // tensor.element_size()
        dim = tensor.shape[-1]
        require(
            0 < dim <= MAX_HEAD_DIM and dim % vector == 0,
            kernel,
            name,
            f"of a head dim up to {MAX_HEAD_DIM} in multiples of {vector}",
            tensor,
        )
        require(
            tensor.stride(-1) == 1, kernel, name, "contiguous in its last dim", tensor
        )


def read_offsets(
    kernel: str, name: str, offsets: torch.Tensor, rows: int, limit: int
) -> list[int]:
    """The first rows + 1 of a table of int32 row offsets.

    Raises:
        ValueError: another dtype or rank, too few entries, an offset that decreases or
            lies outside [0, limit].
    """
    check_dtype(kernel, name, offsets, (torch.int32,))
    require(
        offsets.ndim == 1 and offsets.shape[0] > rows,
        kernel,
        name,
        f"1-D with at least {rows + 1} entries",
        offsets,
    )
    values: list[int] = offsets[: rows + 1].tolist()
    for row, (start, end) in enumerate(pairwise(values)):
        expected = f"non-decreasing, got {start} then {end} at row {row}"
        require(start <= end, kernel, name, expected, values)
    require(
        values[0] >= 0 and values[-1] <= limit,
        kernel,
        name,
        f"within [0, {limit}]",
        f"{values[0]} to {values[-1]}",
    )
    return values
