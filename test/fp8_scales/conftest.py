"""The scales run on the benches of test/backend."""

from __future__ import annotations

from producers.platform import load_aiter_backend

load_aiter_backend()

from backend.session import published  # noqa: E402

__all__ = ["published"]
