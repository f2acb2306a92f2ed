"""Download the SGLang releases that the graft is tested on, each unpacked once.

Example: .venv/bin/python scripts/fetch_releases.py --folder .venv/releases
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Sequence
from pathlib import Path

# 0.5.18 is the last one without a context-chunk branch.
RELEASES = ("0.5.18", "0.5.19", "0.5.20", "0.5.21", "0.5.22", "0.5.23")


def fetch(version: str, folder: Path) -> int:
    """Unpack one release's wheel into folder/version; returns pip's exit status."""
    target = folder / version
    if target.exists():
        return 0
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        command = [sys.executable, "-m", "pip", "-q", "--no-input", "download"]
        command += ["--no-deps", "--only-binary=:all:", "--dest", scratch]
        status = subprocess.run([*command, f"sglang=={version}"]).returncode
        if status:
            return status
        (wheel,) = Path(scratch).glob("*.whl")
        unpacked = Path(scratch) / "unpacked"
        zipfile.ZipFile(wheel).extractall(unpacked)
        # In one step: an interrupted download leaves no half release behind.
        unpacked.rename(target)
    return 0


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--folder", type=Path, required=True, help="where the releases go"
    )
    arguments = parser.parse_args(argv)
    for version in RELEASES:
        if fetch(version, arguments.folder):
            print(
                f"releases: sglang {version} cannot be downloaded; pip's message is"
                " above",
                file=sys.stderr,
            )
            return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
