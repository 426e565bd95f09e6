"""What an interpreted program may run into.

All classes derive from xDSL's `InterpretationError`. That class itself is raised for
what the interpreter does not run: an op without a meaning here, or a missing package.
A `SimulationError` is a fault of the program, or of how it is called.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from xdsl.dialects.builtin import UnknownLoc
from xdsl.ir import Operation
from xdsl.utils.exceptions import InterpretationError

from xdsl_tvm.analysis.named_arguments import in_order


def describe(op: Operation) -> str:
    """`op` on one line, with its source location where it has one."""
    try:
        text = str(op).splitlines()[0]
    except RecursionError:
        # What is nested too deeply for Python is not printed, either.
        text = op.name
    if isinstance(op.location, UnknownLoc):
        return text
    return f"{text} {op.location}"


def unsupported(op: Operation, reason: str, advice: str) -> InterpretationError:
    """The error for an op that is not run: what it is, why not, and what to do."""
    return InterpretationError(f"{op.name}: {reason}; {advice}, in: {describe(op)}")


class SimulationError(InterpretationError):
    """A fault of the program while it runs, at `op` where that is known."""

    def __init__(self, message: str, op: Operation | None = None) -> None:
        super().__init__(message if op is None else f"{message}, in: {describe(op)}")
        self.reason = message
        self.op = op


class ArgumentError(SimulationError):
    """A call does not fit the parameters: number, dtype, rank, shape or strides."""


def named_arguments(
    function: str, names: Sequence[str], args: Sequence[Any], named: Mapping[str, Any]
) -> tuple[Any, ...]:
    """Arguments in order, of which some are given by name; ArgumentError for no such."""
    try:
        return tuple(in_order(function, names, args, named))
    except TypeError as error:
        raise ArgumentError(str(error)) from None


class TypeCheckError(SimulationError):
    """A Relax value lacks the type it is given: by a match_cast, a call, or a result."""


class UseAfterKillError(SimulationError):
    """A value is used whose life a kill operation ended."""


class OutOfBoundsError(SimulationError):
    """An index, a region or an iteration variable leaves its domain."""


class UninitializedReadError(SimulationError):
    """Memory is read that the program allocated and never wrote."""


class DivisionByZeroError(SimulationError):
    """An integer is divided by zero."""


class AssertionFailedError(SimulationError):
    """The condition of a `tir.assert` or of the builtin `assume` does not hold."""


class StepLimitError(SimulationError):
    """`tir.while` loops ran more iterations, or a Relax function called itself at its end
    more often, than the step limit allows."""


class RaceError(SimulationError):
    """Two threads access one location, one of them writes, and no barrier is between."""


class DivergenceError(SimulationError):
    """Threads wait for others that do not come: at a barrier, a shuffle, a matrix."""


class AsyncCopyError(SimulationError):
    """A copy in flight is disturbed, never waited for, or waited for in vain."""
