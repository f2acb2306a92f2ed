"""One pass over an arm's questions: so many in flight, each answer kept at once."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from page_size_eval.asking.answer import Answer
from page_size_eval.asking.checkpoint import Checkpoint
from page_size_eval.asking.client import Client
from page_size_eval.asking.request import Request, RequestSettings
from page_size_eval.asking.unanswered import MAX_UNANSWERED, require_answered
from page_size_eval.serving.metrics import ContextPrefill

ANSWERS_PER_NOTE = 20


def _ignore(*_: object) -> None:
    pass


@dataclass(frozen=True)
class Watch:
    """What is called while the questions are asked.

    Attributes:
        require_alive: quick; raises ServerDied once the server has ended. Called after
            a connection error or a time-out.
        snapshot: the hits and fallbacks that the server has counted, or None where
            nothing counts them. Called in a thread: first, after every
            `ANSWERS_PER_NOTE` answers, and last.
        progress: told (done, total), first with what the checkpoint had.
    """

    require_alive: Callable[[], None] = _ignore
    snapshot: Callable[[], ContextPrefill | None] = _ignore
    progress: Callable[[int, int], None] = _ignore


class OnePass:
    """The questions of one pass, asked of one server.

    Attributes:
        answers: by doc_id, those that failed included.
    """

    def __init__(
        self,
        settings: RequestSettings,
        checkpoint: Checkpoint,
        watch: Watch,
        max_unanswered: float = MAX_UNANSWERED,
    ) -> None:
        self.answers: dict[int, Answer] = {}
        self._settings = settings
        self._checkpoint = checkpoint
        self._watch = watch
        self._max_unanswered = max_unanswered
        self._total = 0
        self._at_start: ContextPrefill | None = None
        # Of an earlier run, if this server served that too.
        self._earlier = checkpoint.prefill.get(settings.model_name, ContextPrefill())
        self._since_note = 0
        self._noting = asyncio.Lock()  # notes are kept in the order of their counts

    def run(self, requests: Sequence[Request]) -> None:
        """Ask what the checkpoint does not have.

        Raises:
            ServerDied: the server ended; run it again with a fresh server.
            CannotMeasure: too many questions stay without a whole answer, or the
                checkpoint refuses.
        """
        self._total = len(requests)
        pending = []
        for request in requests:
            if answer := self._checkpoint.finished(request):
                self.answers[request.doc_id] = answer
            else:
                pending.append(request)
        self._watch.progress(len(self.answers), self._total)
        self._require_answered()
        if not pending:
            return
        try:
            asyncio.run(self._ask_all(pending))
        except ExceptionGroup as errors:
            # The one that came first: it cancelled the other requests.
            first = errors.exceptions[0]
            raise first from first.__cause__

    async def _ask_all(self, requests: Sequence[Request]) -> None:
        self._at_start = await asyncio.to_thread(self._watch.snapshot)
        waiting = iter(requests)
        async with (
            Client(self._settings, self._watch.require_alive) as client,
            asyncio.TaskGroup() as group,
        ):
            for _ in range(min(self._settings.concurrency, len(requests))):
                group.create_task(self._ask_in_turn(client, waiting))
        await self._note()

    async def _ask_in_turn(self, client: Client, waiting: Iterator[Request]) -> None:
        for request in waiting:
            self._keep(await client.ask(request))
            if self._since_note >= ANSWERS_PER_NOTE:
                await self._note()

    def _keep(self, answer: Answer) -> None:
        if answer.finished:
            self._checkpoint.add_answer(answer)
        self.answers[answer.doc_id] = answer
        self._since_note += 1
        self._watch.progress(len(self.answers), self._total)
        self._require_answered()

    def _require_answered(self) -> None:
        require_answered(self.answers.values(), self._max_unanswered, self._total)

    async def _note(self) -> None:
        """Keep what the server has counted since this pass began."""
        self._since_note = 0
        server = self._settings.model_name
        async with self._noting:
            now = await asyncio.to_thread(self._watch.snapshot)
            if now is not None and self._at_start is not None:
                counted = now.since(self._at_start)
                self._checkpoint.add_prefill(server, self._earlier + counted)
