"""The engines of a test session, two at a time, each asked one question."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from types import TracebackType
from typing import Any, Generic, Self, TypeVar

import pytest

from engine.forked import ForkedEngine, Template
from engine.setups import Setup
from page_size_eval.defect import require_planted
from page_size_eval.serving.in_force import read_in_force, require_arguments

T = TypeVar("T")
# Each computes on one core, and the suite is written for two.
AT_ONCE = 2


class Answers(Generic[T]):
    """What engines answer to one question, by setup."""

    def __init__(self, answer: Callable[[Setup], Future[T]]) -> None:
        self._answer = answer

    def __getitem__(self, setup: Setup) -> T:
        """Waits for the engine, and starts it first if need be."""
        return self._answer(setup).result()


class Engines:
    """Starts an engine for each question and setup; a context manager that ends them.

    What was asked before is not asked again.
    """

    def __init__(self, template: Template, folder: Path) -> None:
        self._template = template
        self._folder = folder
        self._pool = ThreadPoolExecutor(AT_ONCE)
        self._asked: dict[tuple[Callable[..., Any], Setup], Future[Any]] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._pool.shutdown(cancel_futures=True)

    def ask(
        self, question: Callable[[ForkedEngine], T], ahead: Iterable[Setup] = ()
    ) -> Answers[T]:
        """The answers to a question; engines of the setups `ahead` start now."""

        def answer(setup: Setup) -> Future[T]:
            key = question, setup
            if key not in self._asked:
                log = self._folder / f"{len(self._asked)}_{setup.slug}.log"
                self._asked[key] = self._pool.submit(self._run, question, setup, log)
            return self._asked[key]

        for setup in ahead:
            answer(setup)
        return Answers(answer)

    def _run(self, question: Callable[[ForkedEngine], T], setup: Setup, log: Path) -> T:
        with ForkedEngine(self._template, setup.spec(log)) as engine:
            require_arguments(read_in_force(engine.info()), setup.in_force())
            if setup.planted:
                require_planted(setup.planted, log)
            return question(engine)


def each_setup(setups: Sequence[Setup]) -> pytest.MarkDecorator:
    """Run a test with each of `setups` as its argument `setup`."""
    return pytest.mark.parametrize("setup", setups, ids=[s.slug for s in setups])


def selected_setups(request: pytest.FixtureRequest) -> list[Setup]:
    """What the tests that run of a module are parametrised with as `setup`."""
    params = (
        item.callspec.params
        for item in request.session.items
        if item.getparent(pytest.Module) is request.node and hasattr(item, "callspec")
    )
    return list(dict.fromkeys(p["setup"] for p in params if "setup" in p))
