"""The comparison as a figure."""

from __future__ import annotations

import io
from pathlib import Path

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from page_size_eval.comparison.criteria import GATING_FILTER
from page_size_eval.comparison.outcome import Comparison
from page_size_eval.comparison.wording import as_margin
from page_size_eval.reporting.files import write_bytes
from page_size_eval.reporting.titles import Title

# Okabe and Ito's, told apart by colour-blind readers and in grey.
BLUE, ORANGE, GREY = "#0072B2", "#D55E00", "#777777"
DPI = 150


def plot(stem: Path, title: Title, comparison: Comparison) -> tuple[Path, Path]:
    """Write `stem`.png and `stem`.svg: accuracy of each arm, flips of each pair.

    The same comparison gives the same bytes.

    Raises:
        CannotMeasure: a file cannot be written.
    """
    png, svg = (stem.with_name(f"{stem.name}.{kind}") for kind in ("png", "svg"))
    # The title is no formula, and the salt makes the SVG's ids repeat.
    with mpl.rc_context({"svg.hashsalt": "page_size_eval", "text.parse_math": False}):
        figure = _draw(title, comparison)
        write_bytes(png, _render(figure, "png"))
        write_bytes(svg, _render(figure, "svg"))
    return png, svg


def _render(figure: Figure, kind: str) -> bytes:
    stream = io.BytesIO()
    metadata = {"Date": None} if kind == "svg" else None
    figure.savefig(stream, format=kind, dpi=DPI, metadata=metadata)
    return stream.getvalue()


def _draw(title: Title, comparison: Comparison) -> Figure:
    arms = len(comparison.arms)
    # Without pyplot: no window system, and no state beside this figure.
    figure = Figure(figsize=(10.5, 2.1 + 0.45 * arms), layout="constrained")
    left, right = figure.subplots(1, 2, sharey=True, width_ratios=(3, 2))
    _draw_accuracy(left, comparison)
    _draw_flips(right, comparison)
    left.set_yticks(range(arms), [score.arm.label for score in comparison.arms])
    left.set_ylim(arms - 0.4, -0.6)
    caveat = f"\n{title.caveat}" if title.caveat else ""
    figure.suptitle(f"{title.line}{caveat}", fontsize=11)
    return figure


def _draw_accuracy(axes: Axes, comparison: Comparison) -> None:
    base = comparison.baseline
    edges = [base.gating.share + side * comparison.margin for side in (-1, 1)]
    axes.axvspan(100 * edges[0], 100 * min(1.0, edges[1]), color=GREY, alpha=0.2, lw=0)
    for place, score in enumerate(comparison.arms):
        share, (low, high) = score.gating.share, score.gating.interval
        axes.errorbar(
            100 * share,
            place,
            xerr=[[100 * (share - low)], [100 * (high - share)]],
            fmt="o" if score.arm.gates else "s",
            mfc=BLUE if score.arm.gates else "white",
            color=BLUE,
            capsize=3,
            lw=1.6,
        )
        _write(axes, f"{100 * share:.1f}", 100 * share, place, (0, 10), "center")
    lowest = min(edges[0], *(score.gating.interval.low for score in comparison.arms))
    pad = 0.04 * (1 - lowest)
    axes.set_xlim(100 * (lowest - pad), 100 * (1 + pad))
    band = f"grey: {base.arm.label} ± {as_margin(comparison.margin)}"
    axes.set_title(f"accuracy, 95 % Wilson interval; {band}", fontsize=10)
    open_marker = "; open: does not decide"
    gated = all(score.arm.gates for score in comparison.arms)
    note = f"{GATING_FILTER}, {base.n} questions{'' if gated else open_marker}"
    axes.set_xlabel(f"% right ({note})")
    _finish(axes)


def _draw_flips(axes: Axes, comparison: Comparison) -> None:
    tables = [pair.gating.table for pair in comparison.pairs]
    places = range(1, len(comparison.arms))
    axes.barh(places, [-table.lost for table in tables], 0.55, color=ORANGE)
    axes.barh(places, [table.gained for table in tables], 0.55, color=BLUE)
    for place, table, pair in zip(places, tables, comparison.pairs, strict=True):
        _write(axes, str(table.lost), -table.lost, place, (-4, 0), "right")
        _write(axes, str(table.gained), table.gained, place, (4, 0), "left")
        verdict = str(pair.verdict) if pair.arm.gates else f"({pair.verdict})"
        beside = axes.get_yaxis_transform()
        axes.text(1.02, place, verdict, transform=beside, va="center", fontsize=9)
    most = max(1, *(max(table.lost, table.gained) for table in tables))
    axes.set_xlim(-1.25 * most, 1.25 * most)
    axes.axvline(0, color="black", lw=0.8)
    axes.set_title(f"against {comparison.baseline.arm.label}", fontsize=10)
    axes.set_xlabel("← answers lost      answers gained →")
    axes.xaxis.set_major_locator(MaxNLocator(nbins=5, integer=True))
    axes.xaxis.set_major_formatter(lambda x, _: f"{abs(x):g}")
    _finish(axes)


def _write(
    axes: Axes, text: str, x: float, y: float, offset: tuple[int, int], align: str
) -> None:
    axes.annotate(
        text,
        (x, y),
        offset,
        textcoords="offset points",
        ha=align,
        va="center",
        fontsize=9,
    )


def _finish(axes: Axes) -> None:
    axes.grid(axis="x", color="#dddddd", lw=0.7)
    axes.set_axisbelow(True)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    axes.tick_params(axis="y", length=0)
