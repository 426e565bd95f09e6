"""What the body of a parallel loop needs from around it, and how much work it is."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from xdsl.dialects import arith, func, llvm, math, memref, scf, vector
from xdsl.dialects.builtin import (
    DictionaryAttr,
    IndexType,
    IntegerAttr,
    MemRefType,
    UnitAttr,
    VectorType,
    i64,
)
from xdsl.ir import Attribute, Block, BlockArgument, Operation, Region, SSAValue

from xdsl_tvm.analysis.all_ops import all_ops
from xdsl_tvm.dialects.by_class import of_classes
from xdsl_tvm.dialects.quick_accessors import first_result, stored_operands, types_of

NOALIAS = "llvm.noalias"

_VIEWS: tuple[type[Operation], ...] = (
    memref.AssumeAlignmentOp,
    memref.CastOp,
    memref.MemorySpaceCastOp,
    memref.ReinterpretCastOp,
    memref.SubviewOp,
    memref.ViewOp,
)

_REPEATED: tuple[type[Operation], ...] = (
    arith.ConstantOp,
    memref.GetGlobalOp,
    *_VIEWS,
)
"""Operations that are done again in the body: they cost nothing there, and what they say
of their results is not lost."""

_OBJECTS: tuple[type[Operation], ...] = (memref.AllocOp, memref.AllocaOp)


# ------------------------------------------------------------------------- captures


@dataclass
class Captures:
    """What a region uses from outside: values, and operations to do again, in order."""

    values: list[SSAValue] = field(default_factory=list[SSAValue])
    repeated: list[Operation] = field(default_factory=list[Operation])

    @staticmethod
    def of(region: Region, others: Iterable[SSAValue]) -> Captures:
        """The captures of `region`, and `others` among them."""
        found = Captures()
        seen: set[SSAValue] = set()
        inside = set(_defined_in(region))
        for value in (*others, *_used_in(region)):
            if value not in inside:
                found.add(value, seen)
        return found

    def add(self, value: SSAValue, seen: set[SSAValue]) -> None:
        """Adds a value, and first what the operation that makes it needs."""
        pending = [value]
        while pending:
            current = pending[-1]
            owner = current.owner
            repeat = _is_repeated(owner)
            missing = (
                [each for each in stored_operands(owner) if each not in seen]
                if repeat and current not in seen
                else []
            )
            if missing:
                pending.extend(missing)
                continue
            pending.pop()
            if current in seen:
                continue
            seen.add(current)
            if repeat:
                self.repeated.append(owner)
            else:
                self.values.append(current)

    def distinct(self, function: func.FuncOp) -> bool:
        """Whether no two of the memrefs overlap."""
        return all(
            _is_object(value, function)
            for value in self.values
            if isinstance(value.type, MemRefType)
        )


_is_repeated = of_classes(*_REPEATED)


def _defined_in(region: Region) -> Iterable[SSAValue]:
    for block in region.blocks:
        yield from block.args
    for op in all_ops(region):
        yield from op.results
        for inner in op.regions:
            for block in inner.blocks:
                yield from block.args


def _used_in(region: Region) -> Iterable[SSAValue]:
    for op in all_ops(region):
        yield from stored_operands(op)


def _is_object(value: SSAValue, function: func.FuncOp) -> bool:
    """Whether a memref is all that names its memory."""
    if not isinstance(value, BlockArgument):
        return isinstance(value.owner, _OBJECTS)
    attributes = function.arg_attrs
    if value.owner is not function.body.first_block or attributes is None:
        return False
    return NOALIAS in attributes.data[value.index].data


# ----------------------------------------------------------------------------- work

_FREE: tuple[type[Operation], ...] = (
    arith.ConstantOp,
    arith.ExtSIOp,
    arith.ExtUIOp,
    arith.IndexCastOp,
    arith.TruncIOp,
    memref.AllocaOp,
    memref.GetGlobalOp,
    scf.ReduceOp,
    scf.YieldOp,
    vector.BroadcastOp,
    vector.ExtractOp,
    vector.InsertOp,
    *_VIEWS,
)
"""Operations that cost next to nothing, or nothing once they are vectors."""

_SLOW: dict[type[Operation], int] = {
    arith.DivfOp: 4,
    arith.DivSIOp: 8,
    arith.DivUIOp: 8,
    arith.RemSIOp: 8,
    arith.RemUIOp: 8,
    math.SqrtOp: 4,
    memref.AllocOp: 500,
    memref.DeallocOp: 500,
}
"""Operations that take as long as that many others."""


LANES = 8
"""How many operations of a loop that LLVM makes vectors of take the time of one."""

_VECTOR_ACCESS = 2 * LANES
"""The work of loading or storing a vector, and of computing where it is."""


def work_of(block: Block) -> int | None:
    """About how much work one run of a loop body is; None where nobody can tell.

    An operation counts `LANES`, one that loads or stores a vector `_VECTOR_ACCESS`, and a
    scalar one in an innermost loop counts 1.
    Arithmetic on integers counts as well as that on floats, though much of it is that of
    indices, which goes away.
    """
    inner = not any(op.regions or _is_call(op) for op in block.ops)
    total = 0
    for op in block.ops:
        work = _work_of_op(op, inner)
        if work is None:
            return None
        total += work
    return total


def _work_of_op(op: Operation, inner: bool) -> int | None:
    if _is_free(op) or _is_index_arithmetic(op):
        return 0
    if not op.regions:
        if _is_call(op):
            return None
        if _is_vector_access(op):
            return _VECTOR_ACCESS
        cost = _SLOW.get(type(op), 1)
        return cost if inner and not _has_vector(op) else cost * LANES
    if isinstance(op, scf.IfOp):
        parts = [work_of(r.block) for r in op.regions if r.first_block is not None]
        known = [part for part in parts if part is not None]
        return LANES + max(known, default=0) if len(known) == len(parts) else None
    if isinstance(op, scf.ForOp):
        trips = trip_count(op.lb, op.ub, op.step)
        work = None if trips is None else work_of(op.body.block)
        return None if trips is None or work is None else trips * work
    return None


_is_free = of_classes(*_FREE)
_is_call = of_classes(func.CallOp, llvm.CallOp)
_is_vector_access = of_classes(vector.LoadOp, vector.StoreOp)
_is_vector = of_classes(VectorType)
_is_index = of_classes(IndexType)
_is_index_cast = of_classes(arith.IndexCastOp)
_is_constant = of_classes(arith.ConstantOp)


def _has_vector(op: Operation) -> bool:
    return any(map(_is_vector, types_of(op)))


def _is_index_arithmetic(op: Operation) -> bool:
    return bool(op.results) and _is_index(first_result(op).type)


def trip_count(low: SSAValue, high: SSAValue, step: SSAValue) -> int | None:
    """How often a loop runs, where that is a constant."""
    bounds = [constant(value) for value in (low, high, step)]
    known = [value for value in bounds if value is not None]
    if len(known) < 3 or known[2] < 1:
        return None
    return max(0, -(-(known[1] - known[0]) // known[2]))


def constant(value: SSAValue) -> int | None:
    """The integer that `value` always is; None where it is not a constant."""
    owner = value.owner
    if _is_index_cast(owner):
        owner = stored_operands(owner)[0].owner
    if not _is_constant(owner):
        return None
    attribute = owner.properties["value"]
    return attribute.value.data if isinstance(attribute, IntegerAttr) else None


def argument_attributes(
    values: Sequence[SSAValue], distinct: bool
) -> list[DictionaryAttr]:
    """What is known of the arguments that stand for captured values."""
    return [_known_of(value, distinct) for value in values]


def _known_of(value: SSAValue, distinct: bool) -> DictionaryAttr:
    known: dict[str, Attribute] = {}
    if isinstance(value.type, MemRefType):
        if distinct:
            known[NOALIAS] = UnitAttr()
        if isinstance(value.owner, memref.AllocOp):
            known["llvm.align"] = IntegerAttr(64, i64)
    return DictionaryAttr(known)
