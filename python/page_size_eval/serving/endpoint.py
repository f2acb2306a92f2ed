"""An SGLang server as its HTTP endpoints show it, whoever started it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import requests

from page_size_eval.errors import CannotMeasure


class Endpoint:
    """A server that already runs; one that this process starts is a `Server`."""

    def __init__(self, url: str) -> None:
        self.url = url.rstrip("/")
        # Not through a proxy that the environment names.
        self._http = requests.Session()
        self._http.trust_env = False

    def require_alive(self) -> None:
        """Raise ServerDied if the process has ended: of this one nothing is known."""

    def info(self) -> dict[str, Any]:
        """What the server says of itself: the arguments in force, and its version."""
        return dict(self._request("GET", "/server_info", 60).json())

    def metrics(self) -> str:
        """The text of /metrics."""
        return self._request("GET", "/metrics", 60).text

    def generate(self, body: Mapping[str, Any], timeout_s: float = 600) -> Any:
        """The reply of SGLang's /generate to `body`."""
        return self._request("POST", "/generate", timeout_s, json=dict(body)).json()

    def flush_cache(self) -> None:
        """Forget every cached prefix, so that each arm starts as cold as the others."""
        self._request("POST", "/flush_cache", 60)

    def _request(
        self, method: str, path: str, timeout_s: float, **body: Any
    ) -> requests.Response:
        try:
            reply = self._http.request(
                method, self.url + path, timeout=timeout_s, **body
            )
            reply.raise_for_status()
        except requests.RequestException as error:
            self._notice(error)
            raise CannotMeasure(
                f"{method} {self.url}{path}: expected an answer, got {error}."
                f" {self._advice()}"
            ) from error
        return reply

    def _notice(self, error: requests.RequestException) -> None:
        """What a failed request may say of the process."""

    def _advice(self) -> str:
        return "Next: check that an SGLang server listens there, and its log"
