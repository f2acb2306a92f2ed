"""Every command of the pages can be given as it stands."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

from docs import makefile, pages
from docs.pages import PAGES, ROOT, Command

CODE = ("python", "scripts", "benchmark", ".ci")
# In commands of the container, which have its interpreter and no file of ours.
FOREIGN = ("pip", "venv", "-c")


def sources(folder: Path) -> str:
    return "".join(path.read_text() for path in sorted(folder.rglob("*.py")))


@pytest.mark.parametrize("page", PAGES, ids=pages.name_of)
def test_make_knows_every_target_and_variable(page: Path) -> None:
    commands = pages.commands(page.read_text(), "make")
    wrong = {c.text: f for c in commands if (f := makefile.faults(c.words))}
    assert not wrong, f"{page.name}: not in the Makefile: {wrong}"


def test_pages_have_commands_and_wrong_ones_are_seen() -> None:
    counts = [len(pages.commands(page.read_text(), "make")) for page in PAGES]
    assert sum(counts) > 50, counts
    text = "`make gsm9k PAGE=16 PAEG=1`, or:\n\n    A=1 make test \\\n      X=2  # no\n"
    assert [c.environment for c in pages.commands(text, "make")] == [("A=1",), ()]
    found = [makefile.faults(c.words) for c in pages.commands(text, "make")]
    assert found == [["X=2"], ["gsm9k", "PAEG=1"]]


@pytest.mark.parametrize("page", PAGES, ids=pages.name_of)
def test_variables_before_a_command_are_read_by_something(page: Path) -> None:
    text = page.read_text()
    known = "".join(sources(ROOT / folder) for folder in CODE)
    known += (ROOT / "Makefile").read_text()
    names = {
        word.partition("=")[0]
        for program in ("make", "python", "python3")
        for command in pages.commands(text, program)
        for word in command.environment
    }
    # Python's own.
    unknown = {name for name in names if name not in known} - {"PYTHONPATH"}
    assert not unknown, f"{page.name}: {unknown}"


@pytest.mark.parametrize("page", PAGES, ids=pages.name_of)
def test_python_commands_name_what_exists(page: Path) -> None:
    text = page.read_text()
    commands = [
        command
        for program in ("python", "python3")
        for command in pages.commands(text, program)
        if not set(command.words) & set(FOREIGN)
    ]
    wrong = [command.text for command in commands if not _exists(command)]
    assert not wrong, f"{page.name}: {wrong}"


def _exists(command: Command) -> bool:
    """Whether the script or module is there, and its source has every option."""
    words = list(command.words)
    if words[:1] == ["-m"]:
        module = words[1]
        if module == "pytest":
            return all((ROOT / w).exists() for w in words[2:] if not w.startswith("-"))
        try:
            spec = importlib.util.find_spec(module)
        except ModuleNotFoundError:
            spec = None
        if spec is None or spec.origin is None:
            return False
        source = sources(Path(spec.origin).parent)
        options = words[2:]
    else:
        script = ROOT / words[0]
        if not script.is_file():
            return False
        source = script.read_text() + sources(ROOT / "python/page_size_eval")
        options = words[1:]
    named = [word.partition("=")[0] for word in options if word.startswith("--")]
    # An option is a string, or the name of a parameter.
    return all(n in source or n[2:].replace("-", "_") in source for n in named)


def test_shell_scripts_parse() -> None:
    scripts = [ROOT / ".ci/run", *sorted((ROOT / "scripts").rglob("*.sh"))]
    assert len(scripts) > 1
    for script in scripts:
        done = subprocess.run(["bash", "-n", str(script)], capture_output=True)
        assert done.returncode == 0, done.stderr


def test_help_lists_every_target() -> None:
    done = subprocess.run(
        # Under `make test` it would say which directory it enters.
        ["make", "--no-print-directory", "help", f"PYTHON={sys.executable}"],
        capture_output=True,
        text=True,
        cwd=ROOT,
    )
    assert done.returncode == 0, done.stderr
    listed = {line.split()[0] for line in done.stdout.splitlines()}
    assert listed == makefile.TARGETS
