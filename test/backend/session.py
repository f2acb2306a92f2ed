"""What every bench of a test session shares."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch
from sglang.srt.runtime_context import get_context, get_parallel


@pytest.fixture(autouse=True, scope="package")
def published() -> Iterator[None]:
    """SGLang's configuration: one rank. And one thread, since tensors of these sizes
    gain nothing from more."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    with (
        get_context().override_server_args(attention_backend="aiter"),
        get_parallel().override(attn_tp_size=1, attn_dcp_rank=0),
    ):
        yield
    torch.set_num_threads(threads)
