"""What an SGLang release may lack, found in the release itself."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass

import pytest

from producers.index_kernels import flat_kernels
from producers.platform import load_aiter_backend


@dataclass(frozen=True)
class Feature:
    """Something that some releases do and others do not.

    Attributes:
        what: in words, for the reason of a skip.
        since: the release that brought it.
        here: looks for it in the SGLang that is imported.
    """

    what: str
    since: tuple[int, int, int]
    here: Callable[[], bool]

    def require(self) -> None:
        """Skip the test, with the reason, where the release lacks it."""
        if not self.here():
            brought = ".".join(map(str, self.since))
            pytest.skip(
                f"SGLang {version()} has no {self.what}: it came with {brought}"
            )


def version() -> str:
    """The release that is imported."""
    from sglang import _version

    found: str = _version.version
    return found


def _has_page_view() -> bool:
    # By its switch: a view that is built under another name is then no skip.
    from sglang.srt.environ import envs

    return hasattr(envs, "SGLANG_AITER_PAGED_PREFILL_ASM")


def _has_own_query_offsets() -> bool:
    forward_extend = load_aiter_backend().AiterAttnBackend.forward_extend
    return "self.qo_indptr[" not in inspect.getsource(forward_extend)


def _has_extend_page_table() -> bool:
    backend = load_aiter_backend().AiterAttnBackend
    return hasattr(backend, "_build_extend_unified_page_table")


def _has_token_blocks() -> bool:
    load_aiter_backend()
    copy = flat_kernels().create_flashinfer_kv_indices_triton
    return "TOKEN_BLOCK_PARALLEL" in inspect.signature(copy.fn).parameters


PAGE_VIEW = Feature("page view for prefill", (0, 5, 21), _has_page_view)
OWN_QUERY_OFFSETS = Feature(
    "qo_indptr in an extend's metadata", (0, 5, 23), _has_own_query_offsets
)
EXTEND_PAGE_TABLE = Feature(
    "page table of an extend", (0, 5, 20), _has_extend_page_table
)
TOKEN_BLOCKS = Feature(
    "several blocks to a row in the flat index kernel", (0, 5, 20), _has_token_blocks
)

FEATURES = tuple(
    value for value in list(globals().values()) if isinstance(value, Feature)
)
