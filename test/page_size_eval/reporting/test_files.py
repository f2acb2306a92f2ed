"""Files of a run are replaced as a whole or not at all."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from page_size_eval.errors import CannotMeasure
from page_size_eval.reporting.files import write_bytes, write_json, write_text


def test_json_is_written_with_its_folder_and_paths_as_text(tmp_path: Path) -> None:
    path = tmp_path / "new" / "results.json"
    write_json(path, {"output": tmp_path, "n": 3})
    assert json.loads(path.read_text()) == {"output": str(tmp_path), "n": 3}
    assert list(path.parent.iterdir()) == [path]


def test_a_file_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "report.md"
    write_text(path, "old, and longer")
    write_text(path, "±")
    assert path.read_text() == "±"


def test_a_full_disk_leaves_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "results.json"
    write_json(path, "old")
    full = Path("/dev/full")
    if not full.exists():
        pytest.skip("needs /dev/full")
    # The scratch file's place is taken by a device that is always full.
    (tmp_path / "results.json.partial").symlink_to(full)
    with pytest.raises(CannotMeasure, match="results.json: .*No space left.*Next:"):
        write_json(path, "new")
    assert json.loads(path.read_text()) == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_folder_that_cannot_be_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(CannotMeasure, match="file/plot.svg: expected .*--output"):
        write_bytes(tmp_path / "file" / "plot.svg", b"")
