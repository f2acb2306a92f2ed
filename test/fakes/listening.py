"""The HTTP side of a fake server: the endpoints of SGLang's that are asked here."""

from __future__ import annotations

import json
import os
import socket
import struct
import sys
import threading
import time
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from fakes.replies import Replies

HOST = "127.0.0.1"
COUNTER = "sglang:asm_context_prefill_total"


class FakeServer(ThreadingHTTPServer):
    """Listens at once; `told` is what it says of itself, `replies` what it answers."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, port: int, told: dict[str, Any], replies: Replies) -> None:
        super().__init__((HOST, port), Handler)
        self.told = told
        self.replies = replies

    @property
    def url(self) -> str:
        return f"http://{HOST}:{self.server_port}"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of a client that did not wait."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


class Handler(BaseHTTPRequestHandler):
    server: FakeServer

    def do_GET(self) -> None:
        mode = self.server.told["mode"]
        if self.path == "/metrics":
            batches = len(self.server.replies.asked)
            hits = 0 if mode == "no-hits" else batches
            fallbacks = 2 * batches if mode == "falls-back" else 0
            self._send(
                f"# TYPE {COUNTER} counter\n"
                f'{COUNTER}{{outcome="hit"}} {hits}\n'
                f'{COUNTER}{{outcome="slot_past_pool"}} {fallbacks}\n'
            )
        else:
            self._send(json.dumps(self._info()))

    def do_POST(self) -> None:
        content = self.rfile.read(int(self.headers["Content-Length"]))
        if self.path == "/flush_cache":
            self._send("")
            return
        reply = self.server.replies.reply(json.loads(content))
        time.sleep(reply.after_s)
        if reply.dies:
            print("out of memory, as it were", flush=True)
            os._exit(7)
        if reply.resets:
            # To close it then resets it, without a goodbye.
            linger = struct.pack("ii", 1, 0)
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
            return
        self._send(reply.content, reply.status)

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing: the log is for what a server says when it dies."""

    def _info(self) -> dict[str, Any]:
        told = self.server.told
        return {
            "page_size": 1 if told["mode"] == "other-page-size" else told["page_size"],
            "served_model_name": "x" if told["mode"] == "other-name" else told["name"],
            "chunked_prefill_size": told["chunk"],
            "kv_cache_dtype": "fp8_e4m3",
            "attention_backend": "aiter",
        }

    def _send(self, content: str, status: int = 200) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        if status == HTTPStatus.FOUND:
            self.send_header("Location", "/metrics")
        # Without it a reply that a dying server broke off looks whole.
        self.send_header("Content-Length", str(len(content.encode())))
        self.end_headers()
        self.wfile.write(content.encode())


@contextmanager
def serve(mode: str, only: Collection[int] | None = None) -> Iterator[FakeServer]:
    """A server in this process, on a free port.

    Args:
        mode: one of fakes.replies.
        only: the questions that meet the mode; None: all.
    """
    with FakeServer(0, {"mode": mode}, Replies(mode, only=only)) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()
