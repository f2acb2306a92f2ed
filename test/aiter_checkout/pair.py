"""A reference of aiter's and the kernel that is held against it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from aiter_checkout.cases import Case
from aiter_checkout.checkout import Checkout, ReferenceFailed
from aiter_checkout.known import explain
from aiter_checkout.outcomes import Outcome, Sides, settle
from page_size_eval.errors import CannotMeasure

Taken = Mapping[str, Any]
"""The functions taken out of a file of the checkout, by name."""


@dataclass(frozen=True)
class Pair:
    """What is compared with what, and on which cases.

    Attributes:
        reference: the function of aiter's that gives the expected values.
        file: where it is, relative to the checkout.
        kernel: the name in aiter_reference.
        also: further functions of the file that the comparison calls.
        supplied: values for names that the file imports from aiter.
        variant: what is special about the comparison, for the reader of the table.
    """

    reference: str
    file: str
    kernel: str
    sides: Callable[[Taken, Case], Sides]
    cases: tuple[Case, ...]
    also: tuple[str, ...] = ()
    supplied: Mapping[str, Any] = field(default_factory=dict)
    variant: str = ""

    @property
    def name(self) -> str:
        return f"{self.reference}, {self.variant}" if self.variant else self.reference

    def take(self, checkout: Checkout) -> Taken:
        """The functions of aiter's that the comparison calls.

        Raises:
            CannotMeasure: the file or a name is not in the checkout.
        """
        names = (self.reference, *self.also)
        return checkout.take(self.file, names, self.supplied)

    def compare(self, taken: Taken) -> Iterator[Outcome]:
        """The outcome of every case, as they come.

        Raises:
            CannotMeasure: the reference does not compute a case.
        """
        for case in self.cases:
            try:
                outcome = settle(case, self.sides(taken, case))
            except ReferenceFailed as error:
                raise CannotMeasure(
                    f"{self.file}, {case.label}: expected a result, got {error}. Next:"
                    " see whether aiter changed its arguments, and change"
                    " test/aiter_checkout"
                ) from error
            yield explain(self.reference, outcome)
