"""Float arithmetic written as Python expressions, emitted as arith and math operations.

A `Value` wraps an SSA value of one float type; its operators insert the operation and
wrap the result, so that the algorithms in `math_functions.py` read as formulas. Numbers
mix with values and become constants. No operation carries a fast-math flag: the formulas
below rely on exact rounding, and `reassoc` would undo them.

On vectors, comparisons and selects are operations of the llvm dialects, since xDSL's
arith has them for scalars only; their types are the same either way.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects import arith, llvm, math
from xdsl.dialects.builtin import (
    IntegerAttr,
    IntegerType,
    f32,
    f64,
    i1,
    i32,
    i64,
)
from xdsl.ir import Attribute, Operation, SSAValue

from xdsl_tvm.dialects import tvm_llvm
from xdsl_tvm.dialects.dtypes import element_of
from xdsl_tvm.dialects.located_builder import LocatedBuilder
from xdsl_tvm.lowering.to_llvm._conversion import (
    NO_FASTMATH,
    splat,
    vector_of,
)

_ARITH_NO_FLAGS = arith.FastMathFlagsAttr("none")
_NO_OVERFLOW = arith.IntegerOverflowAttr("none")
_PREDICATE = {
    name: IntegerAttr(number, i64)
    for number, name in enumerate(arith.CMPF_COMPARISON_OPERATIONS)
}
_ICMP_EQ = IntegerAttr(0, i64)
_FLOAT: dict[str, Attribute] = {"fastmath": _ARITH_NO_FLAGS}


@dataclass(frozen=True)
class Format:
    """A binary float format: what the algorithms need to know of it."""

    type: Attribute
    integer: IntegerType
    mantissa: int
    bias: int

    @property
    def magic(self) -> float:
        """1.5 * 2^mantissa: adding it rounds to an integer kept in the low bits."""
        return 1.5 * 2.0**self.mantissa

    @property
    def magic_bits(self) -> int:
        """The bits of `magic`."""
        return ((self.bias + self.mantissa) << self.mantissa) | (1 << (self.mantissa - 1))


SINGLE = Format(f32, i32, 23, 127)
DOUBLE = Format(f64, i64, 52, 1023)


class Emitter(LocatedBuilder):
    """Inserts operations before `anchor`, with results of its shape."""

    def __init__(self, anchor: Operation, shape: Attribute) -> None:
        super().__init__(anchor)
        self.shape = shape
        self._constants: dict[tuple[str, Attribute], SSAValue] = {}

    def shaped(
        self,
        kind: type[Operation],
        operands: Sequence[SSAValue],
        result: Attribute,
        properties: dict[str, Attribute] | None = None,
    ) -> SSAValue:
        """Inserts an operation with one result of the scalar type `result`, shaped."""
        return self.emit(
            kind, operands, vector_of(result, self.shape), **(properties or {})
        )

    def constant(self, value: float, type: Attribute) -> SSAValue:
        """A constant of the scalar type `type`, shaped; one per value."""
        key = (value.hex() if isinstance(value, float) else str(value), type)
        found = self._constants.get(key)
        if found is None:
            shaped = vector_of(type, self.shape)
            attribute = splat(value, shaped)
            found = self.shaped(arith.ConstantOp, [], type, {"value": attribute})
            self._constants[key] = found
        return found

    @property
    def scalar(self) -> bool:
        """Whether values are scalars, not vectors."""
        return self.shape is element_of(self.shape)


@dataclass(eq=False)
class _Typed:
    """A value, how it is computed with, and the format that it is of or as wide as."""

    at: Emitter
    format: Format
    ssa: SSAValue


class Value(_Typed):
    """A float value of a format."""

    def _new(self, ssa: SSAValue) -> Value:
        return Value(self.at, self.format, ssa)

    def lift(self, other: Value | float) -> Value:
        """`other` as a value of this format."""
        if isinstance(other, Value):
            return other
        return self._new(self.at.constant(float(other), self.format.type))

    def _binary(self, kind: type[Operation], lhs: Value, rhs: Value) -> Value:
        return self._new(
            self.at.shaped(kind, [lhs.ssa, rhs.ssa], self.format.type, _FLOAT)
        )

    def _unary(self, kind: type[Operation]) -> Value:
        return self._new(self.at.shaped(kind, [self.ssa], self.format.type, _FLOAT))

    def __add__(self, other: Value | float) -> Value:
        return self._binary(arith.AddfOp, self, self.lift(other))

    def __sub__(self, other: Value | float) -> Value:
        return self._binary(arith.SubfOp, self, self.lift(other))

    def __mul__(self, other: Value | float) -> Value:
        return self._binary(arith.MulfOp, self, self.lift(other))

    def __truediv__(self, other: Value | float) -> Value:
        return self._binary(arith.DivfOp, self, self.lift(other))

    def __radd__(self, other: float) -> Value:
        return self.lift(other) + self

    def __rsub__(self, other: float) -> Value:
        return self.lift(other) - self

    def __rmul__(self, other: float) -> Value:
        return self.lift(other) * self

    def __rtruediv__(self, other: float) -> Value:
        return self.lift(other) / self

    def __neg__(self) -> Value:
        return self._unary(arith.NegfOp)

    def __abs__(self) -> Value:
        return self._unary(math.AbsFOp)

    def fma(self, factor: Value | float, addend: Value | float) -> Value:
        """self * factor + addend, rounded once."""
        operands = [self.ssa, self.lift(factor).ssa, self.lift(addend).ssa]
        return self._new(self.at.shaped(math.FmaOp, operands, self.format.type, _FLOAT))

    def copysign(self, sign: Value) -> Value:
        """The magnitude of self with the sign of `sign`."""
        return self._binary(math.CopySignOp, self, sign)

    def floor(self) -> Value:
        return self._unary(math.FloorOp)

    def trunc(self) -> Value:
        return self._unary(math.TruncOp)

    def roundeven(self) -> Value:
        return self._unary(math.RoundEvenOp)

    def sqrt(self) -> Value:
        return self._unary(math.SqrtOp)

    def compare(self, predicate: str, other: Value | float) -> Condition:
        """An arith predicate such as `olt`."""
        operands = [self.ssa, self.lift(other).ssa]
        properties: dict[str, Attribute] = {"predicate": _PREDICATE[predicate]}
        if self.at.scalar:
            properties["fastmath"] = _ARITH_NO_FLAGS
            return Condition(
                self.at, self.at.shaped(arith.CmpfOp, operands, i1, properties)
            )
        properties["fastmathFlags"] = NO_FASTMATH
        return Condition(
            self.at, self.at.shaped(tvm_llvm.FCmpOp, operands, i1, properties)
        )

    def bits(self) -> Bits:
        """The bits as an integer of the same width."""
        integer = self.format.integer
        return Bits(
            self.at, self.format, self.at.shaped(arith.BitcastOp, [self.ssa], integer)
        )

    def polynomial(self, coefficients: Sequence[float]) -> Value:
        """Horner's rule with fma; `coefficients` from the constant upwards."""
        result = self.lift(coefficients[-1])
        for coefficient in reversed(coefficients[:-1]):
            result = result.fma(self, coefficient)
        return result

    def to(self, format: Format) -> Value:
        """This value in another format."""
        if format is self.format:
            return self
        wider = format.mantissa > self.format.mantissa
        kind = arith.ExtFOp if wider else arith.TruncFOp
        return Value(self.at, format, self.at.shaped(kind, [self.ssa], format.type))


