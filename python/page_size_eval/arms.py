"""Which servers are compared."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import urlsplit

from page_size_eval.errors import CannotMeasure

# Page 64 has a page-level view of the table since SGLang 0.5.21, which reads the pool
# in place and leaves the gather unused.
PAGE_VIEW_SIZE = 64
PAGE_SIZES = (1, 2, 4, 8, 16, 32, 64, 128, 256)
DEFAULT_PAGE_SIZES = (16, 64)


@dataclass(frozen=True)
class Arm:
    """One server of the comparison.

    Attributes:
        page_size: tokens in a page.
        page_view: whether the page-level view of the table is on.
        again: the second run of the baseline, which shows the noise.
        tree: folder that holds another `sglang` package; None: the installed one.
        url: a server that already runs; None: one is started.
    """

    page_size: int
    page_view: bool = False
    again: bool = False
    tree: Path | None = None
    url: str | None = None

    @property
    def label(self) -> str:
        words = [f"page {self.page_size}"]
        words += ["view"] if self.page_view else []
        words += ["again"] if self.again else []
        words += ["unpatched"] if self.tree else []
        words += [urlsplit(self.url).netloc] if self.url else []
        return ", ".join(words)

    @property
    def slug(self) -> str:
        return self.label.replace(", ", "_").replace(" ", "_").replace(":", "_")

    @property
    def gates(self) -> bool:
        """Whether its verdict decides the run; another tree is only shown."""
        return self.tree is None

    @property
    def gathers(self) -> bool:
        """Whether context chunks are served from gathered K/V."""
        return not self.page_view

    def environment(self) -> dict[str, str]:
        """The environment variables that this arm sets for its server."""
        view = {"SGLANG_AITER_PAGED_PREFILL_ASM": str(int(self.page_view))}
        if self.tree is None:
            return view
        path = [str(self.tree), os.environ.get("PYTHONPATH", "")]
        return view | {"PYTHONPATH": os.pathsep.join(filter(None, path))}


def arms_for(page_sizes: Sequence[int], tree: Path | None = None) -> list[Arm]:
    """Page size 1, the same again, then each of `page_sizes`; 64 also with the view.

    Args:
        page_sizes: those to compare with 1.
        tree: another SGLang, served at page size 1 and at `page_sizes` too.

    Raises:
        CannotMeasure: a page size that the suite does not cover.
    """
    for page_size in page_sizes:
        if page_size not in PAGE_SIZES:
            raise CannotMeasure(
                f"page size {page_size}: expected one of"
                f" {', '.join(map(str, PAGE_SIZES))}. Next: make gsm8k PAGE=16"
            )
    sizes = [page_size for page_size in dict.fromkeys(page_sizes) if page_size != 1]
    arms = [Arm(1), Arm(1, again=True)]
    for page_size in sizes:
        arms.append(Arm(page_size))
        if page_size == PAGE_VIEW_SIZE:
            arms.append(Arm(page_size, page_view=True))
    if tree:
        arms += [Arm(page_size, tree=tree) for page_size in (1, *sizes)]
    return arms


def arms_at(urls: Sequence[str], page_size_of: Callable[[str], int]) -> list[Arm]:
    """Servers that already run: the first is the baseline, and asked twice.

    Args:
        urls: where they listen; `view=URL` for one that has the page view on, which a
            server does not tell.
        page_size_of: the page size in force at a URL.

    Raises:
        CannotMeasure: fewer than two, or one twice.
    """
    named = [(url.startswith("view="), url.removeprefix("view=")) for url in urls]
    if len(named) < 2 or len({url for _, url in named}) < len(named):
        raise CannotMeasure(
            f"servers {', '.join(urls)}: expected at least two, each once."
            " Next: make gsm8k BASE_URLS='http://host:30000 http://host:30001'"
        )
    arms = [
        Arm(page_size_of(url), page_view=view, url=url.rstrip("/"))
        for view, url in named
    ]
    return [arms[0], replace(arms[0], again=True), *arms[1:]]
