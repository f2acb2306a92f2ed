"""A server of a script that was killed with SIGKILL does not outlive it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil

SCRIPT = """
import sys, time
from pathlib import Path
from fakes.server import FakeSpec
from page_size_eval.serving.server import Server, pick_port
folder = Path(sys.argv[1])
spec = FakeSpec(folder, 16, 256, pick_port(None), folder / "server.log")
with Server(spec) as server:
    server.wait_until_ready(30)
    print(server._process.pid, flush=True)
    time.sleep(600)
"""


def test_server_ends_with_a_killed_script(tmp_path: Path) -> None:
    script = subprocess.Popen(
        [sys.executable, "-c", SCRIPT, str(tmp_path)],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert script.stdout
    server = psutil.Process(int(script.stdout.readline()))
    (worker,) = server.children()
    script.send_signal(signal.SIGKILL)
    script.wait()
    script.stdout.close()
    gone, alive = psutil.wait_procs([server, worker], timeout=30)
    assert len(gone) == 2 and not alive, alive
