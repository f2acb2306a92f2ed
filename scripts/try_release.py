"""Try the fork on another SGLang release: download, graft, run the tests that need no
server.

Example: .venv/bin/python scripts/try_release.py 0.5.22

Exit status: 0 it fits, 1 it does not (the anchor that moved, or the tests that failed,
are shown), 2 it could not be tried.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import sglang_graft

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from scripts.fetch_releases import fetch  # noqa: E402
from scripts.release_trees import (  # noqa: E402
    TESTS,
    grafted,
    new_parser,
    unwind_on_sigterm,
)

FITS, DOES_NOT_FIT, NOT_TRIED = 0, 1, 2


def newest() -> str | None:
    """The newest release on the package index, or None if pip cannot say."""
    command = [sys.executable, "-m", "pip", "--no-input", "index", "versions", "sglang"]
    said = subprocess.run(command, capture_output=True, text=True).stdout
    found = re.match(r"sglang \(([^)]+)\)", said)
    return found[1] if found else None


def main(argv: Sequence[str] | None = None) -> int:
    parser = new_parser(__doc__)
    parser.add_argument("version", help="a release, or `newest`")
    arguments = parser.parse_args(argv)
    unwind_on_sigterm()
    version = newest() if arguments.version == "newest" else arguments.version
    if version is None or fetch(version, arguments.folder):
        print(
            f"sglang {arguments.version}: cannot be downloaded. Next: check the network"
            " and the number, or name one of pip index versions sglang",
            file=sys.stderr,
        )
        return NOT_TRIED
    print(f"sglang {version}", flush=True)
    with grafted(version, arguments.folder) as tree:
        if tree is None:
            print(
                f"sglang {version}: its transformers cannot be downloaded; pip's"
                " message is above",
                file=sys.stderr,
            )
            return NOT_TRIED
        if isinstance(tree, sglang_graft.Refused):
            print(f"refused: {tree.anchor}: {tree.reason}. Next: {tree.next_step}")
            fits = False
        else:
            fits = tree.run_pytest([*TESTS, "test/fp8_scales"]) == 0
    print(f"sglang {version}: {'fits' if fits else 'does not fit'}")
    return FITS if fits else DOES_NOT_FIT


if __name__ == "__main__":
    sys.exit(main())
