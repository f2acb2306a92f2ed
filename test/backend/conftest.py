"""The AMD backend in this process, before anything takes names from aiter."""

from __future__ import annotations

from producers.platform import load_aiter_backend

load_aiter_backend()

from backend.session import published  # noqa: E402

__all__ = ["published"]
