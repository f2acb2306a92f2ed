"""Applying, applying again, reverting, and refusing what is not ours."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING

import pytest

import sglang_graft
from sglang_graft import AlreadyApplied, Applied, NotApplied, Refused, Reverted

if TYPE_CHECKING:
    from sglang_graft.conftest import Sandbox

_NEW = "srt/layers/attention/aiter_kv_gather.py"


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def test_second_apply_changes_nothing(sandbox: Sandbox) -> None:
    sandbox.apply()
    before = sandbox.snapshot()
    outcome = sandbox.apply()
    assert isinstance(outcome, AlreadyApplied), outcome
    assert sandbox.snapshot() == before


def test_revert_restores_bytes_and_mode(sandbox: Sandbox) -> None:
    source = sandbox.text("inline").replace("paged kernel", "paged kernel \t").encode()
    sandbox.make_target(source + b"# no line end")
    sandbox.backend.chmod(0o640)
    sandbox.apply()
    assert sandbox.backend.stat().st_mode & 0o777 == 0o640
    outcome = sandbox.revert()
    assert isinstance(outcome, Reverted), outcome
    assert sandbox.backend.read_bytes() == source + b"# no line end"
    assert sandbox.backend.stat().st_mode & 0o777 == 0o640
    assert not sandbox.state.exists()
    assert isinstance(sandbox.revert(), NotApplied)


def test_manifest_and_backup_say_what_was_done(sandbox: Sandbox) -> None:
    sandbox.apply("_note")
    manifest = json.loads((sandbox.state / "manifest.json").read_text())
    assert manifest["release"] == "0.5.23"
    assert manifest["format"] == 1
    (entry,) = manifest["files"]
    assert entry["path"] == "srt/layers/attention/aiter_backend.py"
    assert entry["kind"] == "spliced"
    assert entry["names"] == ["_counts", "_note"]
    assert entry["sha256_before"] == _hash(sandbox.text("inline"))
    assert entry["sha256_after"] == _hash(sandbox.backend.read_text())
    assert entry["sha256_overlay"] == _hash(sandbox.text("overlay"))
    backup = sandbox.state / "backup" / entry["path"]
    assert backup.read_text() == sandbox.text("inline")


def test_file_edited_by_hand_is_left_alone(sandbox: Sandbox) -> None:
    sandbox.apply()
    edited = sandbox.backend.read_text() + "# mine\n"
    sandbox.backend.write_text(edited)
    before = sandbox.snapshot()
    for outcome in (
        sandbox.apply(),
        sandbox.revert(),
        sglang_graft.diff(sandbox.package, (), sandbox.overlay),
    ):
        assert isinstance(outcome, Refused), outcome
        assert str(sandbox.backend) in outcome.reason
        assert "undo the edit" in outcome.next_step
    assert sandbox.snapshot() == before
    assert sandbox.status().state == "foreign"
    assert sandbox.status().exit_code == 1


def test_changed_overlay_is_spliced_from_the_original(sandbox: Sandbox) -> None:
    sandbox.apply()
    changed = sandbox.text("overlay").replace("_note", "_note_batch")
    sandbox.make_overlay(changed)
    assert isinstance(sandbox.apply(), Applied)
    expected = sandbox.text("inline_grafted").replace("_note", "_note_batch")
    assert sandbox.backend.read_text() == expected
    assert isinstance(sandbox.apply(), AlreadyApplied)
    sandbox.revert()
    assert sandbox.backend.read_text() == sandbox.text("inline")


def test_new_file_is_added_and_removed(sandbox: Sandbox) -> None:
    sandbox.make_overlay(sandbox.text("overlay"), {_NEW: "GATHER = 1\n"})
    sandbox.apply()
    assert (sandbox.package / _NEW).read_text() == "GATHER = 1\n"
    kinds = {file.path: file.kind for file in sandbox.status().files}
    assert kinds[_NEW] == "new"
    sandbox.revert()
    assert not (sandbox.package / _NEW).exists()


def test_new_file_dropped_from_the_overlay_is_removed(sandbox: Sandbox) -> None:
    sandbox.make_overlay(sandbox.text("overlay"), {_NEW: "GATHER = 1\n"})
    sandbox.apply()
    (sandbox.overlay / _NEW).unlink()
    assert isinstance(sandbox.apply(), Applied)
    assert not (sandbox.package / _NEW).exists()
    assert isinstance(sandbox.apply(), AlreadyApplied)
    assert len(sandbox.status().files) == 1


def test_new_file_whose_place_is_taken_is_refused(sandbox: Sandbox) -> None:
    sandbox.make_overlay(sandbox.text("overlay"), {_NEW: "GATHER = 1\n"})
    (sandbox.package / _NEW).write_text("GATHER = 2\n")
    refused = sandbox.refused()
    assert refused.anchor == f"new file {_NEW}"
    assert str(sandbox.package / _NEW) in refused.reason


def test_new_file_without_its_folder_is_refused(sandbox: Sandbox) -> None:
    sandbox.make_overlay(sandbox.text("overlay"), {"srt/gone/new.py": ""})
    assert "expected the folder" in sandbox.refused().reason


def test_reinstalled_release_is_grafted_again(sandbox: Sandbox) -> None:
    sandbox.apply()
    sandbox.make_target(sandbox.text("inline"))
    assert sandbox.status().state == "half applied"
    assert isinstance(sandbox.apply(), Applied)
    assert sandbox.backend.read_text() == sandbox.text("inline_grafted")


@pytest.mark.parametrize("content", ["{", "[]", '{"format": 1}', '{"format": 99}'])
def test_damaged_manifest_is_refused(sandbox: Sandbox, content: str) -> None:
    sandbox.apply()
    (sandbox.state / "manifest.json").write_text(content)
    assert sandbox.refused().anchor == "manifest"
    assert isinstance(sandbox.revert(), Refused)
    assert isinstance(sglang_graft.status(sandbox.package), Refused)


def test_damaged_backup_is_refused(sandbox: Sandbox) -> None:
    sandbox.apply()
    backup = sandbox.state / "backup" / "srt/layers/attention/aiter_backend.py"
    backup.write_text("other")
    before = sandbox.snapshot()
    outcome = sandbox.revert()
    assert isinstance(outcome, Refused), outcome
    assert outcome.anchor == "backup"
    assert sandbox.snapshot() == before


def test_backup_without_manifest_is_never_lost(sandbox: Sandbox) -> None:
    sandbox.apply()
    (sandbox.state / "manifest.json").unlink()
    before = sandbox.snapshot()
    outcome = sandbox.revert()
    assert isinstance(outcome, Refused), outcome
    assert sandbox.snapshot() == before
    sandbox.make_overlay(sandbox.text("overlay").replace("_note", "_note_batch"))
    assert sandbox.refused().anchor == "manifest"


def test_missing_target_file_is_refused(sandbox: Sandbox) -> None:
    sandbox.backend.unlink()
    assert sandbox.refused().anchor == "target file"


def test_missing_overlay_is_refused_and_revert_works_without(sandbox: Sandbox) -> None:
    sandbox.apply()
    (sandbox.overlay / "srt/layers/attention/aiter_backend.py").unlink()
    refused = sandbox.refused()
    assert refused.anchor == "overlay"
    assert str(sandbox.overlay) in refused.reason
    assert isinstance(sandbox.revert(), Reverted)


@pytest.mark.parametrize("grafted", [False, True])
def test_diff_is_what_apply_does(sandbox: Sandbox, grafted: bool) -> None:
    if grafted:
        sandbox.apply()
    found = sglang_graft.diff(sandbox.package, (), sandbox.overlay)
    assert isinstance(found, sglang_graft.Diff), found
    lines = found.text.splitlines()
    name = "python/sglang/srt/layers/attention/aiter_backend.py"
    assert lines[:2] == [f"--- a/{name}", f"+++ b/{name}"]
    added = [line[1:] for line in lines[2:] if line.startswith("+")]
    removed = [line[1:] for line in lines[2:] if line.startswith("-")]
    assert "_counts: Counter[str] = Counter()" in added
    assert "            # Entries are pages." in removed
    after = sandbox.text("inline_grafted").splitlines()
    assert set(added) <= set(after), set(added) - set(after)
