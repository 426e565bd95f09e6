"""The script that is being read, if one is: calls in it mean what the script says.

A reader of scripts enters itself here, so the builder knows of scripts without importing
what reads them. While one is entered, `relax.op.add(x, y)` and `x + y` add to the
function that is read; otherwise they make expressions that `BlockBuilder` emits.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

from xdsl.ir import Operation, SSAValue

if TYPE_CHECKING:
    from xdsl_tvm.relax.expr import Expr


class Operands(ABC):
    """Makes operands of values, and values of operations on them."""

    @abstractmethod
    def of(self, value: object) -> SSAValue:
        """The operand that a value is. Raises DiagnosticException for what is none."""

    @abstractmethod
    def expr(self, op: Operation) -> Expr:
        """The value of an operation on such operands."""

    def insert(self, op: Operation) -> SSAValue:
        """The operand that the result of an operation is."""
        return self.of(self.expr(op))


class Reader(Operands):
    """A function of a script that is being read; values are added to it when made."""

    @abstractmethod
    def call(
        self, name: str, args: Sequence[object], named: Mapping[str, object]
    ) -> Expr:
        """What a function of the vocabulary, by TVM's name without `relax.`, makes."""

    @abstractmethod
    def operator(self, name: str, args: Sequence[object]) -> Expr:
        """What an operator of Python makes of operands; `name` is that of the call."""


_CURRENT: ContextVar[Reader | None] = ContextVar("relax_reader", default=None)


def current_reader() -> Reader | None:
    """The function that is being read, None outside of scripts."""
    return _CURRENT.get()


@contextmanager
def reading(reader: Reader) -> Generator[None]:
    """Calls inside are those of the function that is read."""
    token = _CURRENT.set(reader)
    try:
        yield
    finally:
        _CURRENT.reset(token)
