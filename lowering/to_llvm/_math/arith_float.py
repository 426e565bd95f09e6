"""Conversions between float types that neither LLVM's back ends nor libc provide.

bf16 and double rounding: a back end without bf16 instructions turns `fptrunc` to bf16
into a call of `__truncsfbf2`, and one from f64 to f16 into `__truncdfhf2`; a JIT finds
neither. Both are spelled out with integer operations here, rounding once, to nearest
even.
"""

from __future__ import annotations

from xdsl.dialects import llvm
from xdsl.dialects.builtin import (
    BFloat16Type,
    Float16Type,
    Float32Type,
    Float64Type,
    IntegerAttr,
    bf16,
    f32,
    f64,
    i1,
    i16,
    i32,
    i64,
)
from xdsl.ir import Attribute, Operation, SSAValue

from xdsl_tvm.dialects import tvm_llvm
from xdsl_tvm.dialects.dtypes import element_of
from xdsl_tvm.dialects.quick_operation import create
from xdsl_tvm.lowering.to_llvm._conversion import (
    NO_FASTMATH,
    Conversion,
    fail,
    vector_of,
)

_WIDTHS: dict[type[Attribute], int] = {
    BFloat16Type: 16,
    Float16Type: 16,
    Float32Type: 32,
    Float64Type: 64,
}


def is_bf16(type: Attribute) -> bool:
    """Whether `type` is bf16 or a vector of it."""
    return isinstance(element_of(type), BFloat16Type)


class FloatCasts:
    """Emits float casts through a Conversion."""

    def __init__(self, conversion: Conversion) -> None:
        self.at = conversion

    def extend(self, op: Operation, value: SSAValue, target: Attribute) -> SSAValue:
        """`value` in the wider float type `target`, exactly."""
        if value.type == target:
            return value
        if _width(op, value.type) >= _width(op, target):
            raise fail(op, f"cannot extend {value.type} to {target}")
        if is_bf16(value.type):
            single = vector_of(f32, target)
            bits = self._cast(llvm.BitcastOp, value, i16)
            wide = self._cast(llvm.ZExtOp, bits, i32)
            shifted = self._binary(llvm.ShlOp, wide, 16)
            value = self.at.emit(llvm.BitcastOp, [shifted], single)
            return self.extend(op, value, target)
        return self.at.emit(llvm.FPExtOp, [value], target)

    def truncate(self, op: Operation, value: SSAValue, target: Attribute) -> SSAValue:
        """`value` in the narrower float type `target`, rounded to nearest even."""
        if value.type == target:
            return value
        if _width(op, value.type) <= _width(op, target):
            raise fail(op, f"cannot truncate {value.type} to {target}")
        if isinstance(element_of(value.type), Float64Type) and _width(op, target) == 16:
            value = self._round_to_odd(value)
        if is_bf16(target):
            return self._to_bf16(value)
        return self.at.emit(llvm.FPTruncOp, [value], target)

    def _to_bf16(self, value: SSAValue) -> SSAValue:
        """f32 to bf16: adds half of the last kept bit, less one if that bit is zero."""
        bits = self._cast(llvm.BitcastOp, value, i32)
        high = self._binary(llvm.LShrOp, bits, 16)
        odd = self._binary(llvm.AndOp, high, 1)
        bias = self._binary(llvm.AddOp, odd, 0x7FFF)
        rounded = self._pair(llvm.AddOp, bits, bias)
        # Rounding may carry a NaN's payload into its exponent: a NaN stays quiet.
        nan_bits = self._binary(llvm.OrOp, bits, 0x400000)
        is_nan = self._compare("uno", value, value)
        chosen = self._select(is_nan, nan_bits, rounded)
        narrow = self._cast(llvm.TruncOp, self._binary(llvm.LShrOp, chosen, 16), i16)
        return self._cast(llvm.BitcastOp, narrow, bf16)

    def _round_to_odd(self, value: SSAValue) -> SSAValue:
        """f64 to f32 such that rounding the result again rounds `value` once.

        An inexact result gets an odd last bit (Boldo and Melquiond, "When double
        rounding is odd", 2004).
        """
        single = self._cast(llvm.FPTruncOp, value, f32)
        back = self._cast(llvm.FPExtOp, single, f64)
        bits = self._cast(llvm.BitcastOp, single, i32)
        size = self._magnitude(value)
        rounded_size = self._magnitude(back)
        # As integers, magnitudes compare as the floats do; a NaN has no neighbour.
        above = self._integers("ult", size, rounded_size)
        step = self._select(
            above, self._constant(-1, bits.type), self._constant(1, bits.type)
        )
        neighbour = self._pair(llvm.AddOp, bits, step)
        even = self._integers(
            "eq", self._binary(llvm.AndOp, bits, 1), self._constant(0, bits.type)
        )
        inexact = self._compare("one", value, back)
        moved = self._pair(llvm.AndOp, even, inexact)
        # Beyond the largest f32 every 16-bit float but bf16 has long overflowed, and
        # bf16 overflows as f32 does: infinity keeps its (even) bits.
        infinite = self._integers(
            "uge", rounded_size, self._constant(0x7FF0 << 48, size.type)
        )
        moved = self._pair(
            llvm.AndOp,
            moved,
            self._pair(llvm.XOrOp, infinite, self._constant(1, infinite.type)),
        )
        return self._cast(llvm.BitcastOp, self._select(moved, neighbour, bits), f32)

    # -- small builders

    def _magnitude(self, value: SSAValue) -> SSAValue:
        bits = self._cast(llvm.BitcastOp, value, i64)
        return self._binary(llvm.AndOp, bits, (1 << 63) - 1)

    def _constant(self, value: int, type: Attribute) -> SSAValue:
        return self.at.constant(value, type)

    def _cast(self, kind: type[Operation], value: SSAValue, to: Attribute) -> SSAValue:
        return self.at.insert(
            create(kind, operands=[value], result_types=[vector_of(to, value.type)])
        )

    def _pair(self, kind: type[Operation], lhs: SSAValue, rhs: SSAValue) -> SSAValue:
        return self.at.insert(create(kind, operands=[lhs, rhs], result_types=[lhs.type]))

    def _binary(self, kind: type[Operation], lhs: SSAValue, rhs: int) -> SSAValue:
        return self._pair(kind, lhs, self._constant(rhs, lhs.type))

    def _compare(self, predicate: str, lhs: SSAValue, rhs: SSAValue) -> SSAValue:
        return compare_floats(self.at, predicate, lhs, rhs)

    def _integers(self, predicate: str, lhs: SSAValue, rhs: SSAValue) -> SSAValue:
        return compare_integers(self.at, predicate, lhs, rhs)

    def _select(self, cond: SSAValue, true: SSAValue, false: SSAValue) -> SSAValue:
        return select(self.at, cond, true, false)


