"""A server that behaves as told, in place of SGLang's.

Run as a script: python -m fakes.server SPEC, the spec as JSON. Its modes are those of
fakes.replies, and

- `dies-at-start`
- `other-page-size`, `other-name`: says so of itself
- `no-hits`, `falls-back`: in its metrics
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fakes.listening import FakeServer
from fakes.replies import Replies
from page_size_eval.serving import leash
from page_size_eval.serving.server import ServerSpec

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class FakeSpec(ServerSpec):
    """A spec whose command is this file."""

    mode: str = "sound"

    def command(self) -> list[str]:
        told = {
            "port": self.port,
            "mode": self.mode,
            "page_size": self.page_size,
            "chunk": self.chunk,
            "name": self.name,
        }
        path = os.pathsep.join(map(str, (ROOT, ROOT / "python", ROOT / "test")))
        module = ("-m", "fakes.server", json.dumps(told))
        return ["/usr/bin/env", f"PYTHONPATH={path}", sys.executable, *module]


def main(told: dict[str, Any]) -> None:
    if told["mode"] == "dies-at-start":
        sys.exit("no such model, as it were")
    # A worker, as a real server has, and as there on a leash of its own.
    leashed = [sys.executable, leash.__file__, str(os.getpid()), sys.executable]
    worker = subprocess.Popen([*leashed, "-c", "import time; time.sleep(600)"])
    print(f"worker {worker.pid}", flush=True)
    replies = Replies(told["mode"], told["page_size"])
    FakeServer(told["port"], told, replies).serve_forever()


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
