"""Tests that need a GPU; `make test-gpu` runs them alone."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

FOLDER = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if torch.cuda.is_available():
        return
    skip = pytest.mark.skip(reason="needs a GPU that torch sees; there is none")
    for item in items:
        if FOLDER in item.path.parents:
            item.add_marker(skip)
