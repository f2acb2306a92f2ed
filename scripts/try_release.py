"""Try the fork on another SGLang release: download, graft, run the tests that need no
server.

Example: .venv/bin/python scripts/try_release.py 0.5.22

Exit status: 0 it fits, 1 it does not (the anchor that moved, or the tests that failed,
are shown), 2 it could not be tried.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import sglang_graft

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from scripts.fetch_releases import fetch  # noqa: E402

# In the order in which a change upstream shows first.
TESTS = ("test/overlay", "test/registered", "test/producers", "test/fp8_scales")
FITS, DOES_NOT_FIT, NOT_TRIED = 0, 1, 2


def newest() -> str | None:
    """The newest release on the package index, or None if pip cannot say."""
    command = [sys.executable, "-m", "pip", "--no-input", "index", "versions", "sglang"]
    said = subprocess.run(command, capture_output=True, text=True).stdout
    found = re.match(r"sglang \(([^)]+)\)", said)
    return found[1] if found else None


def graft(package: Path) -> bool:
    """Whether the overlay fits `package`; if not, the anchor that moved is shown."""
    outcome = sglang_graft.apply(package)
    if isinstance(outcome, sglang_graft.Refused):
        print(f"refused: {outcome.anchor}: {outcome.reason}. Next: {outcome.next_step}")
        return False
    print(outcome)
    return True


def run_tests(tree: Path) -> bool:
    """Whether the tests pass with the SGLang of `tree` in place of the installed."""
    path = [str(tree), os.environ.get("PYTHONPATH", "")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, path))}
    command = [sys.executable, "-m", "pytest", "-q", *TESTS]
    return subprocess.run(command, cwd=ROOT, env=environment).returncode == 0


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("version", help="a release, or `newest`")
    parser.add_argument(
        "--folder",
        type=Path,
        default=ROOT / ".venv" / "releases",
        help="where releases are kept (default: %(default)s)",
    )
    arguments = parser.parse_args(argv)
    version = newest() if arguments.version == "newest" else arguments.version
    if version is None or fetch(version, arguments.folder):
        print(
            f"sglang {arguments.version}: cannot be downloaded. Next: check the network"
            " and the number, or name one of pip index versions sglang",
            file=sys.stderr,
        )
        return NOT_TRIED
    print(f"sglang {version}", flush=True)
    with tempfile.TemporaryDirectory(prefix="try-release-") as scratch:
        tree = Path(scratch)
        shutil.copytree(arguments.folder / version / "sglang", tree / "sglang")
        fits = graft(tree / "sglang") and run_tests(tree)
    print(f"sglang {version}: {'fits' if fits else 'does not fit'}")
    return FITS if fits else DOES_NOT_FIT


if __name__ == "__main__":
    sys.exit(main())
