"""`git am` of the patches on SGLang itself gives what the graft writes."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import sglang_graft
from sglang_graft import Patches
from sglang_graft.changes import CHANGES, REGISTERED_TEST
from sglang_graft.mail import AUTHOR

if TYPE_CHECKING:
    from sglang_graft.conftest import Sandbox

_ROOT = Path(__file__).resolve().parents[2]
_RELEASES = ("0.5.19", "0.5.20", "0.5.21", "0.5.22", "0.5.23")
_BACKEND = "srt/layers/attention/aiter_backend.py"
_GATHER = "python/sglang/srt/layers/attention/aiter_kv_gather.py"


class Checkout:
    """A git repository of what the graft looks at, in the layout of SGLang's."""

    def __init__(self, root: Path, sandbox: Sandbox) -> None:
        self.root = root
        self.package = root / "python/sglang"
        self.backend = self.package / sandbox.backend.relative_to(sandbox.package)
        shutil.copytree(sandbox.package, self.package)
        self.git("init", "--quiet")
        self.git("add", ".")
        self.git("commit", "--quiet", "--message=base")
        self.git("tag", "base")

    def git(self, *args: str | Path) -> str:
        """Run git with no configuration but ours, and return what it prints."""
        identity = {
            f"GIT_{who}_{what}": value
            for who in ("AUTHOR", "COMMITTER")
            for what, value in (("NAME", "T"), ("EMAIL", "t@example.invalid"))
        }
        none = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
        done = subprocess.run(
            ["git", *map(str, args)],
            cwd=self.root,
            env={**os.environ, **identity, **none, "HOME": str(self.root)},
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, (args, done.stdout, done.stderr)
        return done.stdout

    def patch(self, output: Path, *only: str) -> Patches:
        """The patches for the checkout, which must not be refused."""
        made = sglang_graft.patch(self.package, only, output)
        assert isinstance(made, Patches), made
        return made


@pytest.fixture
def checkout(release: Path, sandbox: Sandbox, tmp_path: Path) -> Checkout:
    """The checkout of one release."""
    sandbox.copy_target(release)
    return Checkout(tmp_path / "checkout", sandbox)


def _assert_series_gives_the_graft_and_goes(
    checkout: Checkout, sandbox: Sandbox, output: Path
) -> None:
    made = checkout.patch(output)
    assert made.patches, made
    for patch in made.patches:
        checkout.git("am", "--quiet", "--keep-non-patch", output / patch.name)
        compile(checkout.backend.read_bytes(), patch.name, "exec")
        numstat = checkout.git("apply", "--numstat", output / patch.name)
        sizes = [line.split("\t")[:2] for line in numstat.splitlines()]
        assert len(sizes) == patch.files
        assert sum(int(new) for new, _ in sizes) == patch.insertions
        assert sum(int(old) for _, old in sizes) == patch.deletions
    sglang_graft.apply(sandbox.package)
    assert checkout.backend.read_bytes() == sandbox.backend.read_bytes()
    for ours in (_GATHER, REGISTERED_TEST):
        assert (checkout.root / ours).read_bytes() == (_ROOT / ours).read_bytes()
    log = checkout.git("log", "--reverse", "--format=%s|%an <%ae>|%at", "base..")
    subjects = {change.name: change.subject for change in CHANGES}
    assert log.splitlines() == [
        f"{subjects[patch.name[5:-6]]}|{AUTHOR}|0" for patch in made.patches
    ]
    assert checkout.git("diff", "--shortstat", "base").startswith(" 4 files changed")
    for patch in reversed(made.patches):
        checkout.git("apply", "--index", "--reverse", output / patch.name)
    assert checkout.git("diff", "--cached", "--stat", "base") == ""


@pytest.mark.parametrize("release", _RELEASES, indirect=True)
def test_series_gives_what_the_graft_writes(
    checkout: Checkout, sandbox: Sandbox, tmp_path: Path
) -> None:
    _assert_series_gives_the_graft_and_goes(checkout, sandbox, tmp_path / "patches")


def test_series_fits_the_installed_release(
    installed: Path, sandbox: Sandbox, tmp_path: Path
) -> None:
    sandbox.copy_target(installed)
    checkout = Checkout(tmp_path / "checkout", sandbox)
    first = checkout.patch(tmp_path / "first")
    _assert_series_gives_the_graft_and_goes(checkout, sandbox, tmp_path / "patches")
    for patch in first.patches:
        again = tmp_path / "patches" / patch.name
        assert (first.folder / patch.name).read_bytes() == again.read_bytes()


@pytest.mark.parametrize("release", _RELEASES, indirect=True)
def test_helper_alone_applies_and_neither_gathers_nor_counts(
    checkout: Checkout, tmp_path: Path
) -> None:
    made = checkout.patch(tmp_path / "patches", "helper")
    (patch,) = made.patches
    checkout.git("am", "--quiet", made.folder / patch.name)
    text = checkout.backend.read_text()
    compile(text, patch.name, "exec")
    assert "def _asm_context_prefill_fallback(" in text
    assert "_count_asm_context" not in text and "gather_kv" not in text
    changed = checkout.git("diff", "--name-only", "base").split()
    assert changed == [f"python/sglang/{_BACKEND}", REGISTERED_TEST]
