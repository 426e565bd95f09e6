"""Constant bounds of integers.

`ConstIntBoundAnalyzer` gives for a tree `e` numbers `min <= e <= max`, either of them
possibly infinite, that hold for all values of the leaves which the facts of the analyzer
allow, wherever `e` is defined. Of a vector all lanes are within the bounds. The rules are
those of spec tir-passes-b §1.4, made sound where they are not:

- 32- and 64-bit signed arithmetic is that of the integers, so a bound of it may lie
  outside of the type. All other integers wrap around: a result that might leave its type
  is bounded by the type alone. The same goes for casts to any integer type.
- Bounds beyond 64 bits are infinite.
- Bitwise operations are bounded by the bits that the operands can have.
- A shift is bounded by its type alone, unless its amount is known to be from 0 to the
  bits of the type, and what is shifted to the left to be no negative number.
- A float has a bound only where it is exactly an integer, by a cast of one or a literal.
- A divisor is never zero where the quotient is evaluated.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from itertools import product
from typing import TYPE_CHECKING

from xdsl.dialects.builtin import (
    AnyFloat,
)
from xdsl.ir import Attribute

from xdsl_tvm.analysis.arith.expr import (
    Add,
    Broadcast,
    Call,
    Cast,
    Const,
    Div,
    Expr,
    FloorDiv,
    FloorMod,
    IfThenElse,
    Max,
    Min,
    Mod,
    Mul,
    Ramp,
    Select,
    Sub,
    Value,
    fold,
)
from xdsl_tvm.dialects import tir
from xdsl_tvm.dialects.dtypes import FLOATS, integer_range
from xdsl_tvm.dialects.tir.folding import truncated_quotient
from xdsl_tvm.dialects.tir.types import is_index_type

if TYPE_CHECKING:
    from xdsl_tvm.analysis.arith.analyzer import Analyzer

INF = math.inf
Limit = int | float
"""An integer, or plus or minus `math.inf`."""

_LIMIT = (1 << 63) - 1
_LOG_ERROR = 1e-3
"""How far a computed base-2 logarithm may be from the true one."""


@dataclass(frozen=True, slots=True)
class Bound:
    """All integers from `min` to `max`, both included: Python integers or `±math.inf`."""

    min: Limit
    max: Limit

    @property
    def is_everything(self) -> bool:
        return self.min == -INF and self.max == INF

    @property
    def is_finite(self) -> bool:
        return self.min != -INF and self.max != INF

    @property
    def is_empty(self) -> bool:
        """Whether no number is within, as it may be in code that is never reached."""
        return self.min > self.max

    @property
    def value(self) -> int | None:
        """The number, if there is just one."""
        return int(self.min) if self.min == self.max and self.is_finite else None

    def contains(self, other: Bound) -> bool:
        """Whether all numbers of `other` are within."""
        return self.min <= other.min and other.max <= self.max

    def union(self, other: Bound) -> Bound:
        """The narrowest bound that contains both."""
        return Bound(min(self.min, other.min), max(self.max, other.max))

    def intersection(self, other: Bound) -> Bound:
        """What is within both; `other` alone where the two contradict each other.

        A contradiction means that the code is not reached, and no conclusion there is
        wrong; it must not be an empty bound, which arithmetic cannot deal with.
        """
        found = Bound(max(self.min, other.min), min(self.max, other.max))
        return other if found.is_empty else found

    def __str__(self) -> str:
        return f"[{_text(self.min)}, {_text(self.max)}]"


EVERYTHING = Bound(-INF, INF)
_ZERO = Bound(0, 0)
_BOOL = Bound(0, 1)


def _text(limit: Limit) -> str:
    if limit == INF:
        return "+inf"
    return "-inf" if limit == -INF else str(limit)


def saturated(low: Limit, high: Limit) -> Bound:
    """The bound, with ends that 64 bits do not hold made infinite."""
    if low < -_LIMIT:
        low = -INF
    elif low > _LIMIT:
        low = _LIMIT
    if high > _LIMIT:
        high = INF
    elif high < -_LIMIT:
        high = -_LIMIT
    return Bound(low, high)


@cache
def type_bound(dtype: Attribute) -> Bound:
    """What the type says of its values; 64-bit integers and floats have no bound."""
    if not tir.is_integer(dtype):
        return EVERYTHING
    low, high = integer_range(dtype)
    return Bound(-INF if low < -_LIMIT else low, INF if high >= _LIMIT else high)


@cache
def _wraps(dtype: Attribute) -> bool:
    """Whether arithmetic of the type is that of the integers modulo a power of two."""
    return tir.is_integer(dtype) and not is_index_type(tir.element_of(dtype))


def _contained(bound: Bound, dtype: Attribute) -> Bound:
    """The bound of a result that is cut to the bits of its type, index types too."""
    return bound if Bound(*integer_range(dtype)).contains(bound) else type_bound(dtype)


def _in_type(bound: Bound, dtype: Attribute) -> Bound:
    """The bound of a result of arithmetic, which wraps around if it does not fit."""
    if not _wraps(dtype):
        return bound
    return _contained(bound, dtype)


# ---- arithmetic of bounds ----


def _times(a: Limit, b: Limit) -> Limit:
    return 0 if a == 0 or b == 0 else a * b


def _hull(ends: Iterable[Limit]) -> Bound:
    found = list(ends)
    return saturated(min(found), max(found))


def add(a: Bound, b: Bound) -> Bound:
    """Bounds of sums."""
    return saturated(a.min + b.min, a.max + b.max)


def sub(a: Bound, b: Bound) -> Bound:
    """Bounds of differences."""
    return saturated(a.min - b.max, a.max - b.min)


def mul(a: Bound, b: Bound) -> Bound:
    """Bounds of products."""
    return _hull(_times(x, y) for x, y in product((a.min, a.max), (b.min, b.max)))


def _quotient(a: Limit, b: Limit, *, floor: bool) -> Limit:
    """`a / b`, in the limit where one is infinite."""
    if isinstance(b, float):
        if isinstance(a, float):
            return INF if (a > 0) == (b > 0) else -INF
        return -1 if floor and a != 0 and (a < 0) != (b < 0) else 0
    if isinstance(a, float):
        return a if b > 0 else -a
    return a // b if floor else truncated_quotient(a, b)


def _without_zero(divisor: Bound) -> list[Bound]:
    """The negative and the positive part of a divisor."""
    parts = (
        Bound(divisor.min, min(divisor.max, -1)),
        Bound(max(divisor.min, 1), divisor.max),
    )
    return [part for part in parts if not part.is_empty]


def quotient(a: Bound, b: Bound, *, floor: bool) -> Bound:
    """Bounds of quotients by anything but zero."""
    ends: list[Limit] = []
    for part in _without_zero(b):
        corners = product((a.min, a.max), (part.min, part.max))
        ends += [_quotient(x, y, floor=floor) for x, y in corners]
    return _hull(ends) if ends else EVERYTHING


def truncated_remainder(a: Bound, b: Bound) -> Bound:
    """Bounds of remainders with the sign of the dividend, by anything but zero."""
    parts = _without_zero(b)
    if not parts:
        return EVERYTHING
    largest = max(max(abs(part.min), abs(part.max)) for part in parts)
    least = min(min(abs(part.min), abs(part.max)) for part in parts)
    if max(abs(a.min), abs(a.max)) < least:
        return a
    low = max(a.min, -(largest - 1)) if a.min < 0 else 0
    high = min(a.max, largest - 1) if a.max > 0 else 0
    return Bound(low, high)


def floor_remainder(a: Bound, b: Bound) -> Bound:
    """Bounds of remainders with the sign of the divisor, by anything but zero."""
    ends: list[Bound] = []
    for part in _without_zero(b):
        if part.min > 0:
            ends.append(_positive_remainder(a, part))
        else:
            negated = _positive_remainder(_negated(a), _negated(part))
            ends.append(_negated(negated))
    if not ends:
        return EVERYTHING
    return ends[0] if len(ends) == 1 else ends[0].union(ends[1])


def _positive_remainder(a: Bound, b: Bound) -> Bound:
    if a.min >= 0:
        return a if a.max < b.min else Bound(0, min(a.max, b.max - 1))
    return Bound(0, b.max - 1)


def _negated(a: Bound) -> Bound:
    return Bound(-a.max, -a.min)


def _bits(a: Bound) -> int | None:
    """The least `k` with all numbers in `[-2^k, 2^k)`; None where there is none."""
    if not a.is_finite:
        return None
    low, high = int(a.min), int(a.max)
    return max((low if low >= 0 else ~low).bit_length(), max(high, 0).bit_length())


def _signed_bits(a: Bound, b: Bound) -> Bound:
    """Where any bitwise operation of the two ends up."""
    left, right = _bits(a), _bits(b)
    if left is None or right is None:
        return EVERYTHING
    power = 1 << max(left, right)
    return saturated(-power, power - 1)


def bitwise_and(a: Bound, b: Bound) -> Bound:
    """Bounds of `a & b`: a non-negative operand bounds it from both sides."""
    if a.min >= 0 and b.min >= 0:
        return Bound(0, min(a.max, b.max))
    if a.min >= 0 or b.min >= 0:
        return Bound(0, a.max if a.min >= 0 else b.max)
    return _signed_bits(a, b)


def bitwise_or(a: Bound, b: Bound) -> Bound:
    """Bounds of `a | b`: at least the greater one if both are non-negative."""
    bits = _signed_bits(a, b)
    if a.min >= 0 and b.min >= 0:
        return Bound(max(a.min, b.min), bits.max)
    if a.max < 0 or b.max < 0:
        low = max(x.min for x in (a, b) if x.max < 0)
        return Bound(max(low, bits.min), -1)
    return bits


def bitwise_xor(a: Bound, b: Bound) -> Bound:
    """Bounds of `a ^ b`."""
    bits = _signed_bits(a, b)
    if a.min >= 0 and b.min >= 0:
        return Bound(0, bits.max)
    if (a.max < 0 and b.min >= 0) or (a.min >= 0 and b.max < 0):
        return Bound(bits.min, -1)
    return bits


def bitwise_not(a: Bound) -> Bound:
    """Bounds of `~a`, that is, of `-a - 1`."""
    return Bound(-a.max - 1, -a.min - 1)


def shift_right(a: Bound, b: Bound) -> Bound:
    """Bounds of `a >> b`, for amounts that are not negative."""
    amounts = b.intersection(Bound(0, 64))
    least, most = int(max(amounts.min, 0)), int(min(amounts.max, 64))
    return _hull(
        end if isinstance(end, float) else end >> amount
        for end, amount in product((a.min, a.max), (least, most))
    )


def shift_left(a: Bound, b: Bound) -> Bound:
    """Bounds of `a * 2^b`, for amounts that are not negative."""
    amounts = b.intersection(Bound(0, 64))
    least, most = int(max(amounts.min, 0)), int(min(amounts.max, 64))
    return mul(a, Bound(1 << least, 1 << most))


# ---- trees ----


_ARITHMETIC: dict[type[Expr], Callable[[Bound, Bound], Bound]] = {
    Add: add,
    Sub: sub,
    Mul: mul,
    Div: lambda a, b: quotient(a, b, floor=False),
    FloorDiv: lambda a, b: quotient(a, b, floor=True),
    Mod: truncated_remainder,
    FloorMod: floor_remainder,
    Min: lambda a, b: Bound(min(a.min, b.min), min(a.max, b.max)),
    Max: lambda a, b: Bound(max(a.min, b.min), max(a.max, b.max)),
}
_BITWISE: dict[str, Callable[[Bound, Bound], Bound]] = {
    "bitwise_and": bitwise_and,
    "bitwise_or": bitwise_or,
    "bitwise_xor": bitwise_xor,
    "shift_right": shift_right,
    "shift_left": shift_left,
}


SHIFTS = ("shift_left", "shift_right")


def amounts_of(dtype: Attribute) -> Bound:
    """The amounts that a type may be shifted by; by others the result is undefined."""
    return Bound(0, tir.bits_of_lane(dtype) - 1)


def _is_bounded_shift(node: Call, value: Bound, amount: Bound) -> bool:
    """Whether a shift is known to be defined, and one to the left is of no sign bit."""
    if not amounts_of(node.dtype).contains(amount):
        return False
    return node.name == "shift_right" or value.min >= 0


class ConstIntBoundAnalyzer:
    """Bounds of trees under the facts of an analyzer, which keeps them."""

    def __init__(self, analyzer: Analyzer) -> None:
        self._analyzer = analyzer

    def __call__(self, root: Expr) -> Bound:
        """The bound of a tree. Every node is visited once while the facts hold."""
        return fold(root, self._bound, self._analyzer.memo.bounds)

    def _bound(self, node: Expr, operands: list[Bound]) -> Bound:
        found = self._structural(node, operands)
        if tir.is_bool(node.dtype):
            found = found.intersection(_BOOL)
        recorded = self._analyzer.facts.bound_of(node)
        return found if recorded is None else found.intersection(recorded)

    def _structural(self, node: Expr, operands: list[Bound]) -> Bound:
        arithmetic = _ARITHMETIC.get(type(node))
        if arithmetic is not None:
            return self._binary(node, arithmetic, operands)
        match node:
            case Const(value=value):
                return _literal(value)
            case Value():
                return _leaf(node)
            case Cast():
                return self._cast(node, operands[0])
            case Broadcast():
                return operands[0]
            case Ramp():
                return self._ramp(node, *operands)
            case Select() | IfThenElse():
                return operands[1].union(operands[2])
            case Call():
                return self._call(node, operands)
            case _:
                return type_bound(node.dtype)

    @staticmethod
    def _binary(
        node: Expr, arithmetic: Callable[[Bound, Bound], Bound], operands: list[Bound]
    ) -> Bound:
        if not tir.is_integer(node.dtype):
            return EVERYTHING
        return _in_type(arithmetic(*operands), node.dtype)

    def _call(self, node: Call, operands: list[Bound]) -> Bound:
        bitwise = _BITWISE.get(node.name)
        if bitwise is not None:
            if node.name in SHIFTS and not _is_bounded_shift(node, *operands):
                return type_bound(node.dtype)
            return _contained(bitwise(*operands), node.dtype)
        match node.name:
            case "likely":
                return operands[0]
            case "bitwise_not":
                return _contained(bitwise_not(*operands), node.dtype)
            case "popcount" | "clz" if tir.is_integer_type(node.operands[0].dtype):
                return Bound(0, node.operands[0].dtype.width.data)
            case "vscale":
                return self._analyzer.vscale
            case "ceil":
                return self._rounded_up(node.operands[0])
            case _:
                return type_bound(node.dtype)

    def _rounded_up(self, value: Expr) -> Bound:
        """The bound of `ceil(log2(e))`, an integer; of other floats nothing is known."""
        match value:
            case Call(name="log2", operands=(argument,)):
                return _rounded_logarithm(self._analyzer.memo.bounds[argument])
            case _:
                return EVERYTHING

    def _ramp(self, node: Ramp, base: Bound, stride: Bound) -> Bound:
        if not tir.is_integer(node.dtype):
            return EVERYTHING
        lanes = Bound(tir.lanes_of(node.dtype), tir.lanes_of(node.dtype))
        if tir.is_scalable(node.dtype):
            lanes = mul(lanes, self._analyzer.vscale)
        steps = mul(Bound(0, lanes.max - 1), stride)
        return _in_type(add(base, steps), node.dtype)

    @staticmethod
    def _cast(node: Cast, value: Bound) -> Bound:
        if tir.is_bool(node.dtype):
            return _as_bool(value)
        if tir.is_integer(node.dtype):
            return _contained(value, node.dtype)
        return _as_float(node.dtype, value)


def _rounded_logarithm(value: Bound) -> Bound:
    """Where `ceil(log2(value))` ends up, for any logarithm that is nearly right."""
    if value.min < 1:
        return EVERYTHING
    low = math.ceil(math.log2(value.min) - _LOG_ERROR)
    high = value.max
    return Bound(low, high if high == INF else math.ceil(math.log2(high) + _LOG_ERROR))


def _literal(value: float) -> Bound:
    if isinstance(value, int):
        return saturated(value, value)
    if not math.isfinite(value):
        return EVERYTHING
    return saturated(math.floor(value), math.ceil(value))


def _leaf(node: Value) -> Bound:
    """What is known of a value: its type, and that sizes are not negative."""
    found = type_bound(node.dtype)
    op = node.value.owner
    if isinstance(op, tir.ShapeVarOp) and op.size_var is not None:
        return found.intersection(Bound(0, INF))
    return found


def _as_bool(value: Bound) -> Bound:
    if value == _ZERO:
        return value
    return Bound(1, 1) if value.min > 0 or value.max < 0 else _BOOL


def _as_float(dtype: Attribute, value: Bound) -> Bound:
    """The bound if the float type has every integer in it, else everything."""
    element = tir.element_of(dtype)
    if not isinstance(element, AnyFloat):
        return EVERYTHING
    found = FLOATS.get(type(element))
    power = 1 if found is None else 1 << found.digits
    return value if Bound(-power, power).contains(value) else EVERYTHING
