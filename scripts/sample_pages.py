"""Pytest plugin: of tests that run at many page sizes, two are kept.

At 16 the context is gathered; at 64 releases with the page view read it in place.
"""

from __future__ import annotations

import pytest

PAGE_SIZES = (16, 64)
# A test's own parameter, and that of the fixture that serves the boundary grid.
PARAMETERS = ("page_size", "served")


def pytest_collection_modifyitems(
    config: pytest.Config, items: list[pytest.Item]
) -> None:
    left_out = [item for item in items if not _is_sampled(item)]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if _is_sampled(item)]


def _is_sampled(item: pytest.Item) -> bool:
    call = getattr(item, "callspec", None)
    params = {} if call is None else call.params
    return all(params[name] in PAGE_SIZES for name in PARAMETERS if name in params)
