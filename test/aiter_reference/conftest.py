"""Shared by the tests of the reference kernels."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch


@pytest.fixture(autouse=True, scope="package")
def one_thread() -> Iterator[None]:
    """Tensors of these sizes gain nothing from threads, and where other processes hold
    the cores every parallel step waits for them: 15 to 40 s on two, 9 s on one."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)
