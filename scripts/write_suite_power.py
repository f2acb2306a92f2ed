"""Write the tables of docs/suite-power.md from committed results.

    make defects OPTIONS="--json test/matrix/results.json"
    make mutation OPTIONS="--json test/mutation/results.json"

Example: .venv/bin/python scripts/write_suite_power.py --check
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "test"), str(ROOT / "python")]

from matrix import report  # noqa: E402
from matrix.cells import LEVEL_NAMES, Cell  # noqa: E402
from mutation.equivalents import EQUIVALENTS  # noqa: E402
from mutation.scores import COLUMNS, Score  # noqa: E402
from scripts.regions import table, update  # noqa: E402

PAGE = ROOT / "docs" / "suite-power.md"
MATRIX = ROOT / "test" / "matrix" / "results.json"
MUTATION = ROOT / "test" / "mutation" / "results.json"


def show_matrix(document: Mapping[str, Any]) -> str:
    """How many tests each level has, and what came of each defect there."""
    rows = {
        defect: {level: Cell(**cell) for level, cell in cells.items()}
        for defect, cells in document["defects"].items()
    }
    tests = document["tests"]
    levels = [level for level in LEVEL_NAMES if level in tests]
    counts = ", ".join(f"{tests[level]} at the level {level}" for level in levels)
    return (
        f"{len(rows)} defects. Tests, all of which pass without a defect: {counts}.\n\n"
        + report.markdown(rows, levels)
    )


def show_scores(scores: Sequence[Mapping[str, Any]]) -> str:
    """What each set of tests kills."""
    return table(COLUMNS, [Score(**score).row for score in scores])


def show_equivalents(equivalents: Mapping[str, str]) -> str:
    """Each mutant that no test can tell from what it was made of, and why."""
    items = []
    for key, reason in equivalents.items():
        function, _, change = key.partition(": ")
        items.append(f"- `{function}`: `{change}`: {reason}.")
    return "\n".join(items)


def main(argv: Sequence[str] | None = None) -> int:
    regions = {
        "matrix": show_matrix(json.loads(MATRIX.read_text())),
        "mutation": show_scores(json.loads(MUTATION.read_text())),
        "equivalents": show_equivalents(EQUIVALENTS),
    }
    return update(PAGE, regions, argv, str(__doc__))


if __name__ == "__main__":
    sys.exit(main())
