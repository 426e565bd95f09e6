"""Folding of operations on literals, as TVM's construction helpers do it.

The rules are those of docs/spec/tir-ir.md §5.3. They are stated on plain numbers, so that
every kind of expression tree can use them: scripts, the trees of the analyzer, and the
folders of the ops. Nothing is folded on vectors, whose constants hide under a broadcast.

`fold_binary` and `fold_cast` follow TVM to the letter. `fold_binary_exactly` and
`fold_cast_exactly` leave out what changes values.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from enum import Enum, auto
from typing import Any

from xdsl.dialects.builtin import Float16Type, Float32Type, Float64Type, i1
from xdsl.ir import Attribute

from xdsl_tvm.dialects.dtypes import integer_range
from xdsl_tvm.dialects.integers import truncated_quotient
from xdsl_tvm.dialects.tir.types import (
    is_custom,
    is_float,
    is_index_type,
    is_integer,
    is_integer_type,
    is_uint,
    is_vector,
    require_in_range,
)

Literal = int | float
"""A constant of an integer dtype (bools are 0 and 1) or of a float dtype."""


class Side(Enum):
    """The operand that an operation is equal to."""

    LHS = auto()
    RHS = auto()


class FoldError(ValueError):
    """An operation on literals that has no value, such as a division by zero."""


Folded = Literal | Side | None
"""A literal of the result, one of the operands, or None where nothing folds."""

FOLDED_BUILTINS = frozenset(
    ("shift_left", "shift_right", "bitwise_and", "bitwise_or", "bitwise_xor")
)
"""The calls of builtins that fold, as ops of the same names."""

_COMPARISONS: dict[str, Callable[[Literal, Literal], bool]] = {
    "eq": operator.eq,
    "ne": operator.ne,
    "lt": operator.lt,
    "le": operator.le,
    "gt": operator.gt,
    "ge": operator.ge,
}
_BITWISE: dict[str, Callable[[int, int], int]] = {
    "bitwise_and": int.__and__,
    "bitwise_or": int.__or__,
    "bitwise_xor": int.__xor__,
}
_ARITHMETIC: dict[str, Callable[[int, int], int]] = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
}
_UFUNCS = {"add": "add", "sub": "subtract", "mul": "multiply", "div": "divide"}
"""The functions of numpy."""
_IDEMPOTENT = frozenset(("and", "or", "min", "max", "bitwise_and", "bitwise_or"))
_REFLEXIVE = frozenset(("eq", "le", "ge"))
_SMALL = 4
"""All integers up to this are exact in every float type that TIR has."""
_EXACT_IN_F64 = 1 << 53
"""All integers up to this are exact in f64, so that f64 rounds no cast of them."""


def wrap(value: int, dtype: Attribute) -> int:
    """`value` modulo the width of the integer type, signed for `iN`."""
    if not is_integer_type(dtype):
        raise ValueError(f"{dtype} is no integer type")
    bits = dtype.width.data
    value &= (1 << bits) - 1
    if not is_uint(dtype) and value >> (bits - 1):
        value -= 1 << bits
    return value


def fold_binary(
    op: str, dtype: Attribute, lhs: Literal | None, rhs: Literal | None
) -> Folded:
    """What `op` of two operands of type `dtype` folds to.

    `op` is the name of the op without its dialect: `add sub mul div mod floordiv floormod
    min max`, a comparison `eq ne lt le gt ge`, `and or`, or of a builtin: `shift_left
    shift_right bitwise_and bitwise_or bitwise_xor`. An operand is its literal, or None if
    it is not one. A comparison folds to 0 or 1.

    Raises FoldError for a division by a literal zero, a negative unsigned difference and
    a shift amount outside of the width.
    """
    if is_vector(dtype) or (lhs is None and rhs is None):
        return None
    if op in _COMPARISONS:
        if lhs is None or rhs is None:
            return None
        return int(_COMPARISONS[op](lhs, rhs))
    if op in ("and", "or"):
        return _fold_logical(op, lhs, rhs)
    if op in ("min", "max"):
        if lhs is None or rhs is None:
            return None
        smaller = lhs < rhs if op == "min" else lhs > rhs
        return Side.LHS if smaller or lhs != lhs else Side.RHS
    if is_integer_type(dtype):
        return _fold_integer(op, dtype, _as_int(lhs), _as_int(rhs))
    if is_float(dtype):
        return _fold_float(op, dtype, lhs, rhs)
    return None


def _as_int(value: Literal | None) -> int | None:
    return None if value is None else int(value)


def _fold_logical(op: str, lhs: Literal | None, rhs: Literal | None) -> Folded:
    neutral = 1 if op == "and" else 0
    for value, this, other in ((lhs, Side.LHS, Side.RHS), (rhs, Side.RHS, Side.LHS)):
        if value is not None:
            return other if value == neutral else this
    return None


def _fold_integer(op: str, dtype: Attribute, lhs: int | None, rhs: int | None) -> Folded:
    if op in _BITWISE:
        if lhs is None or rhs is None or not is_index_type(dtype):
            return None
        return wrap(_BITWISE[op](lhs, rhs), dtype)
    if op.startswith("shift_"):
        return _fold_shift(op, dtype, lhs, rhs)
    if op in ("div", "mod", "floordiv", "floormod"):
        return _fold_division(op, dtype, lhs, rhs)
    if op == "sub" and is_uint(dtype) and lhs == 0 and rhs is not None and rhs > 0:
        raise FoldError(f"0 - {rhs} is negative, which {dtype} cannot hold")
    if lhs is not None and rhs is not None and op in _ARITHMETIC:
        return wrap(_ARITHMETIC[op](lhs, rhs), dtype)
    return _fold_neutral(op, lhs, rhs)


def _fold_neutral(op: str, lhs: Literal | None, rhs: Literal | None) -> Folded:
    """Neutral and absorbing operands of sums and products."""
    if op == "add" and lhs == 0:
        return Side.RHS
    if op in ("add", "sub") and rhs == 0:
        return Side.LHS
    if op == "mul":
        if lhs == 0 or rhs == 1:
            return Side.LHS
        if rhs == 0 or lhs == 1:
            return Side.RHS
    return None


def _fold_shift(op: str, dtype: Attribute, lhs: int | None, rhs: int | None) -> Folded:
    if rhs is None or not is_integer_type(dtype) or not is_index_type(dtype):
        return None
    if not 0 <= rhs < dtype.width.data:
        raise FoldError(
            f"the shift amount {rhs} is outside of 0 to {dtype.width.data - 1}"
        )
    if rhs == 0:
        return Side.LHS
    if lhs is None:
        return None
    return wrap(lhs << rhs if op == "shift_left" else lhs >> rhs, dtype)


def _fold_division(op: str, dtype: Attribute, lhs: int | None, rhs: int | None) -> Folded:
    is_remainder = op in ("mod", "floormod")
    if is_remainder and not is_index_type(dtype):
        return None
    if rhs == 0:
        raise FoldError(f"tir.{op} by the constant 0")
    if lhs == 0:
        return Side.LHS
    if rhs == 1:
        return 0 if is_remainder else Side.LHS
    if lhs is None or rhs is None:
        return None
    quotient = lhs // rhs if op.startswith("floor") else truncated_quotient(lhs, rhs)
    return wrap(lhs - quotient * rhs if is_remainder else quotient, dtype)


def _fold_float(
    op: str, dtype: Attribute, lhs: Literal | None, rhs: Literal | None
) -> Folded:
    if op in ("div", "floordiv") and rhs == 0:
        raise FoldError(f"tir.{op} by the constant 0")
    if lhs is not None and rhs is not None:
        if op == "floordiv":
            quotient = lhs / rhs
            return float(math.floor(quotient)) if math.isfinite(quotient) else None
        value = _rounded(op, dtype, lhs, rhs)
        if value is not None:
            return value
    if op == "div":
        if lhs == 0:
            return Side.LHS
        return Side.LHS if rhs == 1 else None
    return _fold_neutral(op, lhs, rhs)


def _rounded(op: str, dtype: Attribute, lhs: float, rhs: float) -> float | None:
    """The value in the precision of the dtype, for the two that TVM folds."""
    if op not in _UFUNCS:
        return None
    # Imported only where floats fold: its import takes longer than that of the dialect.
    import numpy as np

    precision: type[np.floating[Any]]
    match dtype:
        case Float32Type():
            precision = np.float32
        case Float64Type():
            precision = np.float64
        case _:
            return None
    with np.errstate(all="ignore"):
        return float(getattr(np, _UFUNCS[op])(precision(lhs), precision(rhs)))


def fold_not(value: Literal | None) -> int | None:
    """What `not` folds to."""
    return None if value is None else int(value == 0)


def fold_cast(target: Attribute, value: Literal) -> Literal | None:
    """A literal converted to a scalar dtype; None where it has to stay a cast.

    Floats become integers by truncation; anything becomes a bool by `!= 0`. Raises
    FoldError for an infinite or a NaN integer.
    """
    if target == i1:
        return int(value != 0)
    if is_integer_type(target):
        if not math.isfinite(value):
            raise FoldError(f"{value} is no value of type {target}")
        return wrap(int(value), target)
    return float(value) if is_float(target) and not is_vector(target) else None


# ---- folding that keeps values ----


def rounded_literal(value: Literal, dtype: Attribute) -> Literal | None:
    """A constant of the scalar type `dtype` as computations see it.

    None where the rounding to the type is not known: fractions of bf16 and of the 8-bit
    and 4-bit floats.
    """
    if isinstance(value, int):
        return value
    if isinstance(dtype, Float64Type):
        return value
    if not isinstance(dtype, Float16Type | Float32Type):
        return value if abs(value) <= _SMALL and value.is_integer() else None
    import numpy as np

    with np.errstate(over="ignore"):
        narrow = np.float32 if isinstance(dtype, Float32Type) else np.float16
        return float(narrow(value))


def fits(value: int, dtype: Attribute) -> bool:
    """Whether an integer type, or lanes of it, holds `value`."""
    low, high = integer_range(dtype)
    return low <= value <= high


def fold_binary_exactly(
    op: str,
    dtype: Attribute,
    lhs: Literal | None,
    rhs: Literal | None,
    *,
    zero_signs: bool = True,
) -> Folded:
    """What `fold_binary` folds to where that is the value which is computed, else None.

    Nothing folds where it would raise FoldError, where two literals of a 32- or 64-bit
    signed type overflow, which TIR leaves undefined, and where a float is multiplied by
    zero, or zero is divided by it, since it may be infinite or NaN. The literals are
    those of `rounded_literal`.

    With `zero_signs`, results of floats are exact to the bit, the bits of a NaN aside:
    `x + 0.0` is not `x`, since the sum of two zeros may have another sign, and quotients
    that are rounded down stay as well.
    """
    if lhs is not None and rhs is not None and _loses_value(op, dtype, lhs, rhs):
        return None
    if is_float(dtype):
        if _may_be_nan(op, lhs, rhs):
            return None
        if zero_signs and not _is_exact(op, dtype, lhs, rhs):
            return None
    try:
        return fold_binary(op, dtype, lhs, rhs)
    except FoldError:
        return None


def _loses_value(op: str, dtype: Attribute, lhs: Literal, rhs: Literal) -> bool:
    """Whether the operation on two literals leaves the range of an index type."""
    if not is_index_type(dtype):
        return False
    match op:
        case "add":
            exact = lhs + rhs
        case "sub":
            exact = lhs - rhs
        case "mul":
            exact = lhs * rhs
        case "div" | "floordiv":
            exact = -lhs if rhs == -1 else 0
        case _:
            return False
    return not fits(int(exact), dtype)


def _may_be_nan(op: str, lhs: Literal | None, rhs: Literal | None) -> bool:
    """Whether a float is multiplied or divided that is perhaps not finite."""
    if lhs is not None and rhs is not None:
        return False
    if op == "mul":
        return lhs == 0 or rhs == 0
    return op in ("div", "floordiv") and lhs == 0


def _is_exact(
    op: str, dtype: Attribute, lhs: Literal | None, rhs: Literal | None
) -> bool:
    """Whether `_fold_float` keeps the signs of zeros and rounds as computations do."""
    if lhs is not None and rhs is not None:
        computed = op in _UFUNCS and isinstance(dtype, Float32Type | Float64Type)
        return computed or op in _COMPARISONS or op in ("min", "max")
    match op:
        case "add":
            return _is_zero(lhs, -1.0) or _is_zero(rhs, -1.0)
        case "sub":
            return _is_zero(rhs, 1.0)
        case "mul" | "div":
            return lhs == 1 or rhs == 1
        case _:
            return False


def _is_zero(value: Literal | None, sign: float) -> bool:
    if value is None or value != 0:
        return False
    return math.copysign(1.0, value) == sign


def fold_same(op: str, dtype: Attribute) -> Folded:
    """What `op`, a name as in `fold_binary`, folds to where both operands are one value.

    Differences and comparisons of floats stay, since the value may be infinite or NaN.
    """
    if op in _IDEMPOTENT:
        return Side.LHS
    if op in ("sub", "bitwise_xor"):
        return 0 if is_integer(dtype) else None
    if op in _COMPARISONS and not is_float(dtype) and not is_custom(dtype):
        return int(op in _REFLEXIVE)
    return None


def fold_cast_exactly(target: Attribute, value: Literal) -> Literal | None:
    """A literal converted to a scalar dtype where that is the value which is computed.

    None for a float that the integer type cannot hold, an integer that a float type
    rounds in two steps, a number that is out of range of a float type, and other dtypes.
    """
    if is_custom(target) or is_vector(target):
        return None
    if isinstance(value, int):
        if not is_integer(target) and abs(value) > _EXACT_IN_F64:
            return None
    elif is_integer_type(target) and target != i1:
        inside = math.isfinite(value) and fits(math.trunc(value), target)
        if not inside:
            return None
    try:
        folded = fold_cast(target, value)
    except FoldError:
        return None
    if folded is not None and is_float(target):
        try:
            require_in_range(folded, target)
        except ValueError:
            return None
    return folded
