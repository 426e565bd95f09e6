"""Constant bounds of integers.

`ConstIntBoundAnalyzer` gives for a tree `e` numbers `min <= e <= max`, either of them
possibly infinite, that hold for all values of the leaves which the facts of the analyzer
allow, wherever `e` is defined. Of a vector all lanes are within the bounds. The rules are
those of docs/spec/tir-passes-b-arith-and-loops.md §1.4, made sound where they are not:

- 32- and 64-bit signed arithmetic is that of the integers, so a bound of it may be
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
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, cast

from xdsl.dialects.builtin import (
    AnyFloat,
    ArrayAttr,
)
from xdsl.ir import Attribute, BlockArgument, SSAValue

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
from xdsl_tvm.dialects.integers import (
    EVERYTHING,
    INF,
    LARGEST_END,
    ZERO,
    Bound,
    add,
    bitwise_and,
    bitwise_not,
    bitwise_or,
    bitwise_xor,
    floor_remainder,
    maximum,
    minimum,
    mul,
    quotient,
    remainder_toward_zero,
    saturated,
    shift_left,
    shift_right,
    sub,
)
from xdsl_tvm.dialects.tir.types import is_index_type

if TYPE_CHECKING:
    from xdsl_tvm.analysis.arith.analyzer import Analyzer

_LOG_ERROR = 1e-3
"""How far a computed base-2 logarithm may be from the true one."""


_BOOL = Bound(0, 1)


@cache
def type_bound(dtype: Attribute) -> Bound:
    """What the type says of its values; 64-bit integers and floats have no bound."""
    if not tir.is_integer(dtype):
        return EVERYTHING
    low, high = integer_range(dtype)
    return Bound(
        -INF if low < -LARGEST_END else low, INF if high >= LARGEST_END else high
    )


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


# ---- trees ----


_ARITHMETIC: dict[type[Expr], Callable[[Bound, Bound], Bound]] = {
    Add: add,
    Sub: sub,
    Mul: mul,
    Div: lambda a, b: quotient(a, b, floor=False),
    FloorDiv: lambda a, b: quotient(a, b, floor=True),
    Mod: remainder_toward_zero,
    FloorMod: floor_remainder,
    Min: minimum,
    Max: maximum,
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
    if isinstance(op, tir.ShapeVarOp):
        is_size = op.size_var is not None
    else:
        is_size = _is_size_parameter(node.value)
    return found.intersection(Bound(0, INF)) if is_size else found


def _is_size_parameter(value: SSAValue) -> bool:
    """Whether a function promises by `tir_non_negative_var` that a parameter of it is not
    negative."""
    if not isinstance(value, BlockArgument):
        return False
    func = value.block.parent_op()
    if not isinstance(func, tir.FuncOp) or func.param_names is None:
        return False
    sizes = func.attributes.get("tir_non_negative_var")
    if not isinstance(sizes, ArrayAttr):
        return False
    name = func.param_names.data[value.index]
    return name in cast("ArrayAttr[Attribute]", sizes).data


def _as_bool(value: Bound) -> Bound:
    if value == ZERO:
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
