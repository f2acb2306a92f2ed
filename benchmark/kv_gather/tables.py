"""Markdown tables."""

from __future__ import annotations

from collections.abc import Iterable


def table(title: str, header: Iterable[str], rows: Iterable[Iterable[object]]) -> str:
    """A heading and a table."""
    header = tuple(header)
    lines = [header, ("---",) * len(header), *rows]
    body = "\n".join(f"| {' | '.join(map(str, line))} |" for line in lines)
    return f"### {title}\n\n{body}\n"


def spread(times: dict[str, float], scale: float = 1, digits: int = 1) -> str:
    """Median (p10-p90) of microseconds over `scale`."""
    us, low, high = (times[name] / scale for name in ("us", "low", "high"))
    return f"{us:.{digits}f} ({low:.{digits}f}-{high:.{digits}f})"
