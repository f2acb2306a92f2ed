"""Run this repository's registered tests of one AMD suite, by SGLang's own runner.

SGLang's run_suite.py is not part of its package, but what it calls is: the same files
are found, each must have a `__main__` block, and each is run as `python3 FILE -f` with
the same time limit.

Example: python3 scripts/ci/run_registered.py --suite stage-b-test-1-gpu-small-amd

Exit status: 0 every file passed, 1 one did not, 2 there is nothing to run.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

REGISTERED = Path(__file__).resolve().parents[2] / "test" / "registered"
# SGLang's own, in its CI.
TIMEOUT_PER_FILE_S = 1200
NOT_TESTS = ("conftest.py", "__init__.py")
PASSED, FAILED, NOTHING_TO_RUN = 0, 1, 2


def collect(folder: Path, suite: str) -> list[Any]:
    """SGLang's registrations of the files that AMD's CI would run for `suite`.

    Raises:
        ValueError: a file is registered wrongly, or would pass without running.
    """
    from sglang.test.ci.ci_register import HWBackend, collect_tests

    files = sorted(f for f in folder.rglob("*.py") if f.name not in NOT_TESTS)
    return [
        test
        for test in collect_tests([str(file) for file in files], sanity_check=True)
        if test.backend is HWBackend.AMD
        and test.effective_suite == suite
        and not test.nightly
        and test.disabled is None
    ]


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--suite", required=True, help="name of the suite")
    parser.add_argument(
        "--folder",
        type=Path,
        default=REGISTERED,
        help="where the tests are (default: %(default)s)",
    )
    parser.add_argument(
        "--list", action="store_true", help="print the files and run nothing"
    )
    arguments = parser.parse_args(argv)
    try:
        tests = collect(arguments.folder, arguments.suite)
    except ValueError as error:
        print(f"{error}. Next: register it as its neighbours are", file=sys.stderr)
        return NOTHING_TO_RUN
    if not tests:
        print(
            f"suite {arguments.suite}: expected a test that is registered for it in"
            f" {arguments.folder}, found none. Next: compare the name with the"
            " register_amd_ci calls there",
            file=sys.stderr,
        )
        return NOTHING_TO_RUN
    if arguments.list:
        for test in tests:
            print(Path(test.filename).relative_to(arguments.folder))
        return PASSED
    from sglang.test.ci.ci_utils import run_unittest_files

    failed = run_unittest_files(
        tests, timeout_per_file=TIMEOUT_PER_FILE_S, continue_on_error=True
    )
    return FAILED if failed else PASSED


if __name__ == "__main__":
    sys.exit(main())
