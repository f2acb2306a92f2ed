"""The answers of one pass over one arm, kept as they come."""

from __future__ import annotations

from pathlib import Path
from types import TracebackType
from typing import Any, Self

from page_size_eval.asking.answer import Answer
from page_size_eval.asking.appending import AppendedFile
from page_size_eval.asking.lines import decode_line, encode_line
from page_size_eval.asking.question import Condition
from page_size_eval.asking.request import Request
from page_size_eval.errors import CannotMeasure
from page_size_eval.serving.metrics import ContextPrefill

FORMAT = 1
NEXT_STEP = "Next: move the file away, and its questions are asked anew"


class Checkpoint:
    """A file with a line per answer; a context manager.

    A killed run loses at most the line that was being written. A file of another arm or
    of other settings is refused, and so is one that another run is writing.

    Attributes:
        path: of the file.
        answers: the finished ones, by doc_id.
        found: doc_ids that were answered when it was opened.
        prefill: by server, hits and fallbacks while it answered this pass.
    """

    def __init__(self, path: Path, *, key: str, arm: str, repeat: int = 1) -> None:
        """Open the file, and read what an earlier run left in it.

        Args:
            path: of this arm and repeat alone.
            key: of everything that an answer depends on.
            arm: label of the arm.
            repeat: number of the pass over the arm's questions.

        Raises:
            CannotMeasure: the file cannot be written or belongs to another run, or it
                is damaged before its last line.
        """
        self.path = path
        self.answers: dict[int, Answer] = {}
        self.prefill: dict[str, ContextPrefill] = {}
        self._file = AppendedFile(path)
        try:
            self._read({"format": FORMAT, "key": key, "arm": arm, "repeat": repeat})
        except BaseException:
            self.close()
            raise
        self.found = frozenset(self.answers)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the file; closing again does nothing."""
        self._file.close()

    @property
    def servers(self) -> frozenset[str]:
        """Names of the server processes that answered."""
        return frozenset(answer.server for answer in self.answers.values())

    def finished(self, request: Request) -> Answer | None:
        """The answer to this request, if there is one.

        Raises:
            CannotMeasure: the question was asked with another prompt, or with other
                generation settings.
        """
        answer = self.answers.get(request.doc_id)
        if answer and answer.request_hash != request.request_hash:
            raise CannotMeasure(
                f"{self.path}: expected question {request.doc_id} to have been asked by"
                f" the request {request.request_hash}, got {answer.request_hash}: the"
                " data, the few-shot examples or the generation settings have changed."
                f" {NEXT_STEP}"
            )
        return answer

    def add_answer(self, answer: Answer) -> None:
        """Append a finished answer.

        Raises:
            CannotMeasure: it cannot be written; what was written before is kept.
        """
        self._append(
            kind="answer",
            doc_id=answer.doc_id,
            request_hash=answer.request_hash,
            server=answer.server,
            condition=answer.condition,
            text=answer.text,
            finish_reason=answer.finish_reason,
            prompt_tokens=answer.prompt_tokens,
            completion_tokens=answer.completion_tokens,
        )
        self.answers[answer.doc_id] = answer

    def add_prefill(self, server: str, prefill: ContextPrefill) -> None:
        """Append a server's hits and fallbacks in this pass, in place of the last.

        Raises:
            CannotMeasure: as `add_answer`.
        """
        self._append(
            kind="prefill",
            server=server,
            hits=prefill.hits,
            fallbacks=prefill.fallbacks,
        )
        self.prefill[server] = prefill

    def _append(self, **record: Any) -> None:
        self._file.append(encode_line(record))

    def _read(self, header: dict[str, Any]) -> None:
        content = self._file.read()
        lines = content.split(b"\n")
        torn = lines.pop()
        if not lines and encode_line(header).startswith(torn):
            self._file.cut(0)
            self._append(**header)
            return
        # With no whole line, and not our header begun, it is no checkpoint.
        for number, line in enumerate(lines or [torn], start=1):
            try:
                record = decode_line(line)
                if number == 1:
                    self._require_header(header, record)
                else:
                    self._take(record)
            except (KeyError, TypeError, ValueError) as error:
                raise CannotMeasure(
                    f"{self.path}, line {number}: expected a line of a checkpoint, got"
                    f" {type(error).__name__}: {error}. {NEXT_STEP}"
                ) from error
        self._file.cut(len(content) - len(torn))

    def _require_header(self, header: dict[str, Any], found: dict[str, Any]) -> None:
        for name, expected in header.items():
            if found.get(name) != expected:
                raise CannotMeasure(
                    f"{self.path}: expected a checkpoint of {header['arm']} with {name}"
                    f" {expected}, got one of {found.get('arm')} with {name}"
                    f" {found.get(name)}: its answers are another run's. {NEXT_STEP}"
                )

    def _take(self, record: dict[str, Any]) -> None:
        kind = record.pop("kind")
        if kind == "prefill":
            server = record.pop("server")
            self.prefill[server] = ContextPrefill(**record)
        elif kind == "answer":
            answer = Answer(**{**record, "condition": Condition(record["condition"])})
            if self.answers.setdefault(answer.doc_id, answer) != answer:
                raise ValueError(f"a second answer to question {answer.doc_id}")
        else:
            raise ValueError(f"the kind {kind!r}")
