"""A GPU as far as code can tell that only moves and indexes tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

GPU = torch.device("cuda:0")
FACTORIES = ("zeros", "ones", "empty", "full", "arange", "tensor")
WAITS = ("tolist", "item", "__bool__", "__int__", "__index__", "nonzero")


class PretendGpu(TorchFunctionMode):
    """Inside the block CPU tensors say that they are on `GPU`, unless made elsewhere.

    Attributes:
        made_elsewhere: factories called without the GPU as device.
        copies: (device asked for, non_blocking) of every Tensor.to.
        waits: calls that would make a GPU's host wait.
    """

    def __init__(self, on_host: tuple[torch.Tensor, ...] = ()) -> None:
        super().__init__()
        self._on_host = {id(tensor) for tensor in on_host}
        self.made_elsewhere: list[str] = []
        self.copies: list[tuple[torch.device | None, bool]] = []
        self.waits: list[str] = []

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Any,
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        kwargs = dict(kwargs or {})
        name = getattr(func, "__name__", "")
        if func == torch.Tensor.device.__get__:
            return torch.device("cpu") if id(args[0]) in self._on_host else GPU
        device = kwargs.get("device")
        if name in FACTORIES and device != GPU:
            self.made_elsewhere.append(name)
        if func == torch.Tensor.to:
            self.copies.append((device, bool(kwargs.get("non_blocking", False))))
        # Without its size the host has to ask the GPU how much memory to allocate.
        unsized = name == "repeat_interleave" and kwargs.get("output_size") is None
        if name in WAITS or unsized:
            self.waits.append(name)
        if device == GPU:
            kwargs["device"] = torch.device("cpu")
        return func(*args, **kwargs)
