"""The figure."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from fakes.measured_arms import AGAIN, BASELINE, measured
from page_size_eval.comparison.comparison import compare
from page_size_eval.comparison.outcome import Comparison
from page_size_eval.errors import CannotMeasure
from page_size_eval.reporting.plot import plot
from page_size_eval.reporting.titles import PROBE_CAVEAT, Title


def texts(svg: Path) -> list[str]:
    """What the figure says: matplotlib keeps each text as a comment on its glyphs."""
    return [text.strip() for text in re.findall(r"<!--(.*?)-->", svg.read_text())]


def test_both_files_are_images(
    tmp_path: Path, title: Title, comparison: Comparison
) -> None:
    png, svg = plot(tmp_path / "out" / "gsm8k.v1", title, comparison)
    assert (png.name, svg.name) == ("gsm8k.v1.png", "gsm8k.v1.svg")
    assert png.read_bytes().startswith(b"\x89PNG")
    assert ElementTree.parse(svg).getroot().tag.endswith("svg")
    assert sorted(path.name for path in png.parent.iterdir()) == [png.name, svg.name]


def test_the_same_comparison_gives_the_same_bytes(
    tmp_path: Path, title: Title, comparison: Comparison
) -> None:
    first = plot(tmp_path / "first", title, comparison)
    second = plot(tmp_path / "second", title, comparison)
    for one, other in zip(first, second, strict=True):
        assert one.read_bytes() == other.read_bytes(), one.suffix
    assert "<dc:date>" not in first[1].read_text()


def test_arms_flips_and_verdicts_are_named(
    tmp_path: Path, title: Title, comparison: Comparison
) -> None:
    _, svg = plot(tmp_path / "figure", title, comparison)
    found = texts(svg)
    for score in comparison.arms:
        assert score.arm.label in found
    for text in ("62.5", "98.8", "150", "worse", "(worse)", title.line):
        assert text in found, found
    assert found.count("equivalent") == 2


def test_losses_are_left_of_gains(
    tmp_path: Path, title: Title, comparison: Comparison
) -> None:
    _, svg = plot(tmp_path / "figure", title, comparison)
    places = re.findall(
        r"<!-- (\d+) -->\s*<g [^>]*translate\(([\d.]+)", svg.read_text()
    )
    (lost,) = (float(x) for text, x in places if text == "150")
    assert lost < max(float(x) for text, x in places if text == "0")


def test_the_probe_s_caveat_is_in_the_figure(
    tmp_path: Path, comparison: Comparison
) -> None:
    _, svg = plot(tmp_path / "tiny", Title("gsm_tiny", "m", "cpu"), comparison)
    assert PROBE_CAVEAT in texts(svg)


def test_a_name_is_no_formula(tmp_path: Path, comparison: Comparison) -> None:
    title = Title("gsm8k", r"$\no$", "cpu")
    _, svg = plot(tmp_path / "figure", title, comparison)
    assert title.line in texts(svg)


@pytest.mark.parametrize("n", [1, 200])
def test_all_right_and_no_flip_can_be_drawn(
    tmp_path: Path, title: Title, n: int
) -> None:
    comparison = compare([measured(BASELINE, n), measured(AGAIN, n)])
    _, svg = plot(tmp_path / "quiet", title, comparison)
    assert texts(svg).count("100.0") == 2


def test_a_place_that_cannot_be_written_is_named(
    tmp_path: Path, title: Title, comparison: Comparison
) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(CannotMeasure, match="figure.png: expected to be written"):
        plot(tmp_path / "file" / "figure", title, comparison)
