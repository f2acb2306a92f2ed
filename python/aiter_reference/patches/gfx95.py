"""The architecture check of the AMD backend."""

from __future__ import annotations

from types import ModuleType


def _is_gfx95_supported() -> bool:
    return True


def patch_gfx95(backend: ModuleType) -> None:
    """Let the backend choose its branches as on a gfx950."""
    backend.is_gfx95_supported = _is_gfx95_supported  # type: ignore[attr-defined]
