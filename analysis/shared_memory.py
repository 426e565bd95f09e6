"""Relax values that are memory of others, and operations that write such memory."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from xdsl.ir import Operation, OpResult, SSAValue
from xdsl.traits import MemoryEffectKind, get_effects
from xdsl.utils.disjoint_set import DisjointSet

from xdsl_tvm.dialects import relax
from xdsl_tvm.dialects.relax.operators import OperatorOp

_VIEWS = frozenset(
    {"relax.reshape", "relax.memory.view", "relax.memory.ensure_zero_offset"}
)
"""Operators whose result may be memory of their operand."""
_NO_WRITES = (
    relax.FuncOp,
    relax.DataflowOp,
    relax.IfOp,
    relax.MatchCastOp,
    relax.PrintOp,
    relax.AssertOp,
)
"""Operations whose effects are others than to write memory of an operand."""


def written_operands(op: Operation) -> Sequence[SSAValue]:
    """The operands whose memory an operation may write."""
    if isinstance(op, _NO_WRITES):
        return ()
    effects = get_effects(op)
    if effects is None:
        return op.operands
    values = [e.value for e in effects if e.kind == MemoryEffectKind.WRITE]
    known = [value for value in values if isinstance(value, SSAValue)]
    return known if len(known) == len(values) else op.operands


def memory_sources(value: SSAValue) -> Sequence[SSAValue]:
    """Values whose memory `value` may be, hold or view."""
    if not isinstance(value, OpResult):
        return ()
    match value.op:
        case relax.DataflowOp() as dataflow:
            return (dataflow.output_op.values[value.index],)
        case relax.IfOp() as branches:
            return [
                operand
                for region in branches.regions
                if (last := region.block.last_op) is not None
                for operand in last.operands
            ]
        case relax.CallTIROp() | relax.CallTIRWithGradOp() | relax.CallDPSPackedOp():
            return ()
        case OperatorOp() as operator if operator.name not in _VIEWS:
            return ()
        case op:
            return op.operands


def values_with_written_memory(func: relax.FuncOp) -> set[SSAValue]:
    """The values of a function that may share memory with one that is written.

    Unlike a walk along `memory_sources`, it goes both ways: another view of what a
    written value views is among them. Linear in the size of the function.
    """
    values = list(_values(func))
    sharing = DisjointSet(values)
    for value in values:
        for source in memory_sources(value):
            sharing.union(value, source)
    written = {sharing.find(v) for op in func.walk() for v in written_operands(op)}
    return {value for value in values if sharing.find(value) in written}


def _values(func: relax.FuncOp) -> Iterable[SSAValue]:
    for op in func.walk():
        yield from op.results
        for region in op.regions:
            for block in region.blocks:
                yield from block.args
