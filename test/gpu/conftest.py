"""Tests that need a GPU and compiled kernels; `make test-gpu` runs them alone."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import torch

FOLDER = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if not torch.cuda.is_available():
        reason = "needs a GPU that torch sees; there is none"
    elif os.environ.get("TRITON_INTERPRET") == "1":
        reason = "needs compiled kernels, TRITON_INTERPRET=1 interprets them"
    else:
        return
    for item in items:
        if FOLDER in item.path.parents:
            item.add_marker(pytest.mark.skip(reason=reason))
