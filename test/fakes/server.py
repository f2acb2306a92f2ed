"""A server that behaves as told, in place of SGLang's.

Run as a script: server.py SPEC, the spec as JSON. It answers the questions of gsm_tiny
from the data, unless its mode is one of

- `dies-at-start`, `dies-when-asked`
- `other-page-size`, `other-name`: says so of itself
- `no-hits`, `falls-back`: in its metrics
- `empty`, `wrong-at-16`, `dies-mid-run`: in its answers
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from benchmark.gsm8k.dataset import DATA_DIR, read_split
from page_size_eval.server import ServerSpec

QUESTIONS_BEFORE_DEATH = 5
COUNTER = "sglang:asm_context_prefill_total"


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
        return [sys.executable, __file__, json.dumps(told)]


class Handler(BaseHTTPRequestHandler):
    told: dict[str, Any]
    answers: dict[str, str]
    asked = 0

    @property
    def mode(self) -> str:
        return str(self.told["mode"])

    def do_GET(self) -> None:
        if self.path == "/metrics":
            hits = 0 if self.mode == "no-hits" else 3
            fallbacks = 99 if self.mode == "falls-back" else 0
            self._reply(
                f"# TYPE {COUNTER} counter\n"
                f'{COUNTER}{{outcome="hit"}} {hits}\n'
                f'{COUNTER}{{outcome="slot_past_pool"}} {fallbacks}\n'
            )
        else:
            other_page = self.mode == "other-page-size"
            other_name = self.mode == "other-name"
            info = {
                "page_size": 1 if other_page else self.told["page_size"],
                "served_model_name": "x" if other_name else self.told["name"],
                "chunked_prefill_size": self.told["chunk"],
                "kv_cache_dtype": "fp8_e4m3",
                "attention_backend": "aiter",
            }
            self._reply(json.dumps(info))

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        Handler.asked += 1
        late = Handler.asked > QUESTIONS_BEFORE_DEATH
        if self.mode == "dies-when-asked" or (self.mode == "dies-mid-run" and late):
            print("out of memory, as it were", flush=True)
            os._exit(7)
        question = str(body.get("prompt", "")).rpartition("Question: ")[2]
        text = self.answers.get(question.removesuffix("\nAnswer:"), "")
        if self.mode == "empty":
            text = ""
        if self.mode == "wrong-at-16" and self.told["page_size"] == 16:
            text = "#### 1000000"
        self._reply(json.dumps({"choices": [{"index": 0, "text": " " + text}]}))

    def _reply(self, content: str) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        self.wfile.write(content.encode())


def main(told: dict[str, Any]) -> None:
    if told["mode"] == "dies-at-start":
        sys.exit("no such model, as it were")
    # A worker, as a real server has: it must not outlive the server.
    worker = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    print(f"worker {worker.pid}", flush=True)
    Handler.told = told
    Handler.answers = {r["question"]: r["answer"] for r in read_split(DATA_DIR, "test")}
    ThreadingHTTPServer(("127.0.0.1", told["port"]), Handler).serve_forever()


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
