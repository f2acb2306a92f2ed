"""Build the virtual environment of this repository: whatever is missing, nothing twice.

On a bare machine everything comes at the versions pinned in python/pyproject.toml. An
interpreter that already has SGLang and torch, as in a ROCm image, keeps both: the
environment then sees that interpreter's packages and gets the tools alone.

Example: python3.11 scripts/setup_env.py --venv .venv
"""

from __future__ import annotations

import argparse
import importlib.metadata
import importlib.util
import site
import subprocess
import sys
import tempfile
import venv
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PROJECT = ROOT / "python"
CONSTRAINTS = PROJECT / "constraints.txt"
# The first pip that installs dependency groups is 25.1.
PIP = "pip==26.3"
# Never replaced where the interpreter has them.
KEPT = ("sglang", "torch", "triton", "transformers", "numpy")


def host_versions() -> dict[str, str]:
    """Versions of the packages in KEPT that this interpreter has, or {} if it lacks
    SGLang or torch and everything has to be installed."""
    found: dict[str, str] = {}
    for name in KEPT:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            if importlib.util.find_spec(name) is not None:
                found[name] = ""  # on the path without metadata, as a source checkout
    return found if {"sglang", "torch"} <= found.keys() else {}


def pip_commands(host: dict[str, str], constraints: Path) -> list[list[str]]:
    """Arguments of each pip call, in order.

    Args:
        host: the versions to keep (`host_versions`).
        constraints: file of the versions that no call may change.
    """
    project = str(PROJECT / "pyproject.toml")
    limit = ["--constraint", str(constraints)]
    groups = ["--group", f"{project}:dev"]
    if not host:
        groups += ["--group", f"{project}:serving"]
    calls = [["install", PIP], ["install", *limit, *groups, "--editable", str(PROJECT)]]
    if not host:
        # Without its dependencies, and last: pip would list the missing ones as errors.
        calls.append(["install", "--no-deps", "--group", f"{project}:sglang"])
    return calls


def show_packages(environment: Path, folders: Sequence[str]) -> None:
    """Let the environment import what lies in `folders`, editable installs too."""
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    packages = environment / "lib" / version / "site-packages"
    # addsitedir, not a plain path: it follows the .pth files of editable installs.
    lines = [f"import site; site.addsitedir({folder!r})" for folder in folders]
    (packages / "host_packages.pth").write_text("\n".join(lines) + "\n")


def _has_pip(environment: Path) -> bool:
    python = environment / "bin" / "python"
    if not python.exists():
        return False
    probe = [str(python), "-m", "pip", "--version"]
    return subprocess.run(probe, capture_output=True).returncode == 0


def build(environment: Path) -> int:
    """Create or complete the environment; returns pip's exit status."""
    host = host_versions()
    if host:
        kept = ", ".join(f"{n} {v}".strip() for n, v in host.items())
        print(f"setup: using what {sys.executable} has: {kept}", file=sys.stderr)
    if not _has_pip(environment):
        # Cleared: an earlier one may have been interrupted half made.
        venv.create(environment, with_pip=True, clear=True)
    if host:
        show_packages(environment, site.getsitepackages())
    with tempfile.TemporaryDirectory() as scratch:
        constraints = CONSTRAINTS
        if host:
            constraints = Path(scratch) / "host.txt"
            pins = [f"{n}=={v}\n" for n, v in host.items() if v]
            constraints.write_text("".join(pins))
        for arguments in pip_commands(host, constraints):
            python = str(environment / "bin" / "python")
            command = [python, "-m", "pip", "-q", "--no-input", *arguments]
            print("setup: pip", *arguments, file=sys.stderr)
            status = subprocess.run(command).returncode
            if status:
                print(
                    f"setup: pip ended with status {status}; its message is above."
                    " Nothing else was changed: run the same command again once the"
                    " cause is gone",
                    file=sys.stderr,
                )
                return status
    return 0


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--venv",
        type=Path,
        default=ROOT / ".venv",
        help="folder of the environment (default: %(default)s)",
    )
    arguments = parser.parse_args(argv)
    if sys.version_info < (3, 11):  # noqa: UP036
        print(
            f"setup: Python 3.11 or newer is needed, {sys.executable} is"
            f" {sys.version.split()[0]}; call make with PYTHON=/path/to/python3.11",
            file=sys.stderr,
        )
        return 2
    try:
        return 2 if build(arguments.venv.resolve()) else 0
    except KeyboardInterrupt:
        print("setup: interrupted; run it again to complete it", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
