"""Conversions between narrow and wide floats as integer operations on their bits.

docs/spec/tir-passes-c-memory-and-gpu.md, BF16ComputeLegalize, `convert(v, T)`. A narrow
float is widened exactly and narrowed to the nearest value, ties to even.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

from xdsl.dialects.builtin import FixedBitwidthType, IntegerType, Signedness
from xdsl.ir import Attribute, Operation, SSAValue

from xdsl_tvm.dialects import tir
from xdsl_tvm.dialects.dtypes import FLOATS


@dataclass(frozen=True)
class _Format:
    """The fields of a binary float: sign, exponent, mantissa."""

    width: int
    mantissa: int
    largest: float

    @staticmethod
    def of(dtype: Attribute) -> _Format:
        """The fields of a float dtype of any lanes."""
        element = tir.element_of(dtype)
        known = FLOATS[type(element)]
        width = cast(FixedBitwidthType, element).bitwidth
        return _Format(width, known.digits - 1, known.largest)

    @property
    def exponent(self) -> int:
        """Bits of the exponent."""
        return self.width - 1 - self.mantissa

    @property
    def bias(self) -> int:
        """The exponent field of 1."""
        return (1 << (self.exponent - 1)) - 1

    @property
    def magnitude(self) -> int:
        """All bits but the sign."""
        return (1 << (self.width - 1)) - 1

    @property
    def has_infinity(self) -> bool:
        """Whether the largest exponent means infinity and NaN, as in IEEE 754.

        Without infinity only the largest magnitude is a NaN.
        """
        return self.largest < 2.0 ** (self.bias + 1)

    @property
    def infinity(self) -> int:
        """The bits of infinity, for a format that has it."""
        return self.magnitude >> self.mantissa << self.mantissa

    @property
    def quiet(self) -> int:
        """The bit of the mantissa that a quiet NaN has, for a format with infinity."""
        return 1 << (self.mantissa - 1)

    @property
    def nan(self) -> int:
        """The bits of a quiet NaN."""
        return self.infinity | self.quiet if self.has_infinity else self.magnitude

    def power(self, exponent: int) -> int:
        """The bits of 2**exponent, a normal number."""
        return (exponent + self.bias) << self.mantissa


class ConversionCode:
    """Ops that convert floats, in the order in which they are to be inserted."""

    def __init__(self) -> None:
        self.ops: list[Operation] = []

    def convert(self, value: SSAValue, target: Attribute) -> SSAValue:
        """A float as another one with as many lanes.

        One of the two dtypes is bfloat16 or a float8; the other is wider, a float16 or a
        float32 with at least as many bits in each field.
        """
        source_format, target_format = _Format.of(value.type), _Format.of(target)
        if source_format.width < target_format.width:
            return self._widened(value, target, source_format, target_format)
        return self._narrowed(value, target, source_format, target_format)

    # ---- wider ----

    def _widened(
        self, value: SSAValue, target: Attribute, source: _Format, wide: _Format
    ) -> SSAValue:
        integer = unsigned_of(target)
        bits = self._cast(self.reinterpret(value, unsigned_of(value.type)), integer)
        shift = wide.mantissa - source.mantissa
        if source.exponent == wide.exponent:
            return self.reinterpret(self._call("shift_left", bits, shift), target)
        sign = self._call(
            "shift_left",
            self._call("bitwise_and", bits, 1 << (source.width - 1)),
            wide.width - source.width,
        )
        size = self._call(
            "shift_left", self._call("bitwise_and", bits, source.magnitude), shift
        )
        least, rebias = wide.power(1 - source.bias), wide.bias - source.bias
        normal = self._binary(tir.AddOp, size, rebias << wide.mantissa)
        if source.has_infinity:
            first = source.infinity << shift
            special = self._binary(tir.AddOp, size, wide.infinity - first)
        else:
            first = source.nan << shift
            special = self.constant(wide.nan, integer)
        found = self._select(self._compare("ge", size, first), special, normal)
        # A subnormal is what 1.m, in the binade of the least normal value, is beyond it.
        beyond = self._added(
            tir.SubOp(
                self.reinterpret(self._binary(tir.AddOp, size, least), target),
                self.constant(2.0 ** (1 - source.bias), target),
            )
        )
        found = self._select(
            self._compare("lt", size, 1 << wide.mantissa),
            self.reinterpret(beyond, integer),
            found,
        )
        return self.reinterpret(self._pair("bitwise_or", sign, found), target)

    # ---- narrower ----

    def _narrowed(
        self, value: SSAValue, target: Attribute, wide: _Format, narrow: _Format
    ) -> SSAValue:
        result = unsigned_of(target)
        bits = self.reinterpret(value, unsigned_of(value.type))
        shift = wide.mantissa - narrow.mantissa
        if wide.exponent == narrow.exponent:
            size = self._call("bitwise_and", bits, wide.magnitude)
            chosen = self._select(
                self._compare("gt", size, wide.infinity),
                self._call("bitwise_or", bits, wide.quiet),
                self._rounded(bits, shift),
            )
            kept = self._call("shift_right", chosen, shift)
            return self.reinterpret(self._cast(kept, result), target)
        sign = self._call(
            "bitwise_and",
            self._call("shift_right", bits, wide.width - narrow.width),
            1 << (narrow.width - 1),
        )
        size = self._call("bitwise_and", bits, wide.magnitude)
        rebias = wide.bias - narrow.bias
        found = self._binary(
            tir.SubOp,
            self._call("shift_right", self._rounded(size, shift), shift),
            rebias << narrow.mantissa,
        )
        if narrow.has_infinity:
            least = wide.power(narrow.bias + 1)
            special = self._select(
                self._compare("gt", size, wide.infinity),
                self.constant(narrow.nan, size.type),
                self.constant(narrow.infinity, size.type),
            )
        else:
            # The magnitude of the NaN, if it were a number.
            least = wide.power(narrow.bias + 1) | (
                (narrow.nan & ((1 << narrow.mantissa) - 1)) << shift
            )
            special = self.constant(narrow.nan, size.type)
        found = self._select(self._compare("ge", size, least), special, found)
        # The sum has the least subnormal as its last place, so that adding rounds.
        anchor = 1 - narrow.bias - narrow.mantissa + wide.mantissa
        added = self._added(
            tir.AddOp(
                self.reinterpret(size, value.type),
                self.constant(2.0**anchor, value.type),
            )
        )
        subnormal = self._binary(
            tir.SubOp, self.reinterpret(added, size.type), wide.power(anchor)
        )
        found = self._select(
            self._compare("lt", size, wide.power(1 - narrow.bias)), subnormal, found
        )
        whole = self._pair("bitwise_or", sign, found)
        return self.reinterpret(self._cast(whole, result), target)

    def _rounded(self, bits: SSAValue, shift: int) -> SSAValue:
        """The bits plus what makes the cut after `shift` of them round half to even."""
        last = self._call("bitwise_and", self._call("shift_right", bits, shift), 1)
        half = self._binary(tir.AddOp, last, (1 << (shift - 1)) - 1)
        return self._added(tir.AddOp(bits, half))

    # ---- single ops ----

    def reinterpret(self, value: SSAValue, dtype: Attribute) -> SSAValue:
        """The bits of a value as another dtype of the same size."""
        return self._added(tir.CallOp("reinterpret", [value], dtype))

    def _added(self, op: Operation) -> SSAValue:
        self.ops.append(op)
        return op.results[0]

    def constant(self, number: float, dtype: Attribute) -> SSAValue:
        """A number of a scalar dtype, or in all lanes of a vector."""
        constant = self._added(tir.ConstOp.of(number, tir.element_of(dtype)))
        if not tir.is_vector(dtype):
            return constant
        return self._added(tir.BroadcastOp(constant, dtype))

    def _cast(self, value: SSAValue, dtype: Attribute) -> SSAValue:
        return value if value.type == dtype else self._added(tir.CastOp(value, dtype))

    def _binary(
        self, kind: type[tir.AddOp | tir.SubOp], value: SSAValue, number: int
    ) -> SSAValue:
        return self._added(kind(value, self.constant(number, value.type)))

    def _call(self, name: str, value: SSAValue, number: int) -> SSAValue:
        return self._pair(name, value, self.constant(number, value.type))

    def _pair(self, name: str, lhs: SSAValue, rhs: SSAValue) -> SSAValue:
        return self._added(tir.CallOp(name, [lhs, rhs], lhs.type))

    def _compare(self, predicate: str, value: SSAValue, number: int) -> SSAValue:
        bound = self.constant(number, value.type)
        return self._added(tir.CmpOp(tir.CmpPredicate(predicate), value, bound))

    def _select(self, condition: SSAValue, true: SSAValue, false: SSAValue) -> SSAValue:
        return self._added(tir.SelectOp(condition, true, false))


def unsigned_of(dtype: Attribute) -> Attribute:
    """The unsigned integer with the bits and lanes of a scalar dtype or a vector."""
    width = tir.bits_of_lane(dtype)
    return tir.like_lanes(IntegerType(width, Signedness.UNSIGNED), dtype)
