"""Which pass an error comes from, and which operation it is about.

An error of a pass names an operation or a function in its message. The object itself is
found in the frames that the error has passed: a pass holds what it refuses in a variable.
"""

from __future__ import annotations

import dis
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from types import TracebackType
from typing import Any

from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass

from xdsl_tvm.analysis.all_ops import all_ops

_FUNCTION = re.compile(r"@([\w.$-]+)")
_NAME = re.compile(r"(?<![\w.$-])[A-Za-z_]\w*(?:\.\w+)+(?![\w-])")
"""The name of an operation, as messages have it."""


@dataclass(frozen=True)
class PassFailure:
    """What an error says of a pass that has failed; None is what is not known."""

    pass_name: str | None
    operation: Operation | None


def failure_of(error: BaseException) -> PassFailure:
    """The innermost pass that an error comes from, and the operation it is about.

    That is the operation that the message names first, of the function that it names; or
    the function, where the operation is not found.
    """
    frames = _frames(error)
    passes = (frame.variables.get("self") for frame in frames)
    name = next((each.name for each in passes if isinstance(each, ModulePass)), None)
    return PassFailure(name, _operation(str(error), frames))


def function_named(error: BaseException) -> str | None:
    """The function that a pass was at where it raised `error`, if the frames tell."""
    for frame in _frames(error):
        for op in frame.operations():
            function = _function_around(op)
            if function is not None:
                return _symbol(function)
    return None


@dataclass(frozen=True)
class _Frame:
    """A call that an error has left, and the instruction that raised it there."""

    traceback: TracebackType

    @property
    def variables(self) -> dict[str, Any]:
        return self.traceback.tb_frame.f_locals

    def operations(self) -> Iterator[Operation]:
        """The operations in variables, then those in fields of the object.

        Of both, those that the raising statement reads come first.
        """
        read = self._names_read()
        fields = getattr(self.variables.get("self"), "__dict__", {})
        for values in (self.variables, fields):
            for name in dict.fromkeys((*read, *values)):
                yield from _operations_of(values.get(name))

    def _names_read(self) -> Sequence[str]:
        """The variables and fields that the raising statement reads, in order."""
        code = self.traceback.tb_frame.f_code
        # There is a position for each two bytes of the code.
        position = next(islice(code.co_positions(), self.traceback.tb_lasti // 2, None))
        start, end = position[:2]
        if start is None or end is None:
            return ()
        found: list[str] = []
        for each in dis.get_instructions(code):
            line = None if each.positions is None else each.positions.lineno
            is_read = each.opname.startswith("LOAD_") and isinstance(each.argval, str)
            if is_read and line is not None and start <= line <= end:
                found.append(each.argval)
        return found


def _frames(error: BaseException) -> list[_Frame]:
    """The calls that an error has left, innermost first."""
    found: list[_Frame] = []
    traceback = error.__traceback__
    while traceback is not None:
        found.append(_Frame(traceback))
        traceback = traceback.tb_next
    return found[::-1]


def _operations_of(value: object) -> Iterator[Operation]:
    if isinstance(value, SSAValue):
        value = value.owner
    if isinstance(value, Operation):
        yield value


def _operation(message: str, frames: Iterable[_Frame]) -> Operation | None:
    # What follows is advice, which names other operations.
    what = message.partition("; ")[0]
    named = _FUNCTION.search(what)
    symbol = None if named is None else named[1]
    places: dict[str, int] = {}
    for match in _NAME.finditer(what):
        places.setdefault(match[0], match.start())
    function: Operation | None = None
    found: list[Operation] = []
    for frame in frames:
        for op in frame.operations():
            if symbol is not None:
                around = _function_around(op) or _function_in(op, symbol)
                if around is None or _symbol(around) != symbol:
                    continue
                function = function or around
            if op.name in places and not isinstance(op, ModuleOp):
                found.append(op)
    if found:
        return min(found, key=lambda op: places[op.name])
    return None if function is None else _only_named(function, places)


def _only_named(function: Operation, places: dict[str, int]) -> Operation:
    """The one operation of a function with the name that comes first, or the function."""
    for name in sorted(places, key=places.__getitem__):
        inner = [op for op in all_ops(function) if op.name == name]
        if inner:
            return inner[0] if len(inner) == 1 else function
    return function


def _function_in(op: Operation, symbol: str) -> Operation | None:
    """The function of a module that has this name."""
    inner = op.body.ops if isinstance(op, ModuleOp) else ()
    return next((each for each in inner if _symbol(each) == symbol), None)


def _function_around(op: Operation) -> Operation | None:
    """The closest operation with a symbol, `op` itself or one around it; no module."""
    around: Operation | None = op
    while around is not None and not isinstance(around, ModuleOp):
        if _symbol(around) is not None:
            return around
        around = around.parent_op()
    return None


def _symbol(op: Operation) -> str | None:
    symbol = op.properties.get("sym_name")
    return symbol.data if isinstance(symbol, StringAttr) else None
