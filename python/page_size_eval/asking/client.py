"""One request to a server, tried until it is answered or given up."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from http import HTTPStatus

import aiohttp

from page_size_eval.asking.answer import (
    Answer,
    MalformedReply,
    read_completion,
    shorten,
)
from page_size_eval.asking.question import Condition
from page_size_eval.asking.request import Request, RequestSettings


class Client:
    """Asks one server; an async context manager."""

    def __init__(
        self, settings: RequestSettings, require_alive: Callable[[], None]
    ) -> None:
        """`require_alive` is quick, and raises ServerDied once the server has ended."""
        self._settings = settings
        self._require_alive = require_alive

    async def __aenter__(self) -> Client:
        self._session = aiohttp.ClientSession(
            # No connection is kept: one that the server is about to close would look
            # like a server that breaks off.
            connector=aiohttp.TCPConnector(
                limit=self._settings.concurrency, force_close=True
            ),
            timeout=aiohttp.ClientTimeout(total=self._settings.timeout_s),
            trust_env=False,  # never through a proxy
        )
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._session.close()

    async def ask(self, request: Request) -> Answer:
        """The answer, or why there is none.

        Raises:
            ServerDied: by `require_alive`, after a connection error or a time-out.
        """
        reason = ""
        for tried in range(self._settings.tries):
            if tried:
                await asyncio.sleep(self._settings.pause_s(tried))
            try:
                status, content = await self._post(request)
            except TimeoutError:
                self._require_alive()
                # A second try would only wait as long again.
                reason = f"no answer within {self._settings.timeout_s:g} s"
                return self._give_up(request, Condition.TIMED_OUT, reason)
            except aiohttp.ClientError as error:
                self._require_alive()
                reason = f"{type(error).__name__}: {error}"
                continue
            if status == HTTPStatus.OK:
                return self._read(request, content)
            reason = f"HTTP {status}: {shorten(content)}"
            if status != HTTPStatus.TOO_MANY_REQUESTS and status < 500:
                return self._give_up(request, Condition.FAILED, reason)
        reason += f", the last of {self._settings.tries} tries"
        return self._give_up(request, Condition.FAILED, reason)

    async def _post(self, request: Request) -> tuple[int, bytes]:
        async with self._session.post(
            f"{self._settings.url}/v1/completions",
            json={**request.body, "model": self._settings.model_name},
            allow_redirects=False,
        ) as response:
            return response.status, await response.read()

    def _read(self, request: Request, content: bytes) -> Answer:
        try:
            completion = read_completion(content)
        except MalformedReply as error:
            reason = f"malformed reply: {error}"
            return self._give_up(request, Condition.FAILED, reason)
        return Answer(
            request.doc_id,
            request.request_hash,
            self._settings.model_name,
            completion.condition,
            completion.text,
            completion.finish_reason,
            completion.prompt_tokens,
            completion.completion_tokens,
        )

    def _give_up(self, request: Request, condition: Condition, reason: str) -> Answer:
        return Answer(
            request.doc_id,
            request.request_hash,
            self._settings.model_name,
            condition,
            reason=reason,
        )
