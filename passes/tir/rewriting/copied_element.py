"""What computes the element that a copy stores: expressions, and the memory they read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from xdsl.ir import Operation, SSAValue

from xdsl_tvm.analysis.all_ops import all_ops
from xdsl_tvm.analysis.tir.memory_order import Memory, memory_of
from xdsl_tvm.analysis.tir.side_effect import own_effect
from xdsl_tvm.dialects import tir
from xdsl_tvm.dialects.tir import CallEffect

_VIEWS = (tir.DeclBufferOp, tir.MatchRegionOp, tir.LetOp)


def is_expression(op: Operation) -> bool:
    """Whether an op computes values, reading memory at most; so it may be computed anew.

    Bindings and views of buffers count, allocations and symbolic sizes do not.
    """
    if isinstance(op, tir.BufferDefinition | tir.AllocateOp | tir.AllocateConstOp):
        return isinstance(op, _VIEWS)
    if not op.results or isinstance(op, tir.ShapeVarOp):
        return False
    return all(own_effect(inner) <= CallEffect.READ_STATE for inner in all_ops(op))


def expressions_behind(values: Iterable[SSAValue]) -> Iterator[Operation]:
    """The expressions that values are computed of, once each, with all they hold."""
    pending = [value.owner for value in values]
    seen: set[Operation] = set()
    while pending:
        op = pending.pop()
        if not isinstance(op, Operation) or op in seen or not is_expression(op):
            continue
        seen.add(op)
        for inner in op.walk():
            yield inner
            pending += [value.owner for value in inner.operands]


def reads_within(values: Iterable[SSAValue]) -> set[Memory]:
    """The memory that values are read from; None among it for some that is not known."""
    found: set[Memory] = set()
    for op in expressions_behind(values):
        if isinstance(op, tir.LoadOp):
            found.add(memory_of(op.buffer, distinct_parameters=True))
        elif own_effect(op) is CallEffect.READ_STATE:
            found.add(None)
    return found