def _width(op: Operation, type: Attribute) -> int:
    width = _WIDTHS.get(element_of(type).__class__)
    if width is None:
        raise fail(
            op, f"{type} is no float type of LLVM; use bf16, f16, f32 or f64 instead"
        )
    return width


_FCMP = {name: number for number, name in enumerate(tvm_llvm.FCmpOp.FLAGS)}
_ICMP = {name: number for number, name in enumerate(tvm_llvm.ICmpOp.FLAGS)}
_PREDICATES = [IntegerAttr(number, i64) for number in range(16)]


def compare_floats(
    at: Conversion,
    predicate: str | int,
    lhs: SSAValue,
    rhs: SSAValue,
    flags: llvm.FastMathAttr = NO_FASTMATH,
) -> SSAValue:
    """An fcmp; `predicate` is LLVM's name or MLIR's number."""
    number = predicate if isinstance(predicate, int) else _FCMP[predicate]
    result = vector_of(i1, lhs.type)
    return at.emit(
        comparison_of_floats(result, flags),
        [lhs, rhs],
        result,
        predicate=_PREDICATES[number],
        fastmathFlags=flags,
    )


def comparison_of_floats(result: Attribute, flags: llvm.FastMathAttr) -> type[Operation]:
    """The class of an fcmp with such a result."""
    # xDSL's own operation accepts no vectors and prints no flags.
    return llvm.FCmpOp if result == i1 and not flags.data else tvm_llvm.FCmpOp


def compare_integers(
    at: Conversion, predicate: str | int, lhs: SSAValue, rhs: SSAValue
) -> SSAValue:
    """An icmp; `predicate` is LLVM's name or MLIR's number."""
    number = predicate if isinstance(predicate, int) else _ICMP[predicate]
    pointers = isinstance(lhs.type, llvm.LLVMPointerType)
    return at.emit(
        tvm_llvm.ICmpOp if pointers else llvm.ICmpOp,
        [lhs, rhs],
        vector_of(i1, lhs.type),
        predicate=_PREDICATES[number],
    )


def select(
    at: Conversion, condition: SSAValue, true: SSAValue, false: SSAValue
) -> SSAValue:
    """A select, per element if the condition is a vector."""
    kind = selection(condition.type)
    return at.emit(kind, [condition, true, false], true.type, fastmathFlags=NO_FASTMATH)


def selection(condition: Attribute) -> type[Operation]:
    """The class of a select by a condition of such a type."""
    return llvm.SelectOp if condition == i1 else tvm_llvm.SelectOp
