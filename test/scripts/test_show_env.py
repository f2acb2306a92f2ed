"""`make env` prints a line for everything, whatever is broken."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "show_env.py"
# Leaves out every installed package; faster where they are not what is tested.
BARE = ("-S",)
LINES = (
    "python",
    "machine",
    "repository",
    "sglang",
    "torch",
    "aiter",
    "device",
    "aiter from",
    "platform",
    "graft",
    "flags",
)


def show(
    *arguments: str, flags: tuple[str, ...] = (), **environment: str
) -> dict[str, str]:
    """What is shown, by line name; continuation lines belong to the line above."""
    done = subprocess.run(
        [sys.executable, *flags, str(SCRIPT), *arguments],
        capture_output=True,
        text=True,
        env={**os.environ, **environment},
    )
    assert done.returncode == 0, done.stderr
    fence, *lines, end = done.stdout.splitlines()
    assert (fence, end) == ("```text", "```"), done.stdout
    shown: dict[str, str] = {}
    name = ""
    for line in lines:
        name = line[:14].strip() or name
        shown[name] = "\n".join(filter(None, (shown.get(name, ""), line[14:])))
    missing = [name for name in LINES if name not in shown]
    assert not missing, done.stdout
    return shown


def broken(shown: dict[str, str]) -> list[str]:
    return [name for name, text in shown.items() if text.startswith("cannot be read")]


def test_reports_every_line() -> None:
    # Without git, or in an archive, the commit is unknown and nothing else.
    assert not set(broken(show())) - {"repository"}


def test_still_reports_where_nothing_is_installed() -> None:
    shown = show(flags=BARE)
    assert shown["sglang"] == "not installed"
    assert set(broken(shown)) - {"repository"} == {"device", "graft"}


def test_still_reports_where_torch_does_not_load(tmp_path: Path) -> None:
    """As where a ROCm torch does not find the ROCm that it was built for."""
    (tmp_path / "torch.py").write_text("raise OSError('libamdhip64.so: not found')\n")
    shown = show(PYTHONPATH=str(tmp_path))
    assert set(broken(shown)) - {"repository"} == {"device"}
    assert "OSError: libamdhip64.so" in shown["device"]


def test_shows_the_hashes_of_a_half_applied_graft(tmp_path: Path) -> None:
    """One of two files is grafted: a graft that was killed between them."""
    package = tmp_path / "sglang"
    (package / "srt").mkdir(parents=True)
    (package / "__init__.py").write_text("raise SystemExit('imported')\n")
    texts = {"first.py": "grafted\n", "second.py": "original\n"}
    hashes = {name: hashlib.sha256(text.encode()) for name, text in texts.items()}
    records = []
    for name, text in texts.items():
        (package / "srt" / name).write_text(text)
        now = hashes[name].hexdigest()
        records.append(
            {
                "path": f"srt/{name}",
                "kind": "spliced",
                "names": ["helper"],
                "sha256_before": now if text == "original\n" else "0" * 64,
                "sha256_after": now if text == "grafted\n" else "0" * 64,
                "sha256_overlay": "0" * 64,
                "sha256_earlier": [],
            }
        )
    state = package / ".sglang_graft"
    state.mkdir()
    manifest = {"format": 1, "release": "0.5.23", "files": records}
    (state / "manifest.json").write_text(json.dumps(manifest))
    shown = show(PYTHONPATH=str(tmp_path))
    assert shown["graft"].startswith("half applied: sglang"), shown["graft"]
    assert f"now {hashes['second.py'].hexdigest()[:12]}" in shown["graft"]


def test_shows_flags_but_no_secret() -> None:
    environment = {"SGLANG_PLATFORM": "elsewhere", "SGLANG_API_KEY": "hunter2"}
    shown = show(flags=BARE, UNRELATED="1", **environment)
    flags = shown["flags"].splitlines()
    assert "SGLANG_PLATFORM=elsewhere" in flags
    assert "SGLANG_API_KEY=(set, not shown)" in flags
    assert not any("hunter2" in text or "UNRELATED" in text for text in shown.values())


class Answers(BaseHTTPRequestHandler):
    """A server at page size 16 with one hit."""

    PAGES = {
        "/server_info": json.dumps({"page_size": 16, "kv_cache_dtype": "fp8_e4m3"}),
        "/metrics": (
            "# HELP sglang:asm_context_prefill_total Batches\n"
            'sglang:asm_context_prefill_total{outcome="hit"} 1.0\n'
        ),
    }

    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(self.PAGES[self.path].encode())

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@pytest.fixture
def url() -> Iterator[str]:
    server = HTTPServer(("127.0.0.1", 0), Answers)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def test_shows_what_is_in_force_in_a_server(url: str) -> None:
    shown = show(f"{url}/", flags=BARE)
    in_force = shown["in force"].splitlines()
    assert {"page_size=16", "kv_cache_dtype=fp8_e4m3"} <= set(in_force)
    assert "tp_size=unknown" in in_force
    assert 'asm_context_prefill_total{outcome="hit"} 1.0' in shown["ASM prefill"]


def test_server_that_does_not_answer_is_a_line() -> None:
    shown = show("http://127.0.0.1:9", flags=BARE)
    assert {"in force", "ASM prefill"} <= set(broken(shown))
