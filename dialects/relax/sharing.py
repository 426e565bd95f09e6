"""Which operations write memory of their operands, and which values share memory."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from xdsl.ir import Operation, OpResult, SSAValue, Use
from xdsl.traits import IsTerminator, MemoryEffectKind, get_effects

from xdsl_tvm.dialects.by_class import of_classes
from xdsl_tvm.dialects.relax.calls import (
    CallOp,
    CallTIROp,
    CallTIRWithGradOp,
)
from xdsl_tvm.dialects.relax.functions import DataflowOp, FuncOp, IfOp
from xdsl_tvm.dialects.relax.lambdas import CallIndirectOp
from xdsl_tvm.dialects.relax.memory import EndsLife
from xdsl_tvm.dialects.relax.operators import is_operator
from xdsl_tvm.dialects.relax.packed import CallDPSPackedOp
from xdsl_tvm.dialects.relax.runtime import AnyInvokeClosureOp, AssertOp, PrintOp
from xdsl_tvm.dialects.relax.values import MatchCastOp

FUNCTION_CALLS = (CallOp, CallIndirectOp, AnyInvokeClosureOp)
"""Calls of Relax functions, which may write memory without an effect that says so."""

_VIEWS = frozenset(
    {"relax.reshape", "relax.memory.view", "relax.memory.ensure_zero_offset"}
)
"""Operators whose result may be memory of their operand."""
_NO_WRITES = (FuncOp, DataflowOp, IfOp, MatchCastOp, PrintOp, AssertOp)
"""Operations whose effects are others than to write memory of an operand."""
_writes_nothing = of_classes(*_NO_WRITES)
_makes_a_tensor = of_classes(CallTIROp, CallTIRWithGradOp, CallDPSPackedOp)
_MOST_USES = 256
"""Uses that are looked at for one value; what has more counts as written, so that
folding takes linear time."""


def memory_sources(value: SSAValue) -> Sequence[SSAValue]:
    """Values whose memory `value` may be, hold or view."""
    if not isinstance(value, OpResult):
        return ()
    op = value.op
    if _makes_a_tensor(op) or (is_operator(op) and op.name not in _VIEWS):
        return ()
    match op:
        case DataflowOp() as dataflow:
            return (dataflow.output_op.values[value.index],)
        case IfOp() as branches:
            return [
                operand
                for region in branches.regions
                if (last := region.block.last_op) is not None
                for operand in last.operands
            ]
        case _:
            return op.operands


def directly_written_operands(op: Operation) -> Sequence[SSAValue]:
    """The operands whose memory an operation may write, by its effects.

    Those that a function writes which the operation calls are not among them.
    """
    if _writes_nothing(op):
        return ()
    effects = get_effects(op)
    if effects is None:
        return op.operands
    values = [e.value for e in effects if e.kind == MemoryEffectKind.WRITE]
    known = [value for value in values if isinstance(value, SSAValue)]
    return known if len(known) == len(values) else op.operands


def may_be_written(*values: SSAValue) -> bool:
    """Whether the function may write or free memory of one of the values.

    It follows the values that share memory, in both directions. A call of a Relax
    function counts as a write, and so does a value with many uses; what callers of the
    function do is left out.
    """
    pending = list(values)
    seen = set(pending)
    uses = 0
    while pending:
        value = pending.pop()
        sharing = list(memory_sources(value))
        for use in value.uses:
            uses += 1
            if uses > _MOST_USES or _writes(use.operation, value):
                return True
            sharing += _shared_by(use)
        pending += [other for other in sharing if other not in seen]
        seen.update(sharing)
    return False


def _writes(op: Operation, value: SSAValue) -> bool:
    return (
        isinstance(op, FUNCTION_CALLS)
        or op.has_trait(EndsLife)
        or any(written is value for written in directly_written_operands(op))
    )


def _shared_by(use: Use) -> Iterable[SSAValue]:
    """Results that may be, hold or view the memory of a used value."""
    user = use.operation
    if not user.has_trait(IsTerminator):
        # Results of one op have the same sources, but for ops with regions, whose
        # operands are conditions.
        return user.results if not user.regions and _has_sources(user) else ()
    parent = user.parent_op()
    if isinstance(parent, DataflowOp):
        return (parent.results[use.index],)
    return parent.results if isinstance(parent, IfOp) else ()


def _has_sources(op: Operation) -> bool:
    return bool(op.results) and bool(memory_sources(op.results[0]))
