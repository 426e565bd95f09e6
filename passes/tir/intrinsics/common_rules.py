"""Rules that several targets share, and those of the tables `default`."""

from __future__ import annotations

import math
from typing import Final

from xdsl.dialects.builtin import f16, f32, f64, i1, i32, i64
from xdsl.ir import Attribute

from xdsl_tvm.analysis.arith import smart
from xdsl_tvm.analysis.arith.expr import Broadcast, Const, Expr
from xdsl_tvm.dialects import tir
from xdsl_tvm.passes.tir.intrinsics.registry import (
    LEGALIZE,
    LOWER,
    IntrinsicCall,
    Rule,
    add_rule,
)


def add_rules(table: str, names: str, rule: Rule) -> None:
    """Add one rule for several builtins, whose names are words."""
    for name in names.split():
        add_rule(table, name, rule)


def register() -> None:
    """Add the rules that hold for every target without one of its own."""
    add_rules(
        f"default.{LOWER}",
        "exp erf log log2 log10 log1p tanh tan atan atanh atan2 cos acos cosh acosh sin "
        "asin sinh asinh hypot nextafter copysign ldexp sqrt floor ceil round nearbyint "
        "pow",
        _c_function,
    )
    table = f"default.{LEGALIZE}"
    add_rule(table, "rsqrt", _rsqrt)
    add_rule(table, "sigmoid", sigmoid)
    add_rule(table, "isfinite", _isfinite)
    add_rule(table, "isinf", _isinf)
    add_rule(table, "q_multiply_shift", _multiply_shift)
    add_rule(table, "q_multiply_shift_per_axis", _multiply_shift_per_axis)


def pure_extern(call: IntrinsicCall) -> Expr:
    """A pure call of the C symbol of the same name."""
    return call.extern(call.name, *call.args)


def _c_function(call: IntrinsicCall) -> Expr | IntrinsicCall:
    if call.dtype == f32:
        return call.extern(f"{call.name}f", *call.args)
    return pure_extern(call) if call.dtype == f64 else call


# ---- functions by others ----


def exp(x: Expr) -> Expr:
    """`e^x` in the dtype of `x`."""
    return smart.call("exp", [x], x.dtype)


def stable_tanh(call: IntrinsicCall) -> Expr:
    """The hyperbolic tangent by exponentials that do not overflow where they count."""
    (x,) = call.args
    negative, positive = exp(smart.mul(-2, x)), exp(smart.mul(2, x))
    return smart.select(
        smart.ge(x, 0),
        smart.truncdiv(smart.sub(1, negative), smart.add(1, negative)),
        smart.truncdiv(smart.sub(positive, 1), smart.add(positive, 1)),
    )


def sine_by_cosine(call: IntrinsicCall) -> Expr:
    """The tangent."""
    sine, cosine = (smart.call(n, call.args, call.dtype) for n in ("sin", "cos"))
    return smart.truncdiv(sine, cosine)


def _rsqrt(call: IntrinsicCall) -> Expr:
    return smart.truncdiv(
        smart.const(1, call.dtype), smart.call("sqrt", call.args, call.dtype)
    )


def sigmoid(call: IntrinsicCall) -> Expr:
    """The logistic function."""
    (x,) = call.args
    return smart.truncdiv(1, smart.add(1, exp(smart.sub(0, x))))


def _isnan(x: Expr) -> Expr:
    return smart.call("isnan", [x], tir.like_lanes(i1, x.dtype))


def _isinf(call: IntrinsicCall) -> Expr:
    (x,) = call.args
    if not tir.is_float(x.dtype):
        return smart.const(0, call.dtype)
    magnitude = smart.call("fabs", [x], x.dtype)
    infinite = smart.eq(magnitude, smart.const(math.inf, x.dtype))
    return smart.conjunction(infinite, smart.negation(_isnan(x)))


def _isfinite(call: IntrinsicCall) -> Expr:
    (x,) = call.args
    if not tir.is_float(x.dtype):
        return smart.const(1, call.dtype)
    infinite = call.call("isinf", x)
    return smart.conjunction(smart.negation(infinite), smart.negation(_isnan(x)))


_ODD: Final = (
    -2.72614225801306e-10,
    2.77068142495902e-08,
    -2.10102402082508e-06,
    -5.69250639462346e-05,
    -7.34990630326855e-04,
    -2.95459980854025e-03,
    -1.60960333262415e-02,
)
_EVEN: Final = (
    -1.45660718464996e-05,
    -2.13374055278905e-04,
    -1.68282697438203e-03,
    -7.37332916720468e-03,
    -1.42647390514189e-02,
)


