"""Run the helper's and the producers' tests on every release that the graft fits.

Example: .venv/bin/python scripts/suite_on_releases.py --sample

Exit status: 0 everything passed, 1 on one release a test failed, none ran, the overlay
was refused or SGLang could not be imported, 2 a release could not be downloaded.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

import sglang_graft

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from scripts.fetch_releases import RELEASES, fetch  # noqa: E402
from scripts.release_trees import (  # noqa: E402
    TESTS,
    Tree,
    grafted,
    new_parser,
    unwind_on_sigterm,
)

# The first has no context-chunk branch: test/sglang_graft has its refusal.
GRAFTED = RELEASES[1:]
# One file of each kind; of the producers scripts/sample_pages.py keeps two page sizes.
SAMPLE = (
    "-p",
    "scripts.sample_pages",
    "test/properties/test_helper.py",
    "test/registered/attention",
    "test/producers",
)
PASSED, FAILED, NOT_RUN = 0, 1, 2


@dataclass(frozen=True)
class Report:
    """What one run of pytest came to.

    Attributes:
        skipped: how many tests, by reason.
        failed: names, those that did not pass.
        not_imported: file and reason, of files that could not be collected.
        ran_on: the release and the folder of the SGLang that the tests imported.
    """

    passed: int
    skipped: Counter[str]
    failed: tuple[str, ...]
    not_imported: tuple[str, ...]
    ran_on: str | None

    def problems(self, status: int, wanted: str) -> list[str]:
        """Why the run is no success, if it is none."""
        found = [f"failed: {name}" for name in self.failed]
        found += [f"cannot be imported: {file}" for file in self.not_imported]
        if not self.passed:
            found.append("no test passed")
        if status and not found:
            found.append(f"pytest ended with status {status}")
        if not self.not_imported and self.ran_on != wanted:
            found.append(f"the tests ran on {self.ran_on}, not on {wanted}")
        return found


def read_report(file: Path) -> Report:
    """The report in pytest's JUnit XML."""
    passed, skipped = 0, Counter[str]()
    failed: list[str] = []
    not_imported: list[str] = []
    tree = ElementTree.parse(file)
    for case in tree.iter("testcase"):
        name = f"{case.get('classname')}::{case.get('name')}"
        error, skip = case.find("error"), case.find("skipped")
        if error is not None and error.get("message") == "collection failure":
            lines = [
                line for line in (error.text or "").splitlines() if line[:2] == "E "
            ]
            not_imported.append(
                f"{case.get('name')}: {(lines or ['?'])[-1][2:].strip()}"
            )
        elif error is not None or case.find("failure") is not None:
            failed.append(name)
        elif skip is not None:
            skipped[skip.get("message", "")] += 1
        else:
            passed += 1
    ran_on = [
        p.get("value") for p in tree.iter("property") if p.get("name") == "sglang"
    ]
    return Report(
        passed, skipped, tuple(failed), tuple(not_imported), (ran_on or [None])[0]
    )


def run_suite(tree: Tree, *, sample: bool) -> list[str]:
    """Run the tests on the release, print what came of it, and return what is wrong."""
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as scratch:
        file = Path(scratch) / "report.xml"
        chosen = SAMPLE if sample else TESTS
        options = ["-p", "no:cacheprovider", "--no-header", f"--junitxml={file}"]
        status = tree.run_pytest([*options, *chosen])
        report = read_report(file)
    minutes = (time.monotonic() - began) / 60
    with_own = f", with its own {', '.join(tree.pins)}" if tree.pins else ""
    print(
        f"sglang {tree.version}: {report.passed} passed,"
        f" {report.skipped.total()} skipped, {len(report.failed)} failed"
        f" in {minutes:.1f} minutes{with_own}",
        flush=True,
    )
    for reason, count in sorted(report.skipped.items()):
        print(f"  {count} skipped: {reason}", flush=True)
    return report.problems(status, f"{tree.version} {tree.package}")


def run_release(version: str, folder: Path, *, sample: bool) -> int:
    """The exit status of one release."""
    if fetch(version, folder):
        print(f"sglang {version}: cannot be downloaded", file=sys.stderr)
        return NOT_RUN
    with grafted(version, folder) as tree:
        if tree is None:
            print(f"sglang {version}: its own packages: pip failed", file=sys.stderr)
            return NOT_RUN
        if isinstance(tree, sglang_graft.Refused):
            problems = [f"refused: {tree.anchor}: {tree.reason}"]
        else:
            problems = run_suite(tree, sample=sample)
    for problem in problems:
        print(f"sglang {version}: {problem}", flush=True)
    return FAILED if problems else PASSED


def main(argv: Sequence[str] | None = None) -> int:
    parser = new_parser(__doc__)
    parser.add_argument(
        "versions", nargs="*", default=GRAFTED, help=f"default: {' '.join(GRAFTED)}"
    )
    parser.add_argument(
        "--sample",
        action="store_true",
        help="the registered file, the helper's properties and two page sizes of the"
        " producers (default: everything)",
    )
    arguments = parser.parse_args(argv)
    unwind_on_sigterm()
    return max(
        run_release(version, arguments.folder, sample=arguments.sample)
        for version in arguments.versions
    )


if __name__ == "__main__":
    sys.exit(main())
