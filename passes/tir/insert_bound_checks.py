"""Assertions that indices are in bounds and that divisions have a result."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, i32, i64
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import InsertPoint

from xdsl_tvm.analysis.all_ops import all_ops
from xdsl_tvm.dialects import tir
from xdsl_tvm.dialects.dtypes import integer_range
from xdsl_tvm.passes.infra import CompilerPass

_DIVISIONS = (tir.DivOp, tir.ModOp, tir.FloorDivOp, tir.FloorModOp)


@dataclass(frozen=True)
class InsertBoundChecks(CompilerPass):
    """Summary: Asserts before each access that its indices are in the bounds of the
        buffer, and before each integer division that it has a result.

    TVM name: none (ours)
    Input form: any form without blocks; functions for a CPU
    Output form: the same, with assertions
    Options: none
    Rewrites: before

            %x = tir.load %A[%i] : f32
            %y = tir.floordiv %n, %m : i32

        after

            // 0 <= i and i < 16
            tir.assert %p, "@f: index {} of 'A' is out of bounds in dimension 0"
            %x = tir.load %A[%i] : f32
            // m != 0 and (n != -2147483648 or m != -1)
            tir.assert %q, "@f: {} divided by {} has no result"
            %y = tir.floordiv %n, %m : i32

        Messages hold the numbers, as calls of `tvm_assert_message`. An operation under a
        condition is asserted under it. Constants that are in bounds, and divisions by
        constants other than 0 and -1, have no assertion. Time is linear.
    Leaves alone: accesses with vectors of indices, vector divisions, and what builtins
        access through pointers; foreign operations
    Errors: none
    Attributes: read: none; created: none; removed: none
    Differs from TVM: InstrumentBoundCheckers asserts accesses of flat memory only, and no
        divisions.
    """

    name = "tir-insert-bound-checks"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func in op.body.block.ops:
            if isinstance(func, tir.FuncOp):
                name = func.sym_name.data
                for inner in all_ops(func):
                    _check(inner, name)


def _check(op: Operation, function: str) -> None:
    match op:
        case tir.LoadOp() | tir.StoreOp():
            _check_indices(op, function)
        case _ if isinstance(op, _DIVISIONS) and _is_scalar_integer(op.result):
            _check_division(op, function)
        case _:
            pass


def _is_scalar_integer(value: SSAValue) -> bool:
    return tir.is_scalar(value.type) and tir.is_integer(value.type)


def _check_indices(op: tir.LoadOp | tir.StoreOp, function: str) -> None:
    definition = tir.buffer_definition(op.buffer)
    name = definition.buffer_name
    called = op.buffer.name_hint if name is None else name.data
    for axis, (index, extent) in enumerate(
        zip(op.indices, definition.shape, strict=True)
    ):
        number = tir.constant_value(index)
        if not _is_scalar_integer(index) or (
            isinstance(extent, int) and number is not None and 0 <= number < extent
        ):
            continue
        checks = _Checks(op)
        wide = checks.wide(index)
        low = checks.compare(tir.CmpPredicate.LE, checks.number(0), wide)
        size = checks.number(extent) if isinstance(extent, int) else checks.wide(extent)
        high = checks.compare(tir.CmpPredicate.LT, wide, size)
        holds = checks.builder.insert(tir.AndOp(low, high)).results[0]
        text = (
            f"@{function}: index {{}} of '{called or 'a buffer'}' is out of bounds in "
            f"dimension {axis}"
        )
        checks.require(holds, text, index)


def _check_division(op: tir.BinaryOp, function: str) -> None:
    divisor = op.rhs
    number = tir.constant_value(divisor)
    if number is not None and number not in (0, -1):
        return
    checks = _Checks(op)
    dtype = divisor.type
    zero = checks.builder.insert(tir.ConstOp.of(0, dtype)).result
    holds = checks.compare(tir.CmpPredicate.NE, divisor, zero)
    if not tir.is_uint(dtype):
        least, _ = integer_range(dtype)
        lowest = checks.builder.insert(tir.ConstOp.of(least, dtype)).result
        minus_one = checks.builder.insert(tir.ConstOp.of(-1, dtype)).result
        fits = checks.builder.insert(
            tir.OrOp(
                checks.compare(tir.CmpPredicate.NE, op.lhs, lowest),
                checks.compare(tir.CmpPredicate.NE, divisor, minus_one),
            )
        ).results[0]
        holds = checks.builder.insert(tir.AndOp(holds, fits)).results[0]
    text = f"@{function}: {{}} divided by {{}} has no result"
    checks.require(holds, text, op.lhs, divisor)


class _Checks:
    """Builds assertions before an operation."""

    def __init__(self, op: Operation) -> None:
        self.builder = Builder(InsertPoint.before(op))
        self._location = op.location

    def number(self, number: int) -> SSAValue:
        return self.builder.insert(tir.ConstOp.of(number, i64)).result

    def wide(self, value: SSAValue) -> SSAValue:
        """A value in 64 bits."""
        if value.type == i64:
            return value
        return self.builder.insert(tir.CastOp(value, i64)).results[0]

    def compare(
        self, predicate: tir.CmpPredicate, lhs: SSAValue, rhs: SSAValue
    ) -> SSAValue:
        return self.builder.insert(tir.CmpOp(predicate, lhs, rhs)).results[0]

    def require(self, holds: SSAValue, text: str, *numbers: SSAValue) -> None:
        """Assert a condition with a message that holds numbers."""
        strings = [
            self.builder.insert(tir.StringOp(each)).results[0]
            for each in (tir.ASSERT_MESSAGE, text)
        ]
        call = tir.CallOp("call_pure_extern", [*strings, *numbers], i32)
        message = self.builder.insert(call).results[0]
        assertion = tir.AssertOp(holds, message)
        assertion.location = self._location
        self.builder.insert(assertion)
