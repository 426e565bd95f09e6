"""Index arithmetic in fewer bits, where it provably fits."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import IntegerType, ModuleOp, StringAttr
from xdsl.ir import BlockArgument, Operation
from xdsl.utils.exceptions import PassFailedException

from xdsl_tvm.analysis.all_ops import all_ops, ops_of
from xdsl_tvm.dialects import tir
from xdsl_tvm.dialects.quick_accessors import types_in
from xdsl_tvm.passes.infra import CompilerPass
from xdsl_tvm.passes.tir._narrowing import Narrower, is_wide, variables_of

_BITS = (8, 16, 32, 64)


@dataclass(frozen=True)
class NarrowDataType(CompilerPass):
    """Summary: Computes indices, and the variables they are made of, in integers of
        fewer bits, where constant bounds prove that all of it fits.

    TVM name: tir.NarrowDataType (v0.20)
    Input form: any; usually after the buffers have become flat
    Output form: the same
    Options: `target_bits`: int, required; the width aimed at, 8, 16, 32 or 64; with 64
        nothing changes
    Rewrites: before

            tir.for %i = %c0 to %c4 {
              tir.for %j = %c0 to %c8 {
                %0 = tir.mul %i, %c8 : i64
                %1 = tir.add %0, %j : i64
                %x = tir.load %A[%1] : f32
                tir.store %x, %B[%1] : f32
              }
            }

        after, with `target_bits=32`, and constants of type `i32`

            tir.for %i = %c0 to %c4 {
              tir.for %j = %c0 to %c8 {
                %0 = tir.mul %i, %c8 : i32
                %1 = tir.add %0, %j : i32
                %x = tir.load %A[%1] : f32
                tir.store %x, %B[%1] : f32
              }
            }

        Variables of loops, launches of threads and blocks change their type if their
        range fits, its end included, and everything that they are used in. Where an op
        names a variable, as `tir.thread_allreduce` and the node of a `tir.attr` do, it
        names the new one without a cast. Constants and
        casts change where indices, bounds of loops, extents, strides and offsets, and
        conditions are made of them, and where they meet a variable that has changed. A
        binding has the type of its value, which is narrow if it is an index. Elsewhere
        a value keeps its type, by a cast if need be. Bounds come from ranges and bindings
        alone: a condition proves nothing here. Expressions are made anew where uses ask
        for two types, and unused ones go. Time is linear in the size of the module.
    Leaves alone: parameters, and the shapes of their buffers; unsigned integers and those
        of the target's width or less; arguments of calls, except of bit operations,
        shifts and `clz`
    Errors: a width that is not 8, 16, 32 or 64
    Attributes: read: none; created: none; removed: none
    Differs from TVM: a loop whose extent does not fit keeps its type although its
        variable would fit; TVM wraps the extent around. A shift is narrow only if its
        amount is less than the target's bits, a `clz` only of what is not negative;
        operands that are narrow by themselves are widened where their sum does not fit.
        Arguments of other calls are cast back, since the callee expects their type.
        Bindings have bounds, so more fits. TVM decides by node, here each use has its
        own constants.
    """

    name = "tir-narrow-data-type"
    target_bits: int

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if self.target_bits not in _BITS:
            raise PassFailedException(
                f"{self.name}: target_bits is {self.target_bits}, which is no width of "
                "integers to narrow to; use 8, 16, 32 or 64"
            )
        target = IntegerType(self.target_bits)
        for func in ops_of(op, tir.FuncOp):
            if _has_wide(func, target):
                narrower = Narrower(func, target)
                narrower.narrow(_variables(func, narrower, target))


def _has_wide(func: tir.FuncOp, target: IntegerType) -> bool:
    ops = all_ops(func)
    if func.is_declaration or not any(is_wide(each, target) for each in types_in(ops)):
        return False
    return any(
        is_wide(result.type, target)
        for op in ops
        for result in (*op.results, *variables_of(op))
    )


def _variables(
    func: tir.FuncOp, narrower: Narrower, target: IntegerType
) -> set[BlockArgument]:
    """The variables that take the target type."""
    found: set[BlockArgument] = set()
    kept: set[StringAttr] = set()
    for op in all_ops(func):
        for variable in variables_of(op):
            if variable in narrower.uses.wide or not (
                narrower.ranges.loop_fits(op, variable)
            ):
                kept |= _environment(op)
            elif is_wide(variable.type, target):
                found.add(variable)
    # The openings of an axis by one variable have one type.
    return {v for v in found if not _environment(v.block.parent_op()) & kept}


def _environment(op: Operation | None) -> set[StringAttr]:
    """The name of the variable that a launch opens its axis by, if it has one."""
    env = op.env if isinstance(op, tir.LaunchThreadOp) else None
    return set() if env is None else {env}
