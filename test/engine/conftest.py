"""Shared by the tests of whole engines."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from engine.engines import Engines
from engine.forked import Template


@pytest.fixture(scope="session")
def engines(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engines]:
    """Engines on the reference platform, started as tests ask for them."""
    folder = tmp_path_factory.mktemp("engines")
    with Template(folder) as template, Engines(template, folder) as engines:
        yield engines
