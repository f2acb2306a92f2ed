"""What `make setup` asks of pip, on a bare machine and on one that has SGLang."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import subprocess
import sys
import venv
from pathlib import Path

import pytest

from scripts import setup_env

CONSTRAINTS = Path("constraints.txt")


def test_bare_machine_gets_everything_and_sglang_alone() -> None:
    *others, last = setup_env.pip_commands({}, CONSTRAINTS)
    assert last[:2] == ["install", "--no-deps"] and last[-1].endswith(":sglang")
    groups = [argument for call in others for argument in call]
    assert any(argument.endswith(":serving") for argument in groups)


def test_machine_with_sglang_keeps_it_and_its_torch() -> None:
    host = {"sglang": "0.5.23", "torch": "2.14.1+rocm7.2"}
    calls = setup_env.pip_commands(host, CONSTRAINTS)
    arguments = [argument for call in calls for argument in call]
    assert not any(a.endswith((":serving", ":sglang")) for a in arguments)
    assert str(CONSTRAINTS) in arguments


@pytest.mark.parametrize("missing", ["sglang", "torch"])
def test_half_a_host_is_a_bare_machine(
    missing: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def version(name: str) -> str:
        if name == missing:
            raise importlib.metadata.PackageNotFoundError(name)
        return "1.0"

    monkeypatch.setattr(importlib.metadata, "version", version)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert setup_env.host_versions() == {}


def test_host_packages_are_seen_editable_ones_included(tmp_path: Path) -> None:
    """A module that the host has through a .pth file of its own."""
    host = tmp_path / "host"
    checkout = tmp_path / "checkout"
    for folder in (host, checkout):
        folder.mkdir()
    (checkout / "hostmodule.py").write_text("HERE = True\n")
    (host / "editable.pth").write_text(f"{checkout}\n")
    environment = tmp_path / "venv"
    venv.create(environment, with_pip=False)
    setup_env.show_packages(environment, [str(host)])
    done = subprocess.run(
        [str(environment / "bin" / "python"), "-c", "import hostmodule"],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr


def test_versions_are_pinned_exactly_with_a_reason() -> None:
    text = (setup_env.PROJECT / "pyproject.toml").read_text()
    tables = text[text.index("dependencies = [") :]
    pins = [line.strip() for line in tables.splitlines() if line.startswith('    "')]
    packages = [line for line in pins if "==" in line or ">=" in line]
    assert len(packages) > 30
    for line in packages:
        assert line.count("==") == 1 and "#" in line, line


def test_an_old_interpreter_is_told_what_to_do() -> None:
    program = (
        "import sys; sys.version_info = (3, 10, 0); sys.path.insert(0, sys.argv[1]);"
        "from scripts.setup_env import main; sys.exit(main([]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(setup_env.ROOT)],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 2
    assert "PYTHON=/path/to/python3.11" in done.stderr


def test_an_interrupted_environment_is_made_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed before pip was in it, an environment has python alone."""
    environment = tmp_path / "venv"
    venv.create(environment, with_pip=False)
    monkeypatch.setattr(setup_env, "pip_commands", lambda host, constraints: [])
    assert setup_env.build(environment) == 0
    python = str(environment / "bin" / "python")
    assert subprocess.run([python, "-m", "pip", "--version"]).returncode == 0
