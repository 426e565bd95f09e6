"""Element-wise operations, constants and counting."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from typing import Any, cast

from xdsl.dialects.builtin import (
    DenseIntOrFPElementsAttr,
    IntegerType,
    Signedness,
    bf16,
    f32,
    f64,
    i1,
)
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.utils.exceptions import VerifyException

from xdsl_tvm.dialects import relax
from xdsl_tvm.dialects.dtypes import (
    is_bool,
    is_float,
    is_integer_type,
    is_uint,
    numpy_dtype,
)
from xdsl_tvm.dialects.stablehlo import chlo
from xdsl_tvm.dialects.stablehlo import elementwise as hlo
from xdsl_tvm.dialects.stablehlo.assembly import element_of, shape_of
from xdsl_tvm.dialects.stablehlo.attributes import ComparisonDirection, ComparisonType
from xdsl_tvm.passes.stablehlo.conversion.emitter import Emitter, Number, wrapped
from xdsl_tvm.passes.stablehlo.conversion.rules import converts

_UNARY: dict[type[Operation], type[relax.OperatorOp]] = {
    hlo.AbsOp: relax.AbsOp,
    hlo.CeilOp: relax.CeilOp,
    hlo.CosineOp: relax.CosOp,
    hlo.ExponentialOp: relax.ExpOp,
    hlo.FloorOp: relax.FloorOp,
    hlo.IsFiniteOp: relax.IsFiniteOp,
    hlo.LogOp: relax.LogOp,
    hlo.LogisticOp: relax.SigmoidOp,
    hlo.RoundNearestEvenOp: relax.RoundOp,
    hlo.RsqrtOp: relax.RsqrtOp,
    hlo.SineOp: relax.SinOp,
    hlo.SqrtOp: relax.SqrtOp,
    hlo.TanOp: relax.TanOp,
    hlo.TanhOp: relax.TanhOp,
    chlo.AcosOp: relax.AcosOp,
    chlo.AcoshOp: relax.AcoshOp,
    chlo.AsinOp: relax.AsinOp,
    chlo.AsinhOp: relax.AsinhOp,
    chlo.AtanOp: relax.AtanOp,
    chlo.AtanhOp: relax.AtanhOp,
    chlo.CoshOp: relax.CoshOp,
    chlo.ErfOp: relax.ErfOp,
    chlo.IsInfOp: relax.IsInfOp,
    chlo.SinhOp: relax.SinhOp,
    chlo.SquareOp: relax.SquareOp,
    chlo.TanOp: relax.TanOp,
}

_BINARY: dict[type[Operation], type[relax.OperatorOp]] = {
    hlo.AddOp: relax.AddOp,
    hlo.DivideOp: relax.DivideOp,
    hlo.MaximumOp: relax.MaximumOp,
    hlo.MinimumOp: relax.MinimumOp,
    hlo.MultiplyOp: relax.MultiplyOp,
    hlo.PowerOp: relax.PowerOp,
    hlo.RemainderOp: relax.ModOp,
    hlo.SubtractOp: relax.SubtractOp,
    hlo.AndOp: relax.BitwiseAndOp,
    hlo.OrOp: relax.BitwiseOrOp,
    hlo.XorOp: relax.BitwiseXorOp,
}

_OF_BOOLS: dict[type[Operation], type[relax.OperatorOp]] = {
    hlo.AddOp: relax.LogicalOrOp,
    hlo.AndOp: relax.LogicalAndOp,
    hlo.MaximumOp: relax.LogicalOrOp,
    hlo.MinimumOp: relax.LogicalAndOp,
    hlo.MultiplyOp: relax.LogicalAndOp,
    hlo.OrOp: relax.LogicalOrOp,
    hlo.XorOp: relax.LogicalXorOp,
}

_COMPARISONS: dict[ComparisonDirection, type[relax.OperatorOp]] = {
    ComparisonDirection.EQ: relax.EqualOp,
    ComparisonDirection.NE: relax.NotEqualOp,
    ComparisonDirection.GE: relax.GreaterEqualOp,
    ComparisonDirection.GT: relax.GreaterOp,
    ComparisonDirection.LE: relax.LessEqualOp,
    ComparisonDirection.LT: relax.LessOp,
}

RELATIONS: dict[ComparisonDirection, Callable[[Any, Any], bool]] = {
    ComparisonDirection.EQ: operator.eq,
    ComparisonDirection.NE: operator.ne,
    ComparisonDirection.GE: operator.ge,
    ComparisonDirection.GT: operator.gt,
    ComparisonDirection.LE: operator.le,
    ComparisonDirection.LT: operator.lt,
}

_WHOLE: dict[type[Operation], Callable[[int, int], int]] = {
    hlo.AddOp: int.__add__,
    hlo.SubtractOp: int.__sub__,
    hlo.MultiplyOp: int.__mul__,
    hlo.MaximumOp: max,
    hlo.MinimumOp: min,
    hlo.AndOp: int.__and__,
    hlo.OrOp: int.__or__,
    hlo.XorOp: int.__xor__,
}
"""Arithmetic on integers that are known, as the numbers of steps of loops are."""


def folded(
    emitter: Emitter, op: Operation, value: Callable[..., int], *operands: SSAValue
) -> SSAValue | None:
    """The result of integers that are known; None where one is not."""
    numbers = [emitter.known.get(each) for each in operands]
    if any(not isinstance(number, int) for number in numbers):
        return None
    dtype = element_of(op.results[0])
    number = wrapped(value(*numbers), dtype)
    return emitter.full(number, dtype, shape_of(op.results[0]))


@converts(*_UNARY)
def _unary(emitter: Emitter, op: Any, operands: Sequence[SSAValue]) -> SSAValue:
    return emitter.op(_make(_UNARY[type(op)], operands))


def _make(kind: type[relax.OperatorOp], operands: Sequence[SSAValue]) -> Operation:
    """An operator that has operands only."""
    make = cast("Callable[..., Operation]", kind)
    return make(*operands)


@converts(*_BINARY)
def binary(emitter: Emitter, op: Any, operands: Sequence[SSAValue]) -> SSAValue:
    """The operator of Relax; of bools the logical one."""
    kind = cast("type[hlo.BinaryOp]", type(op))
    if kind in _WHOLE:
        found = folded(emitter, op, _WHOLE[kind], *operands)
        if found is not None:
            return found
    return combined(emitter, kind, *operands)


def combined(
    emitter: Emitter, kind: type[hlo.BinaryOp], lhs: SSAValue, rhs: SSAValue
) -> SSAValue:
    """What a binary operation makes of two tensors."""
    table = _OF_BOOLS if element_of(lhs) == i1 else _BINARY
    if kind not in table:
        raise VerifyException(f"it is not converted for elements of {element_of(lhs)}")
    return emitter.op(_make(table[kind], [lhs, rhs]))


@converts(hlo.NegateOp)
def _negate(emitter: Emitter, op: hlo.NegateOp, operands: Sequence[SSAValue]) -> SSAValue:
    found = folded(emitter, op, int.__neg__, *operands)
    return emitter.op(relax.NegativeOp(operands[0])) if found is None else found


@converts(hlo.NotOp)
def _not(emitter: Emitter, op: hlo.NotOp, operands: Sequence[SSAValue]) -> SSAValue:
    if element_of(operands[0]) != i1:
        return emitter.op(relax.BitwiseNotOp(operands[0]))
    found = folded(emitter, op, operator.not_, *operands)
    return emitter.op(relax.LogicalNotOp(operands[0])) if found is None else found


@converts(hlo.SignOp)
def _sign(emitter: Emitter, op: hlo.SignOp, operands: Sequence[SSAValue]) -> SSAValue:
    return emitter.op(relax.SignOp(operands[0]))


@converts(hlo.CbrtOp)
def _cbrt(emitter: Emitter, op: hlo.CbrtOp, operands: Sequence[SSAValue]) -> SSAValue:
    (x,) = operands
    third = emitter.constant(1 / 3, element_of(x))
    root = emitter.op(relax.PowerOp(emitter.op(relax.AbsOp(x)), third))
    return emitter.op(relax.MultiplyOp(emitter.op(relax.SignOp(x)), root))


@converts(hlo.ExponentialMinusOneOp)
def _expm1(
    emitter: Emitter, op: hlo.ExponentialMinusOneOp, operands: Sequence[SSAValue]
) -> SSAValue:
    """`tanh(x / 2) * (e ** x + 1)`, which is exact near 0, too."""
    (x,) = operands
    dtype = element_of(x)
    half = emitter.op(relax.MultiplyOp(x, emitter.constant(0.5, dtype)))
    one = emitter.constant(1.0, dtype)
    more = emitter.op(relax.AddOp(emitter.op(relax.ExpOp(x)), one))
    return emitter.op(relax.MultiplyOp(emitter.op(relax.TanhOp(half)), more))


@converts(hlo.LogPlusOneOp)
def _log1p(
    emitter: Emitter, op: hlo.LogPlusOneOp, operands: Sequence[SSAValue]
) -> SSAValue:
    return log_plus_one(emitter, operands[0])


def log_plus_one(emitter: Emitter, x: SSAValue) -> SSAValue:
    """`log(u) * (x / (u - 1))` of `u = 1 + x`, which takes the rounding of u back."""
    one = emitter.constant(1.0, element_of(x))
    u = emitter.op(relax.AddOp(x, one))
    log = emitter.op(relax.LogOp(u))
    correction = emitter.op(relax.DivideOp(x, emitter.op(relax.SubtractOp(u, one))))
    value = emitter.op(relax.MultiplyOp(log, correction))
    value = emitter.op(relax.WhereOp(emitter.op(relax.IsInfOp(u)), log, value))
    return emitter.op(relax.WhereOp(emitter.op(relax.EqualOp(u, one)), x, value))


@converts(hlo.RoundNearestAfzOp)
def _round_nearest_afz(
    emitter: Emitter, op: hlo.RoundNearestAfzOp, operands: Sequence[SSAValue]
) -> SSAValue:
    (x,) = operands
    dtype = element_of(x)
    magnitude = emitter.op(relax.AbsOp(x))
    below = emitter.op(relax.FloorOp(magnitude))
    rest = emitter.op(relax.SubtractOp(magnitude, below))
    up = emitter.op(relax.GreaterEqualOp(rest, emitter.constant(0.5, dtype)))
    above = emitter.op(relax.AddOp(below, emitter.constant(1.0, dtype)))
    value = emitter.op(relax.WhereOp(up, above, below))
    return emitter.op(relax.MultiplyOp(emitter.op(relax.SignOp(x)), value))


@converts(chlo.ErfcOp)
def _erfc(emitter: Emitter, op: chlo.ErfcOp, operands: Sequence[SSAValue]) -> SSAValue:
    one = emitter.constant(1.0, element_of(operands[0]))
    return emitter.op(relax.SubtractOp(one, emitter.op(relax.ErfOp(operands[0]))))


_NEAR = (
    2.81022636e-08, 3.43273939e-07, -3.5233877e-06, -4.39150654e-06, 0.00021858087,
    -0.00125372503, -0.00417768164, 0.246640727, 1.50140941,
)  # fmt: skip
_FAR = (
    -0.000200214257, 0.000100950558, 0.00134934322, -0.00367342844, 0.00573950773,
    -0.0076224613, 0.00943887047, 1.00167406, 2.83297682,
)  # fmt: skip
"""Giles, "Approximating the erfinv function" (2010), for numbers of single precision."""


@converts(chlo.ErfInvOp)
def _erf_inv(
    emitter: Emitter, op: chlo.ErfInvOp, operands: Sequence[SSAValue]
) -> SSAValue:
    """A polynomial in `-log(1 - x * x)`, or in its root far from 0; infinite at 1."""
    dtype = element_of(operands[0])
    if dtype == f64:
        raise VerifyException("it is not converted for elements of f64")
    x = emitter.cast(operands[0], f32)

    def both(kind: type[relax.OperatorOp], a: SSAValue, b: SSAValue | float) -> SSAValue:
        other = b if isinstance(b, SSAValue) else emitter.constant(b, f32)
        return emitter.op(_make(kind, [a, other]))

    square = both(relax.MultiplyOp, x, emitter.op(relax.NegativeOp(x)))
    w = emitter.op(relax.NegativeOp(log_plus_one(emitter, square)))
    is_near = both(relax.LessOp, w, 5.0)
    near = both(relax.SubtractOp, w, 2.5)
    far = both(relax.SubtractOp, emitter.op(relax.SqrtOp(w)), 3.0)
    w = emitter.op(relax.WhereOp(is_near, near, far))
    value: SSAValue | None = None
    for pair in zip(_NEAR, _FAR, strict=True):
        here, there = (emitter.constant(each, f32) for each in pair)
        factor = emitter.op(relax.WhereOp(is_near, here, there))
        if value is not None:
            factor = both(relax.AddOp, factor, both(relax.MultiplyOp, value, w))
        value = factor
    assert value is not None
    at_end = both(relax.EqualOp, emitter.op(relax.AbsOp(x)), 1.0)
    scale = emitter.op(relax.WhereOp(at_end, emitter.constant(math.inf, f32), value))
    return emitter.cast(both(relax.MultiplyOp, x, scale), dtype)


@converts(hlo.BitcastConvertOp)
def _bitcast_convert(
    emitter: Emitter, op: hlo.BitcastConvertOp, operands: Sequence[SSAValue]
) -> SSAValue:
    """The bits of the elements in another dtype.

    A wider one is of the elements along the last dimension, the first the lowest bits.
    """
    (x,) = operands
    before, after = (
        8 * numpy_dtype(element_of(value)).itemsize for value in (x, op.result)
    )
    if element_of(x) == i1 or element_of(op.result) == i1:
        raise VerifyException("it is not converted for bools")
    least, most = sorted((before, after))
    narrow, wide = (IntegerType(bits, Signedness.UNSIGNED) for bits in (least, most))
    if before < after:
        x = emitter.cast(emitter.bits(x, narrow), wide)
        axis = len(shape_of(x)) - 1
        shifts = emitter.constant(least, wide)
        shifts = emitter.op(
            relax.MultiplyOp(emitter.count_up(most // least, wide), shifts)
        )
        # The bits do not overlap, so that their sum is all of them.
        x = emitter.op(relax.SumOp(emitter.op(relax.LeftShiftOp(x, shifts)), [axis]))
    elif before > after:
        x = emitter.bits(x, wide)
        x = emitter.reshape(x, [*shape_of(x), 1])
        shifts = emitter.constant(least, wide)
        shifts = emitter.op(
            relax.MultiplyOp(emitter.count_up(most // least, wide), shifts)
        )
        x = emitter.cast(emitter.op(relax.RightShiftOp(x, shifts)), narrow)
    return emitter.bits(x, element_of(op.result))


@converts(chlo.IsPosInfOp, chlo.IsNegInfOp)
def _is_signed_inf(emitter: Emitter, op: Any, operands: Sequence[SSAValue]) -> SSAValue:
    value = math.inf if isinstance(op, chlo.IsPosInfOp) else -math.inf
    infinity = emitter.constant(value, element_of(operands[0]))
    return emitter.op(relax.EqualOp(operands[0], infinity))


@converts(hlo.ShiftLeftOp, hlo.ShiftRightArithmeticOp, hlo.ShiftRightLogicalOp)
def _shift(emitter: Emitter, op: Any, operands: Sequence[SSAValue]) -> SSAValue:
    """A shift of Relax is by less than the width of the dtype."""
    x, amount = operands
    dtype = element_of(x)
    if not is_integer_type(dtype):
        raise VerifyException(f"shifts of {dtype} are not converted")
    width = dtype.width.data
    unsigned = IntegerType(width, Signedness.UNSIGNED)
    logical = isinstance(op, hlo.ShiftRightLogicalOp) and not is_uint(dtype)
    if logical:
        x = emitter.cast(x, unsigned)
    known = emitter.known.get(amount)
    is_safe = isinstance(known, int) and 0 <= known < width
    by = emitter.cast(amount, unsigned)
    most = emitter.constant(width - 1, unsigned)
    near = by if is_safe else emitter.op(relax.MinimumOp(by, most))
    near = emitter.cast(near, element_of(x))
    kind = relax.LeftShiftOp if isinstance(op, hlo.ShiftLeftOp) else relax.RightShiftOp
    result = emitter.op(kind(x, near))
    if not is_safe and (logical or isinstance(op, hlo.ShiftLeftOp) or is_uint(dtype)):
        zero = emitter.constant(0, element_of(x))
        is_far = emitter.op(relax.GreaterOp(by, most))
        result = emitter.op(relax.WhereOp(is_far, zero, result))
    return emitter.cast(result, dtype)


@converts(hlo.ConvertOp)
def _convert(
    emitter: Emitter, op: hlo.ConvertOp, operands: Sequence[SSAValue]
) -> SSAValue:
    (x,) = operands
    dtype = element_of(op.result)
    if dtype == i1 and element_of(x) != i1:
        zero = emitter.constant(0, element_of(x))
        return emitter.op(relax.NotEqualOp(x, zero))
    return emitter.cast(x, dtype)


@converts(hlo.CompareOp)
def _compare(
    emitter: Emitter, op: hlo.CompareOp, operands: Sequence[SSAValue]
) -> SSAValue:
    direction = op.comparison_direction.data

    def compared(a: int, b: int) -> int:
        return int(RELATIONS[direction](a, b))

    found = folded(emitter, op, compared, *operands)
    if found is not None:
        return found
    kind = op.compare_type
    dtype = element_of(operands[0])
    lhs, rhs = operands
    if is_float(dtype) and kind is not None and kind.data is ComparisonType.TOTALORDER:
        return _total_order(emitter, direction, lhs, rhs)
    if is_bool(dtype):
        # Relax compares numbers.
        whole = IntegerType(8)
        operands = [emitter.cast(each, whole) for each in operands]
    return emitter.op(_make(_COMPARISONS[direction], operands))


def _total_order(
    emitter: Emitter, direction: ComparisonDirection, lhs: SSAValue, rhs: SSAValue
) -> SSAValue:
    """The order of numbers, in which -0 is before 0, and any NaN is after all others.

    Zeros differ by their reciprocals, which of other equal numbers are equal.
    """

    def both(kind: type[relax.OperatorOp], a: SSAValue, b: SSAValue) -> SSAValue:
        return emitter.op(_make(kind, [a, b]))

    one = emitter.constant(1.0, element_of(lhs))
    inverses = [both(relax.DivideOp, one, value) for value in (lhs, rhs)]
    nans = [emitter.op(relax.IsNanOp(value)) for value in (lhs, rhs)]
    is_equal = both(relax.EqualOp, lhs, rhs)

    def same() -> SSAValue:
        equal = both(relax.LogicalAndOp, is_equal, both(relax.EqualOp, *inverses))
        return both(relax.LogicalOrOp, equal, both(relax.LogicalAndOp, *nans))

    def before(first: int) -> SSAValue:
        pair = (lhs, rhs) if first == 0 else (rhs, lhs)
        second = 1 - first
        is_less = both(relax.LessOp, inverses[first], inverses[second])
        zeros = both(relax.LogicalAndOp, is_equal, is_less)
        numbers = both(relax.LogicalOrOp, both(relax.LessOp, *pair), zeros)
        is_number = emitter.op(relax.LogicalNotOp(nans[first]))
        to_nan = both(relax.LogicalAndOp, nans[second], is_number)
        return both(relax.LogicalOrOp, numbers, to_nan)

    match direction:
        case ComparisonDirection.EQ:
            return same()
        case ComparisonDirection.NE:
            return emitter.op(relax.LogicalNotOp(same()))
        case ComparisonDirection.LT | ComparisonDirection.LE:
            found = before(0)
        case ComparisonDirection.GT | ComparisonDirection.GE:
            found = before(1)
    if direction in (ComparisonDirection.LE, ComparisonDirection.GE):
        found = both(relax.LogicalOrOp, found, same())
    return found


@converts(hlo.SelectOp)
def _select(emitter: Emitter, op: hlo.SelectOp, operands: Sequence[SSAValue]) -> SSAValue:
    condition, true, false = operands
    known = emitter.known.get(condition)
    if known is not None:
        return true if known else false
    return emitter.op(relax.WhereOp(condition, true, false))


def _clamped(least: int, value: int, most: int) -> int:
    return min(max(least, value), most)


@converts(hlo.ClampOp)
def _clamp(emitter: Emitter, op: hlo.ClampOp, operands: Sequence[SSAValue]) -> SSAValue:
    least, x, most = operands
    found = folded(emitter, op, _clamped, *operands)
    if found is not None:
        return found
    above = combined(emitter, hlo.MaximumOp, least, x)
    return combined(emitter, hlo.MinimumOp, above, most)


@converts(hlo.ReducePrecisionOp)
def _reduce_precision(
    emitter: Emitter, op: hlo.ReducePrecisionOp, operands: Sequence[SSAValue]
) -> SSAValue:
    dtype = element_of(operands[0])
    bits = (op.exponent_bits.value.data, op.mantissa_bits.value.data)
    if bits == _BITS.get(str(dtype)):
        return operands[0]
    found = [kind for kind, each in _FLOATS.items() if each == bits]
    if not found:
        raise VerifyException(
            f"floats of {bits[0]} bits of exponent and {bits[1]} of mantissa are not "
            "converted; only those of bf16 and of the dtype itself"
        )
    return emitter.cast(emitter.cast(operands[0], found[0]), dtype)


_BITS = {"f16": (5, 10), "bf16": (8, 7), "f32": (8, 23), "f64": (11, 52)}
_FLOATS: dict[Attribute, tuple[int, int]] = {bf16: (8, 7)}


@converts(hlo.ConstantOp)
def _constant(
    emitter: Emitter, op: hlo.ConstantOp, operands: Sequence[SSAValue]
) -> SSAValue:
    value = cast("DenseIntOrFPElementsAttr[Any]", op.value)
    shape = shape_of(op.output)
    if value.is_splat() and 0 not in shape:
        number = cast(Number, value.get_values()[0])
        return emitter.full(number, element_of(op.output), shape)
    return emitter.op(relax.ConstantOp(value))


@converts(hlo.IotaOp)
def _iota(emitter: Emitter, op: hlo.IotaOp, operands: Sequence[SSAValue]) -> SSAValue:
    shape, axis = shape_of(op.output), op.iota_dimension.value.data
    numbers = emitter.count_up(shape[axis], element_of(op.output))
    return emitter.broadcast(emitter.along(numbers, len(shape), axis), shape)
