"""Shared by the tests of the tables' producers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import torch


@pytest.fixture(autouse=True, scope="session")
def sglang_on_record(
    record_testsuite_property: Callable[[str, object], None],
) -> None:
    """Which SGLang ran, for scripts/suite_on_releases.py."""
    import sglang

    from producers.features import version

    record_testsuite_property("sglang", f"{version()} {Path(sglang.__file__).parent}")


@pytest.fixture(autouse=True, scope="package")
def one_thread() -> Iterator[None]:
    """Tensors of these sizes gain nothing from threads."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)
