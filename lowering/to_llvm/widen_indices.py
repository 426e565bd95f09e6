"""Sums and loop variables that are places in memory, in the width of addresses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias, TypeGuard

from xdsl.context import Context
from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import IndexType, IntegerAttr, ModuleOp, i32
from xdsl.ir import Block, Operation, SSAValue

from xdsl_tvm.analysis.all_ops import all_ops
from xdsl_tvm.dialects.by_class import of_classes
from xdsl_tvm.dialects.located_builder import LocatedBuilder
from xdsl_tvm.dialects.quick_accessors import first_result, stored_operands
from xdsl_tvm.dialects.quick_operation import erase
from xdsl_tvm.dialects.tir.constants import integer_attr
from xdsl_tvm.lowering.integer_constants import integer_constant
from xdsl_tvm.passes.infra import CompilerPass

_KINDS = (arith.AddiOp, arith.SubiOp, arith.MuliOp)
_Sum: TypeAlias = arith.AddiOp | arith.SubiOp | arith.MuliOp
_INDEX = IndexType()


@dataclass(frozen=True)
class WidenIndices(CompilerPass):
    """Summary: Computes indices in the width of addresses, not of 32 bits.

    TVM name: none (ours)
    Input form: any verified IR; arithmetic of arith
    Output form: the same; what an `arith.index_cast` widens is no sum or product
    Options: none
    Rewrites: arith.addi, subi and muli of i32 with `overflow<nsw>` whose result an
        arith.index_cast turns into an index are done on indices, and so are those that
        their operands are computed by
            %a = arith.muli %i, %c8 overflow<nsw> : i32
            %b = arith.addi %a, %j overflow<nsw> : i32
            %p = arith.index_cast %b : i32 to index
          →
            %i_wide = arith.index_cast %i : i32 to index
            %j_wide = arith.index_cast %j : i32 to index
            %a_wide = arith.muli %i_wide, %c8_wide overflow<nsw> : index
            %p = arith.addi %a_wide, %j_wide overflow<nsw> : index
        Each is done once, next to the operation that it stands for, which goes if nothing
        else uses it. LLVM adds the terms in another order and forgets that they do not
        overflow; from there on each of the addresses that unrolled loops differ in by a
        constant is widened by itself, and takes a register, where one and the constant
        would do.
        The variable of an scf.for of i32 with a constant step is an index where an
        arith.index_cast makes an index of it
            scf.for %i = %lo to %hi step %c1 : i32 {
              %p = arith.index_cast %i : i32 to index
          →
            scf.for %p = %lo_wide to %hi_wide step %c1_wide {
        and what else uses it has it as an i32 by one arith.index_cast.
    Leaves alone: foreign operations; arithmetic that may overflow; vectors; other widths
    Errors: none
    Attributes: read: none; created: none; removed: none
    Differs from TVM: TVM leaves this to LLVM
    """

    name = "tvm-widen-indices"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        wide: dict[SSAValue, SSAValue] = {}
        casts: list[arith.IndexCastOp] = []
        loops: list[scf.ForOp] = []
        for each in all_ops(op):
            if _is_cast(each):
                casts.append(each)
            elif _is_loop(each):
                loops.append(each)
        for cast in casts:
            (narrow,) = stored_operands(cast)
            owner = narrow.owner
            if _is_exact(owner):
                _widen(narrow, wide)
                first_result(cast).replace_all_uses_with(wide[narrow])
                erase(cast)
                _erase_unused(owner)
        for loop in loops:
            _widen_loop(loop, wide)


_is_cast = of_classes(arith.IndexCastOp)
_is_loop = of_classes(scf.ForOp)


def _widen_loop(loop: scf.ForOp, wide: dict[SSAValue, SSAValue]) -> None:
    """Makes the variable of a loop an index if one is made of it."""
    narrow = loop.body.block.args[0]
    low, high, step = stored_operands(loop)[:3]
    if narrow.type != i32 or (integer_constant(step) or 0) <= 0:
        return
    users = [use.operation for use in narrow.uses]
    casts = [
        each for each in users if _is_cast(each) and first_result(each).type == _INDEX
    ]
    if not casts:
        return
    for position, bound in enumerate((low, high, step)):
        _widen(bound, wide)
        loop.operands[position] = wide[bound]
    body = loop.body.block
    variable = body.insert_arg(_INDEX, 0, narrow.location)
    variable.name_hint = narrow.name_hint
    for cast in casts:
        first_result(cast).replace_all_uses_with(variable)
        erase(cast)
    if narrow.first_use is not None:
        again = _after(variable).emit(arith.IndexCastOp, [variable], i32)
        narrow.replace_all_uses_with(again)
    body.erase_arg(narrow)


_is_sum = of_classes(*_KINDS)


def _is_exact(op: Operation | Block) -> TypeGuard[_Sum]:
    """Whether this is arithmetic of i32 whose result is that of the integers."""
    if not _is_sum(op) or first_result(op).type != i32:
        return False
    return arith.IntegerOverflowFlag.NSW in op.overflow_flags.data


def _widen(value: SSAValue, wide: dict[SSAValue, SSAValue]) -> None:
    """Adds `value` and what it is computed by to `wide`."""
    pending = [value]
    while pending:
        narrow = pending[-1]
        owner = narrow.owner
        if narrow not in wide and _is_exact(owner):
            narrow_operands = stored_operands(owner)
            missing = [each for each in narrow_operands if each not in wide]
            if missing:
                pending += missing
                continue
            operands = [wide[each] for each in narrow_operands]
            wide[narrow] = _after(narrow).emit(
                type(owner), operands, _INDEX, overflowFlags=owner.overflow_flags
            )
        elif narrow not in wide:
            wide[narrow] = _cast(narrow)
        pending.pop()


def _cast(narrow: SSAValue) -> SSAValue:
    """A value that is no sum or product, as an index."""
    owner, builder = narrow.owner, _after(narrow)
    if isinstance(owner, arith.ConstantOp) and isinstance(owner.value, IntegerAttr):
        number = integer_attr(owner.value.value.data, _INDEX)
        return builder.emit(arith.ConstantOp, [], _INDEX, value=number)
    return builder.emit(arith.IndexCastOp, [narrow], _INDEX)


def _after(value: SSAValue) -> LocatedBuilder:
    """Inserts right after the definition of a value."""
    owner = value.owner
    if isinstance(owner, Block):
        first = owner.first_op
        return LocatedBuilder(owner if first is None else first)
    following = owner.next_op
    block = owner.parent_block()
    assert block is not None, "a value that is used is defined in a block"
    return LocatedBuilder(block if following is None else following, owner)


def _erase_unused(op: _Sum) -> None:
    """Erases a sum or a product, and those that only it uses."""
    pending: list[Operation | Block] = [op]
    while pending:
        unused = pending.pop()
        if (
            _is_exact(unused)
            and unused.parent is not None
            and first_result(unused).first_use is None
        ):
            pending += [each.owner for each in stored_operands(unused)]
            erase(unused)
