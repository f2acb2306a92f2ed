"""A server that misbehaves as told, in place of SGLang's.

Run as a script: server.py PORT MODE. Modes: `dies-at-start`, `dies-when-asked`,
`other-page-size`, `ready`.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from page_size_eval.server import ServerSpec


@dataclass(frozen=True)
class FakeSpec(ServerSpec):
    """A spec whose command is this file."""

    mode: str = "ready"

    def command(self) -> list[str]:
        return [sys.executable, __file__, str(self.port), self.mode]


class Handler(BaseHTTPRequestHandler):
    mode = "ready"

    def do_GET(self) -> None:
        if self.path == "/server_info":
            page_size = 1 if self.mode == "other-page-size" else 16
            self._reply({"page_size": page_size})
        else:
            self._reply({})

    def do_POST(self) -> None:
        if self.mode == "dies-when-asked":
            print("out of memory, as it were", flush=True)
            os._exit(7)
        self._reply({})

    def _reply(self, content: object) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(json.dumps(content).encode())


def main(port: int, mode: str) -> None:
    if mode == "dies-at-start":
        sys.exit("no such model, as it were")
    # A worker, as a real server has: it must not outlive the server.
    worker = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    print(f"worker {worker.pid}", flush=True)
    Handler.mode = mode
    ThreadingHTTPServer(("127.0.0.1", port), Handler).serve_forever()


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2])
