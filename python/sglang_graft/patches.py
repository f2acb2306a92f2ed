"""Patches for upstream, made from an SGLang tree when they are wanted.

They hold lines of SGLang's text as context, so this repository has none of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from sglang_graft.atomic import Write, read_if_there, write_all
from sglang_graft.changes import Change, choose
from sglang_graft.mail import AUTHOR, DATE, Files, Patch, make_patch
from sglang_graft.manifest import load_manifest, refuse_foreign
from sglang_graft.operations import open_overlay, refusing
from sglang_graft.outcome import Refusal
from sglang_graft.overlay import Overlay, default_overlay
from sglang_graft.plan import plan_changes
from sglang_graft.selection import select
from sglang_graft.target import CHECKOUT_PATH, Target, find_target

OUTPUT = Path("build/patches")

_OURS = re.compile(r"\d{4}-.+\.patch")


@dataclass(frozen=True)
class Patches:
    """A series of patches, and where it is or would be.

    `differing` are names in the folder that are not as this series has them; a series
    that was written leaves none.
    """

    release: str
    folder: Path
    patches: tuple[Patch, ...]
    differing: tuple[str, ...] = ()

    @property
    def exit_code(self) -> int:
        """1 where a check found a difference."""
        return 1 if self.differing else 0

    def __str__(self) -> str:
        lines = [f"patches for sglang {self.release} in {self.folder}"]
        lines += [f"  {patch}" for patch in self.patches]
        lines += [f"  differs: {name}" for name in self.differing]
        return "\n".join(lines)


@refusing
def patch(
    base: Path | None = None,
    only: Sequence[str] = (),
    output: Path = OUTPUT,
    check: bool = False,
    author: str = AUTHOR,
    date: str = DATE,
    overlay: Path | None = None,
) -> Patches:
    """Write one patch per change to `output`, in the order of `git am`.

    Args:
        base: checkout, package or site-packages folder that the patches are for;
            None: the installed one. A grafted tree is taken as it was before.
        only: names of changes; all if empty. Alone, a change brings what it needs.
        output: the folder; patches of an earlier series in it are removed.
        check: write nothing, and compare the folder with the series.
        author, date: of every patch.
        overlay: another folder of definitions than this repository's.

    Returns:
        The patches; or Refused, with the folder as it was.
    """
    definitions = open_overlay(overlay)
    tree = find_target(base, overlay or default_overlay())
    series = tuple(_series(tree, definitions, choose(only), author, date))
    wanted = {patch.name: patch.text.encode() for patch in series}
    found = {
        path.name: read_if_there(path)
        for path in sorted(output.glob("*.patch"))
        if _OURS.fullmatch(path.name)
    }
    done = Patches(tree.release, output, series)
    differing = sorted(
        name for name in {*wanted, *found} if wanted.get(name) != found.get(name)
    )
    if check:
        return replace(done, differing=tuple(differing))
    write_all([Write(output / name, wanted.get(name)) for name in differing])
    return done


def _series(
    tree: Target,
    overlay: Overlay,
    changes: Sequence[Change],
    author: str,
    date: str,
) -> Iterator[Patch]:
    """A patch for each change that changes something, on top of those before it."""
    stages = [
        (change, files)
        for change, files in zip(changes, _stages(tree, overlay, changes), strict=True)
        if files
    ]
    if not stages:
        raise Refusal(
            "base",
            f"{tree.package} (sglang {tree.release}) has all of this already",
            "pass --base with a tree without it",
        )
    for number, (change, files) in enumerate(stages, start=1):
        yield make_patch(
            name=f"{number:04}-{change.name}.patch",
            place=f"{number}/{len(stages)}",
            subject=change.subject,
            body=change.body,
            files=files,
            author=author,
            date=date,
        )


def _stages(
    tree: Target, overlay: Overlay, changes: Sequence[Change]
) -> Iterator[Files]:
    """What each change does to the files, after the changes before it."""
    manifest = load_manifest(tree.package)
    if manifest:
        refuse_foreign(tree.package, manifest)
    edits: list[str] = []
    before: dict[str, bytes | None] = {}
    for change in changes:
        edits += change.edits
        planned = plan_changes(tree, overlay, select(overlay, edits), manifest)
        files = {f"{CHECKOUT_PATH}/{c.path}": (c.before, c.after) for c in planned}
        files |= {path: _test_file(tree, path) for path in change.tests}
        yield {
            path: (before.get(path, original), after)
            for path, (original, after) in files.items()
            if before.get(path, original) != after
        }
        before |= {path: after for path, (_, after) in files.items()}


def _test_file(tree: Target, path: str) -> tuple[bytes | None, bytes | None]:
    """A test as the checkout has it, if it does, and as this repository has it."""
    ours = Path(__file__).resolve().parents[2] / path
    content = read_if_there(ours)
    if content is None:
        raise Refusal(
            "test file",
            f"expected {ours}, found no such file",
            "run from a checkout of this repository",
        )
    theirs = read_if_there(tree.checkout / path) if tree.checkout else None
    return theirs, content
