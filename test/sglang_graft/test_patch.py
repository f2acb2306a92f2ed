"""Patches for upstream on a small tree: their text, their folder, their refusals."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import sglang_graft
from sglang_graft import Patches, Refused
from sglang_graft.changes import CHANGES, ENGINE_TEST, REGISTERED_TEST

if TYPE_CHECKING:
    from sglang_graft.conftest import Sandbox

_PYTHON = Path(sglang_graft.__file__).parents[1]
_NAMES = [f"{i:04}-{change.name}.patch" for i, change in enumerate(CHANGES, start=1)]


@pytest.fixture
def tree(sandbox: Sandbox) -> Sandbox:
    """A checkout with all three branches, and an overlay for every change."""
    sandbox.make_target(sandbox.text("upstream"))
    sandbox.make_overlay(sandbox.text("upstream_overlay"))
    return sandbox


def patch(tree: Sandbox, output: Path, **options: Any) -> Patches:
    """The series, which must not be refused."""
    made = sglang_graft.patch(
        tree.package, output=output, overlay=tree.overlay, **options
    )
    assert isinstance(made, Patches), made
    return made


def changed(text: str) -> list[str]:
    """Lines that a patch adds and removes in the spliced file."""
    spliced = text[text.index("+++ b/python/sglang/srt/layers/attention/aiter_back") :]
    lines = spliced.split("\ndiff --git")[0].splitlines()[1:]
    return [line for line in lines if re.match(r"[-+](?!- $)", line)]


def test_series_has_one_patch_per_change_and_each_its_own_lines(
    tree: Sandbox, tmp_path: Path
) -> None:
    made = patch(tree, tmp_path / "out")
    assert [p.name for p in made.patches] == _NAMES
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == _NAMES
    texts = {p.name[5:-6]: p.text for p in made.patches}
    counts = [line for line in changed(texts["counters"]) if "_count_" in line]
    assert len(counts) == 5 and all(line.startswith("+") for line in counts), counts
    for name, expected in (
        ("helper", "+def _asm_context_prefill_gather_indices(indptr, table):"),
        ("indices", "+    def _asm_context_prefill_indices(self, bs):"),
        ("gather", "+            k_gather, v_gather = self._gather_asm_context_kv("),
        ("scales", "+            o = self._forward_extend_asm_context("),
        ("scales", "+            return self._forward_extend_asm_no_prefix("),
    ):
        assert expected in changed(texts[name]), (name, texts[name])
        others = [other for other in texts if other != name]
        assert not any(expected in changed(texts[other]) for other in others), name
    assert "_count_" not in texts["helper"]
    assert f"+++ b/{REGISTERED_TEST}" in texts["helper"]


def test_patch_says_its_size(tree: Sandbox, tmp_path: Path) -> None:
    made = patch(tree, tmp_path)
    for one in made.patches:
        diff = one.text[one.text.index("\ndiff ") :].removesuffix("-- \nsglang_graft\n")
        lines = [li for li in diff.splitlines() if not li.startswith(("---", "+++"))]
        assert one.insertions == sum(line.startswith("+") for line in lines)
        assert one.deletions == sum(line.startswith("-") for line in lines)
        assert f"{one.name}: {one.files} files, {one.insertions} ins" in str(made)


def test_one_change_brings_what_it_needs_and_no_counts(
    tree: Sandbox, tmp_path: Path
) -> None:
    made = patch(tree, tmp_path, only=["scales"])
    (one,) = made.patches
    assert one.name == "0001-scales.patch"
    assert "[PATCH 1/1] [AMD]" in one.text
    added = "\n".join(changed(one.text))
    assert "def _asm_context_prefill_gather_indices" in added
    assert "_count_" not in added
    # Needed by the method, and still no edit of the other branch.
    assert "def _gather_asm_context_kv" in added
    assert "k_gather" not in added


def test_changes_keep_their_order(tree: Sandbox, tmp_path: Path) -> None:
    made = patch(tree, tmp_path, only=["counters", "helper"])
    assert [p.name for p in made.patches] == [
        "0001-helper.patch",
        "0002-counters.patch",
    ]


def test_registered_test_replaces_that_of_the_checkout(
    tree: Sandbox, tmp_path: Path
) -> None:
    checkout = tmp_path / "checkout"
    shutil.copytree(tree.package, checkout / "python/sglang")
    theirs = checkout / REGISTERED_TEST
    theirs.parent.mkdir(parents=True)
    options: dict[str, Any] = {"output": tmp_path / "out", "only": ["helper"]}
    theirs.write_text("old = 1\n")
    replaced = sglang_graft.patch(checkout, overlay=tree.overlay, **options)
    assert isinstance(replaced, Patches), replaced
    assert f"--- a/{REGISTERED_TEST}\n" in replaced.patches[0].text
    assert "\n-old = 1\n" in replaced.patches[0].text
    shutil.copy(_PYTHON.parent / REGISTERED_TEST, theirs)
    same = sglang_graft.patch(checkout, overlay=tree.overlay, **options)
    assert isinstance(same, Patches) and same.patches[0].files == 1, same


def test_second_run_is_the_same_and_check_agrees(tree: Sandbox, tmp_path: Path) -> None:
    first = patch(tree, tmp_path)
    before = {path: path.stat().st_mtime_ns for path in tmp_path.glob("*.patch")}
    assert patch(tree, tmp_path) == first
    assert {p: p.stat().st_mtime_ns for p in tmp_path.glob("*.patch")} == before
    assert patch(tree, tmp_path, check=True).exit_code == 0


@pytest.mark.parametrize("fault", ["edited", "missing", "left over"])
def test_check_names_what_differs_and_writes_nothing(
    tree: Sandbox, tmp_path: Path, fault: str
) -> None:
    patch(tree, tmp_path)
    name = "0009-old.patch" if fault == "left over" else _NAMES[1]
    file = tmp_path / name
    if fault == "missing":
        file.unlink()
    else:
        file.write_text("edited")
    checked = patch(tree, tmp_path, check=True)
    assert (checked.exit_code, checked.differing) == (1, (name,))
    assert f"differs: {name}" in str(checked)
    assert file.exists() == (fault != "missing")
    patch(tree, tmp_path)
    assert sorted(path.name for path in tmp_path.glob("*.patch")) == _NAMES


def test_other_files_of_the_folder_are_left_alone(
    tree: Sandbox, tmp_path: Path
) -> None:
    for name in ("notes.txt", "theirs.patch"):
        (tmp_path / name).write_text("kept")
    patch(tree, tmp_path)
    assert (tmp_path / "theirs.patch").read_text() == "kept"
    assert patch(tree, tmp_path, check=True).exit_code == 0


def test_tree_of_a_grafted_package_is_its_original(
    tree: Sandbox, tmp_path: Path
) -> None:
    before = patch(tree, tmp_path)
    tree.apply("no-prefix-branch")
    assert patch(tree, tmp_path) == before


def test_nothing_to_do_is_refused(tree: Sandbox, tmp_path: Path) -> None:
    tree.apply()
    (tree.state / "manifest.json").unlink()
    checkout, output = tmp_path / "checkout", tmp_path / "out"
    shutil.copytree(tree.package, checkout / "python/sglang")
    (checkout / ENGINE_TEST).parent.mkdir(parents=True)
    shutil.copy(_PYTHON.parent / ENGINE_TEST, checkout / ENGINE_TEST)
    made = sglang_graft.patch(checkout, ["counters"], output, overlay=tree.overlay)
    assert isinstance(made, Refused) and made.anchor == "base", made
    assert not list(output.glob("*.patch"))


def test_unknown_change_lists_those_that_there_are(
    tree: Sandbox, tmp_path: Path
) -> None:
    made = sglang_graft.patch(tree.package, ["halper"], tmp_path, overlay=tree.overlay)
    assert isinstance(made, Refused) and made.exit_code == 2, made
    for change in CHANGES:
        assert change.name in made.next_step


def test_command_writes_and_checks(tree: Sandbox, tmp_path: Path) -> None:
    def run(*more: str) -> subprocess.CompletedProcess[str]:
        where = ("--base", tree.package, "--overlay", tree.overlay)
        command = [sys.executable, "-m", "sglang_graft", "patch", *map(str, where)]
        folder = ("--output", str(tmp_path), "--only", "helper")
        return subprocess.run(
            [*command, *folder, *more], cwd=_PYTHON, capture_output=True, text=True
        )

    author = ("--author", "B <b@example.invalid>", "--date", "Fri, 2 Jan 1970 00:00:00")
    assert run("--check").returncode == 1
    done = run(*author)
    assert (done.returncode, done.stderr) == (0, "")
    assert "0001-helper.patch: 2 files" in done.stdout
    text = (tmp_path / "0001-helper.patch").read_text()
    assert "\nFrom: B <b@example.invalid>\nDate: Fri, 2 Jan" in text
    assert run("--check", *author).returncode == 0
    assert run("--check").returncode == 1
