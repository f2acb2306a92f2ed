"""Which servers are compared."""

from __future__ import annotations

from dataclasses import dataclass

from page_size_eval.errors import CannotMeasure

# Page 64 has a page-level view of the table since SGLang 0.5.21, which reads the pool
# in place and leaves the gather unused.
PAGE_VIEW_SIZE = 64
PAGE_SIZES = (1, 2, 4, 8, 16, 32, 64, 128, 256)


@dataclass(frozen=True)
class Arm:
    """One server of the comparison."""

    page_size: int
    page_view: bool = False

    @property
    def label(self) -> str:
        return f"page {self.page_size}" + (", view" if self.page_view else "")

    @property
    def slug(self) -> str:
        return f"page_{self.page_size}" + ("_view" if self.page_view else "")

    @property
    def gathers(self) -> bool:
        """Whether context chunks are served from gathered K/V."""
        return not self.page_view

    def environment(self) -> dict[str, str]:
        """The environment variables that this arm sets for its server."""
        return {"SGLANG_AITER_PAGED_PREFILL_ASM": str(int(self.page_view))}


def arms_for(page_size: int) -> list[Arm]:
    """The baseline at page size 1, then `page_size`; 64 without and with the view.

    For page size 1 that is the baseline twice: how much a score moves by itself.

    Raises:
        CannotMeasure: `page_size` is not one that the suite covers.
    """
    if page_size not in PAGE_SIZES:
        raise CannotMeasure(
            f"page size {page_size}: expected one of"
            f" {', '.join(map(str, PAGE_SIZES))}. Next: make gsm8k PAGE=16"
        )
    arms = [Arm(1), Arm(page_size)]
    if page_size == PAGE_VIEW_SIZE:
        arms.append(Arm(page_size, page_view=True))
    return arms