def fast_erf(call: IntrinsicCall) -> Expr:
    """A rational approximation of the error function, computed as `float32`.

    Raises PassFailedException for other dtypes than `float16` and `float32`.
    """
    (x,) = call.args
    element = tir.element_of(call.dtype)
    if element not in (f16, f32):
        raise call.error(
            f"target {call.target.kind.name} has an approximation of erf for float16 and "
            f"float32, not for {tir.dtype_name(call.dtype)}; convert the operand"
        )
    x = smart.cast(tir.like_lanes(f32, x.dtype), x)
    x = smart.maximum(-4, smart.minimum(x, 4))
    square = smart.mul(x, x)

    def polynomial(coefficients: tuple[float, ...]) -> Expr:
        total: Expr = smart.const(coefficients[0], x.dtype)
        for coefficient in coefficients[1:]:
            total = smart.add(smart.mul(square, total), coefficient)
        return total

    quotient = smart.truncdiv(smart.mul(x, polynomial(_ODD)), polynomial(_EVEN))
    return smart.cast(call.dtype, quotient)


# ---- fixed-point products ----


def shift_left(value: Expr, amount: Expr | int) -> Expr:
    """`value << amount`, in the dtype of the value."""
    return _shift("shift_left", value, amount)


def shift_right(value: Expr, amount: Expr | int) -> Expr:
    """`value >> amount`, in the dtype of the value."""
    return _shift("shift_right", value, amount)


def _shift(name: str, value: Expr, amount: Expr | int) -> Expr:
    by = amount if isinstance(amount, Expr) else smart.const(amount, value.dtype)
    return smart.call(name, [value, by], value.dtype)


def bit_and(value: Expr, other: Expr | int) -> Expr:
    """The bits of both."""
    mask = other if isinstance(other, Expr) else smart.const(other, value.dtype)
    return smart.call("bitwise_and", [value, mask], value.dtype)


def _number(tree: Expr) -> int | None:
    """The integer that all lanes are, None if that is not known."""
    if isinstance(tree, Broadcast):
        tree = tree.value
    return int(tree.value) if isinstance(tree, Const) else None


def _multiply_shift(call: IntrinsicCall) -> Expr:
    x, y, q, s = call.args
    exponent = _number(s)
    if _number(y) == 1 << 30 and _number(q) == 31 and exponent is not None:
        return _shifted(call, x, exponent - 1)
    zero = smart.const(0, s.dtype)
    is_left = smart.gt(s, 0)
    left = smart.select(is_left, s, zero)
    right = smart.select(is_left, zero, smart.sub(0, s))
    return _rounded_product(x, y, left, right, q, smart.ne(left, 0))


def _multiply_shift_per_axis(call: IntrinsicCall) -> Expr:
    x, y, left, right, q, is_left, _ = call.args
    return _rounded_product(x, y, left, right, q, is_left)


def _shifted(call: IntrinsicCall, x: Expr, exponent: int) -> Expr:
    """`x * 2^exponent` rounded half up, without an intermediate that overflows."""
    if exponent >= 0:
        return shift_left(x, exponent) if exponent else x
    half = 1 << -exponent - 1
    if call.bounds(x).max + half < 1 << 31:
        return shift_right(smart.add(x, half), -exponent)
    rest = bit_and(shift_right(x, -exponent - 1), 1)
    return smart.add(shift_right(x, -exponent), rest)


def _rounded_product(
    x: Expr, y: Expr, left: Expr, right: Expr, q: Expr, is_left: Expr
) -> Expr:
    """`(x << left) * y * 2^-(q + right)` rounded half up, by way of 64 bits."""
    wide: Attribute = tir.like_lanes(i64, x.dtype)

    def widened(tree: Expr) -> Expr:
        return smart.cast(wide, tree)

    value = widened(x)
    value = smart.select(is_left, shift_left(value, widened(left)), value)
    product = smart.mul(value, widened(y))
    total = smart.add(right, q)
    before = widened(smart.sub(total, 1))
    half = shift_left(smart.const(1, wide), before)
    known = _number(q)
    if known is None or known < 1:
        half = smart.select(smart.gt(total, 0), half, smart.const(0, wide))
    rounded = smart.add(product, half)
    return smart.cast(tir.like_lanes(i32, x.dtype), shift_right(rounded, widened(total)))
