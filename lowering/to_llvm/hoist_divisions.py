"""Integer divisions of values that do not change in a loop, before the loop."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

from xdsl.context import Context
from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import IntegerAttr, IntegerType, ModuleOp, i1, i64
from xdsl.ir import Attribute, Operation, SSAValue

from xdsl_tvm.analysis.all_ops import all_ops
from xdsl_tvm.dialects import tvm_llvm
from xdsl_tvm.dialects.by_class import of_classes
from xdsl_tvm.dialects.located_builder import LocatedBuilder
from xdsl_tvm.lowering.to_llvm._conversion import splat
from xdsl_tvm.passes.infra import CompilerPass

_SIGNED = (arith.DivSIOp, arith.RemSIOp)
_DIVISIONS = (*_SIGNED, arith.DivUIOp, arith.RemUIOp)
_is_division = of_classes(*_DIVISIONS)
_LOOPS = (scf.ForOp, scf.WhileOp, scf.ParallelOp)
_CHEAP = (
    arith.AddiOp,
    arith.AndIOp,
    arith.CmpiOp,
    arith.ConstantOp,
    arith.ExtSIOp,
    arith.ExtUIOp,
    arith.IndexCastOp,
    arith.MaxSIOp,
    arith.MinSIOp,
    arith.MuliOp,
    arith.OrIOp,
    arith.SelectOp,
    arith.SubiOp,
    arith.TruncIOp,
    arith.XOrIOp,
)
"""What may be computed at any time, and takes next to none."""

_DEEPEST = 8
"""The longest chain of operations that is moved for an operand."""

_EQ = IntegerAttr(0, i64)


@dataclass(frozen=True)
class HoistDivisions(CompilerPass):
    """Summary: Moves integer divisions with loop-invariant operands before the loop.

    TVM name: none (ours)
    Input form: any verified IR; loops of scf
    Output form: the same, with fewer divisions in loops
    Options: none
    Rewrites: arith.divsi, divui, remsi and remui of integers, conditional ones too, are
        done before the outermost scf.for, scf.while or scf.parallel in which the operands
        do not change, by a divisor that cannot fail
            scf.for %i = … {
              scf.if %c {
                %r = arith.remui %x, %n : i32
          →
            %d = tvm_llvm.freeze %n : i32
            %one_for_zero = arith.select (%d == 0), 1, %d : i32
            %r = arith.remui %x, %one_for_zero : i32
            scf.for %i = … {
              scf.if %c {
        Sums, products, casts and selections that the operands are computed by are moved
        along. `tvm-keep-divisions-scalar` keeps LLVM from vectorizing loops with a
        division, and LLVM does not move one that is conditional.
    Leaves alone: foreign operations; divisions of vectors and of index, and those by
        constants; what is in a region of an operation other than scf.if and the loops
    Errors: none
    Attributes: read: none; created: none; removed: none
    Differs from TVM: TVM leaves this to LLVM, which moves unconditional divisions only
    """

    name = "tvm-hoist-divisions"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for inner in all_ops(op):
            if _is_division(inner) and _may_be_moved(inner):
                loops = _loops_around(inner)
                count = min(
                    _invariant(inner.lhs, loops, _DEEPEST),
                    _invariant(inner.rhs, loops, _DEEPEST),
                )
                if count:
                    _hoist(inner, loops[count - 1])


def _may_be_moved(op: Operation) -> bool:
    return isinstance(op.operands[0].type, IntegerType) and not isinstance(
        op.operands[1].owner, arith.ConstantOp
    )


def _loops_around(op: Operation) -> list[Operation]:
    """The loops around `op`, from the innermost to the outermost."""
    loops: list[Operation] = []
    parent = op.parent_op()
    while isinstance(parent, (*_LOOPS, scf.IfOp)):
        if not isinstance(parent, scf.IfOp):
            loops.append(parent)
        parent = parent.parent_op()
    return loops


def _invariant(value: SSAValue, loops: list[Operation], depth: int) -> int:
    """In how many of `loops` the value does not change, or need not be computed."""
    count = _defined_outside(value, loops)
    owner = value.owner
    if count == len(loops) or depth == 0 or not isinstance(owner, _CHEAP):
        return count
    inner = (_invariant(operand, loops, depth - 1) for operand in owner.operands)
    return max(count, min(inner, default=len(loops)))


def _defined_outside(value: SSAValue, loops: list[Operation]) -> int:
    owner = value.owner
    around: set[Operation] = set()
    parent = owner.parent_op()
    while parent is not None:
        around.add(parent)
        parent = parent.parent_op()
    for count, loop in enumerate(loops):
        if loop in around:
            return count
    return len(loops)


def _hoist(op: Operation, loop: Operation) -> None:
    """Moves a division before `loop`, where it may be done without need."""
    for operand in op.operands:
        _move(operand, loop)
    before = _Before(loop, op)
    dividend, divisor = op.operands
    divisor = before.frozen(divisor)
    fails = before.equal(divisor, 0)
    if isinstance(op, _SIGNED):
        dividend = before.frozen(dividend)
        width = cast("IntegerType", divisor.type).bitwidth
        least = before.equal(dividend, -(1 << (width - 1)))
        overflows = before.emit(arith.AndIOp, [before.equal(divisor, -1), least], i1)
        fails = before.emit(arith.OrIOp, [fails, overflows], i1)
    one = before.constant(1, divisor.type)
    safe = before.emit(arith.SelectOp, [fails, one, divisor], divisor.type)
    op.detach()
    op.operands = [dividend, safe]
    before.insert_op(op)


class _Before(LocatedBuilder):
    """Inserts scalar operations before a loop, with the location of another one."""

    def constant(self, value: int, type_: Attribute) -> SSAValue:
        return self.emit(arith.ConstantOp, [], type_, value=splat(value, type_))

    def equal(self, value: SSAValue, number: int) -> SSAValue:
        other = self.constant(number, value.type)
        return self.emit(arith.CmpiOp, [value, other], i1, predicate=_EQ)

    def frozen(self, value: SSAValue) -> SSAValue:
        return self.emit(tvm_llvm.FreezeOp, [value], value.type)


def _move(value: SSAValue, loop: Operation) -> None:
    """Moves what computes `value` before `loop`, unless it is computed there already."""
    owner = value.owner
    if not isinstance(owner, Operation) or _defined_outside(value, [loop]):
        return
    for operand in owner.operands:
        _move(operand, loop)
    block = loop.parent_block()
    assert block is not None
    owner.detach()
    block.insert_op_before(owner, loop)