class Bits(_Typed):
    """An integer as wide as its float format."""

    def _binary(
        self,
        kind: type[Operation],
        other: Bits | int,
        properties: dict[str, Attribute] | None = None,
    ) -> Bits:
        if isinstance(other, int):
            other = self.constant(other)
        ssa = self.at.shaped(kind, [self.ssa, other.ssa], self.format.integer, properties)
        return Bits(self.at, self.format, ssa)

    def constant(self, value: int) -> Bits:
        """A constant of the same width."""
        width = self.format.integer.bitwidth
        wrapped = (value + (1 << (width - 1))) % (1 << width) - (1 << (width - 1))
        ssa = self.at.constant(wrapped, self.format.integer)
        return Bits(self.at, self.format, ssa)

    def __add__(self, other: Bits | int) -> Bits:
        return self._binary(arith.AddiOp, other, {"overflowFlags": _NO_OVERFLOW})

    def __sub__(self, other: Bits | int) -> Bits:
        return self._binary(arith.SubiOp, other, {"overflowFlags": _NO_OVERFLOW})

    def __and__(self, other: Bits | int) -> Bits:
        return self._binary(arith.AndIOp, other)

    def __or__(self, other: Bits | int) -> Bits:
        return self._binary(arith.OrIOp, other)

    def __xor__(self, other: Bits | int) -> Bits:
        return self._binary(arith.XOrIOp, other)

    def __lshift__(self, other: int) -> Bits:
        return self._binary(arith.ShLIOp, other, {"overflowFlags": _NO_OVERFLOW})

    def __rshift__(self, other: int) -> Bits:
        """Arithmetic shift."""
        return self._binary(arith.ShRSIOp, other)

    def is_zero(self) -> Condition:
        operands = [self.ssa, self.constant(0).ssa]
        kind = arith.CmpiOp if self.at.scalar else llvm.ICmpOp
        return Condition(
            self.at, self.at.shaped(kind, operands, i1, {"predicate": _ICMP_EQ})
        )

    def value(self) -> Value:
        """The float with these bits."""
        type = self.format.type
        return Value(
            self.at, self.format, self.at.shaped(arith.BitcastOp, [self.ssa], type)
        )


class Condition:
    """An i1, or a vector of them."""

    def __init__(self, at: Emitter, ssa: SSAValue) -> None:
        self.at = at
        self.ssa = ssa

    def __and__(self, other: Condition) -> Condition:
        return Condition(self.at, self.at.shaped(arith.AndIOp, [self.ssa, other.ssa], i1))

    def __or__(self, other: Condition) -> Condition:
        return Condition(self.at, self.at.shaped(arith.OrIOp, [self.ssa, other.ssa], i1))

    def __invert__(self) -> Condition:
        one = self.at.constant(1, i1)
        return Condition(self.at, self.at.shaped(arith.XOrIOp, [self.ssa, one], i1))

    def select(self, true: Value | float, false: Value | float) -> Value:
        """`true` where the condition holds, else `false`; one of them is a Value."""
        model = true if isinstance(true, Value) else false
        assert isinstance(model, Value)
        operands = [self.ssa, model.lift(true).ssa, model.lift(false).ssa]
        type = model.format.type
        if self.at.scalar:
            return Value(
                self.at, model.format, self.at.shaped(arith.SelectOp, operands, type)
            )
        flags: dict[str, Attribute] = {"fastmathFlags": NO_FASTMATH}
        ssa = self.at.shaped(tvm_llvm.SelectOp, operands, type, flags)
        return Value(self.at, model.format, ssa)
