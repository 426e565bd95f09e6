"""Rules of operators that work element by element (docs/spec/relax-ops.md §1 to §3)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from xdsl.dialects.builtin import f64, i1, i64
from xdsl.ir import Attribute, Operation

from xdsl_tvm.dialects import relax, tir
from xdsl_tvm.passes.relax.legalize.registry import NoStagesError, RuleContext, rule
from xdsl_tvm.passes.relax.legalize.stages import broadcast_indices, elementwise, wide
from xdsl_tvm.passes.relax.legalize.tensor_expression import (
    Dim,
    Expr,
    Operand,
    Scalar,
    Tensor,
)

# ---- one tensor ----


def _intrinsic(name: str) -> Callable[[Expr], Expr]:
    return lambda x: x.call(name)


def _wide(name: str) -> Callable[[Expr], Expr]:
    """In `f32` for halves, for which the CPU has no such instruction."""
    return lambda x: wide(x).call(name).cast(x.dtype)


_LARGE = 1e9
"""Above it, 1 beside the square of a number is lost in every float type."""


def _asinh(x: Expr) -> Expr:
    """The sign of `x` times `log(a + sqrt(a^2 + 1))`, without loss where it is small."""
    a = wide(x).call("fabs")
    square = a * a
    near = (a + square / ((square + 1).call("sqrt") + 1)).call("log1p")
    return _unless_large(a, near).call("copysign", wide(x)).cast(x.dtype)


def _acosh(x: Expr) -> Expr:
    """`log(x + sqrt(x^2 - 1))`, without loss near 1; NaN below it."""
    t = wide(x) - 1
    near = (t + t.call("sqrt") * (t + 2).call("sqrt")).call("log1p")
    return _unless_large(wide(x), near).cast(x.dtype)


def _unless_large(x: Expr, near: Expr) -> Expr:
    return x.program.select(x > _LARGE, x.call("log") + math.log(2), near)


def _atanh(x: Expr) -> Expr:
    """Half of `log((1 + x) / (1 - x))`, without loss where `x` is small."""
    w = wide(x)
    return (((w * 2) / (w * -1 + 1)).call("log1p") * 0.5).cast(x.dtype)


def _negative(x: Expr) -> Expr:
    if tir.is_bool(x.dtype):
        return x
    zero = -0.0 if tir.is_float(x.dtype) else 0
    return x.program.constant(zero, x.dtype) - x


def _abs(x: Expr) -> Expr:
    if tir.is_float(x.dtype):
        return x.call("fabs")
    return x if _is_unsigned(x.dtype) else x.maximum(_negative(x))


def _is_unsigned(dtype: Attribute) -> bool:
    return tir.is_bool(dtype) or tir.is_uint(dtype)


def _sign(x: Expr) -> Expr:
    if _is_unsigned(x.dtype):
        return (x > 0).cast(x.dtype) if not tir.is_bool(x.dtype) else x
    program, dtype = x.program, x.dtype
    zero, one = program.constant(0, dtype), program.constant(1, dtype)
    # A NaN is neither below nor above, and stays.
    neither = x if tir.is_float(dtype) else zero
    below = program.select(x < zero, program.constant(-1, dtype), neither)
    return program.select(x > zero, one, below)


def _rounded(name: str) -> Callable[[Expr], Expr]:
    """Whole numbers are what they are."""
    return lambda x: _wide(name)(x) if tir.is_float(x.dtype) else x


def _logical_not(x: Expr) -> Expr:
    return (~_truth(x)).cast(x.dtype)


def _truth(x: Expr) -> Expr:
    return x if tir.is_bool(x.dtype) else ~x.equals(0)


def _bitwise_not(x: Expr) -> Expr:
    _expect_integer(x)
    return ~x if tir.is_bool(x.dtype) else x.call("bitwise_not")


def _expect_integer(x: Expr) -> None:
    if tir.is_float(x.dtype):
        raise NoStagesError


_UNARY: dict[type[Operation], Callable[[Expr], Expr]] = {
    relax.AbsOp: _abs,
    relax.AcosOp: _intrinsic("acos"),
    relax.AcoshOp: _acosh,
    relax.AsinOp: _intrinsic("asin"),
    relax.AsinhOp: _asinh,
    relax.AtanOp: _intrinsic("atan"),
    relax.AtanhOp: _atanh,
    relax.BitwiseNotOp: _bitwise_not,
    relax.CeilOp: _rounded("ceil"),
    relax.CosOp: _intrinsic("cos"),
    relax.CoshOp: _intrinsic("cosh"),
    relax.ExpOp: _intrinsic("exp"),
    relax.FloorOp: _rounded("floor"),
    relax.LogOp: _intrinsic("log"),
    relax.LogicalNotOp: _logical_not,
    relax.NegativeOp: _negative,
    relax.RoundOp: _rounded("nearbyint"),
    relax.RsqrtOp: _intrinsic("rsqrt"),
    relax.SigmoidOp: _intrinsic("sigmoid"),
    relax.SignOp: _sign,
    relax.SinOp: _intrinsic("sin"),
    relax.SinhOp: _intrinsic("sinh"),
    relax.SqrtOp: _wide("sqrt"),
    relax.SquareOp: lambda x: x & x if tir.is_bool(x.dtype) else x * x,
    relax.TanOp: _intrinsic("tan"),
    relax.TanhOp: _intrinsic("tanh"),
}


@rule(*_UNARY, function="tir_{}")
def unary(op: Operation, site: RuleContext) -> Tensor:
    """A function of each element, in its dtype."""
    return elementwise(site.program, "compute", site.tensor(0), _UNARY[type(op)])


@rule(relax.ErfOp)
def erf(op: relax.ErfOp, site: RuleContext) -> Tensor:
    """The error function, computed in `f32` for `f16`."""
    return elementwise(site.program, "T_erf", site.tensor(0), _wide("erf"))


@rule(relax.ReluOp)
def relu(op: relax.ReluOp, site: RuleContext) -> Tensor:
    """`max(x, 0)`."""
    return elementwise(site.program, "relu", site.tensor(0), _relu)


def _relu(x: Expr) -> Expr:
    return x if tir.is_bool(x.dtype) else x.maximum(0)


@rule(relax.GeluOp)
def gelu(op: relax.GeluOp, site: RuleContext) -> Tensor:
    """`x * (0.5 + 0.5 * erf(x * sqrt(1/2)))`, erf in `f32` for `f16`."""

    def element(x: Expr) -> Expr:
        return x * (_wide("erf")(x * math.sqrt(0.5)) * 0.5 + 0.5)

    return elementwise(site.program, "gelu", site.tensor(0), element)


@rule(relax.GeluTanhOp)
def gelu_tanh(op: relax.GeluTanhOp, site: RuleContext) -> Tensor:
    """`0.5 x (1 + tanh(sqrt(2 / pi) x (1 + 0.044715 x^2)))`."""

    def element(x: Expr) -> Expr:
        inner = x * math.sqrt(2 / math.pi) * (x * x * 0.044715 + 1)
        return x * 0.5 * (inner.call("tanh") + 1)

    return elementwise(site.program, "gelu_tanh", site.tensor(0), element)


@rule(relax.SiluOp)
def silu(op: relax.SiluOp, site: RuleContext) -> Tensor:
    """`x * sigmoid(x)`."""
    return elementwise(
        site.program, "silu", site.tensor(0), lambda x: x * x.call("sigmoid")
    )


@rule(relax.SeluOp)
def selu(op: relax.SeluOp, site: RuleContext) -> Tensor:
    """`scale * (max(0, x) + min(0, alpha * (exp(x) - 1)))`."""

    def element(x: Expr) -> Expr:
        below = (x.call("exp") - 1) * 1.6732632423543772
        return (x.maximum(0) + below.minimum(0)) * 1.0507009873554805

    return elementwise(site.program, "selu", site.tensor(0), element)


@rule(relax.LeakyReluOp)
def leaky_relu(op: relax.LeakyReluOp, site: RuleContext) -> Tensor:
    """`x`, `alpha * x` where it is negative."""
    alpha = op.alpha.value.data

    def element(x: Expr) -> Expr:
        return site.program.select(x > 0, x, x * alpha)

    return elementwise(site.program, "leaky_relu", site.tensor(0), element)


@rule(relax.SoftplusOp)
def softplus(op: relax.SoftplusOp, site: RuleContext) -> Tensor:
    """`log(1 + exp(beta x)) / beta`, `x` where `beta x` is above the threshold.

    `log1p` keeps the digits that `1 + exp(beta x)` loses for negative `x`.
    """
    beta, threshold = op.beta.value.data, op.threshold.value.data

    def element(x: Expr) -> Expr:
        scaled = x * beta
        curve = scaled.call("exp").call("log1p") / beta
        return site.program.select(scaled > threshold, x, curve)

    return elementwise(site.program, "softplus", site.tensor(0), element)


_PREDICATES: dict[type[Operation], Callable[[Expr], Expr]] = {
    relax.IsNanOp: lambda x: x.call("isnan", dtype=i1),
    relax.IsInfOp: lambda x: x.call("fabs").equals(math.inf),
    relax.IsFiniteOp: lambda x: x.call("fabs") < math.inf,
}


@rule(*_PREDICATES, function="tir_{}")
def predicate(op: Operation, site: RuleContext) -> Tensor:
    """A question about each element; whole numbers are finite."""
    program, x = site.program, site.tensor(0)

    def element(*indices: Expr) -> Expr:
        if tir.is_float(x.dtype):
            return _PREDICATES[type(op)](x[indices])
        return program.constant(int(isinstance(op, relax.IsFiniteOp)), i1)

    return program.compute("compute", x.shape, i1, element)


@rule(relax.ClipOp, function="tir_{}")
def clip(op: relax.ClipOp, site: RuleContext) -> Tensor:
    """`max(min(x, high), low)`, the bounds converted to the dtype of `x`."""
    low, high = site.scalar(1), site.scalar(2)

    def element(x: Expr) -> Expr:
        return x.minimum(high.of(x.dtype)).maximum(low.of(x.dtype))

    return elementwise(site.program, "compute", site.tensor(0), element)


# ---- two tensors or numbers ----


def _maximum(a: Expr, b: Expr) -> Expr:
    return a | b if tir.is_bool(a.dtype) else a.maximum(b)


def _minimum(a: Expr, b: Expr) -> Expr:
    return a & b if tir.is_bool(a.dtype) else a.minimum(b)


def _logical(combine: Callable[[Expr, Expr], Expr]) -> Callable[[Expr, Expr], Expr]:
    return lambda a, b: combine(_truth(a), _truth(b)).cast(a.dtype)


def _differ(a: Expr, b: Expr) -> Expr:
    return a.program.compare(tir.CmpPredicate.NE, a, b)


def _bitwise(
    name: str, of_bools: Callable[[Expr, Expr], Expr] | None = None
) -> Callable[[Expr, Expr], Expr]:
    def combine(a: Expr, b: Expr) -> Expr:
        _expect_integer(a)
        if not tir.is_bool(a.dtype):
            return a.call(name, b)
        if of_bools is None:
            raise NoStagesError
        return of_bools(a, b)

    return combine


def _power(a: Expr, b: Expr) -> Expr:
    if not tir.is_float(a.dtype):
        return _whole_power(a, b)
    number = tir.constant_value(b.value)
    return a * a if number == 2 else a.call("pow", b)


def _whole_power(a: Expr, b: Expr) -> Expr:
    """By squaring, once for each bit that the exponent can have."""
    if tir.is_bool(a.dtype):
        raise NoStagesError
    program, number = a.program, tir.constant_value(b.value)
    result, square = program.constant(1, a.dtype), a
    if number is not None:
        if number < 0:
            raise NoStagesError
        for bit in range(int(number).bit_length()):
            square = square * square if bit else a
            result = result * square if int(number) >> bit & 1 else result
        return result
    assert tir.is_integer_type(a.dtype)
    for bit in range(a.dtype.width.data - (not tir.is_uint(a.dtype))):
        square = square * square if bit else a
        is_set = ~b.call("shift_right", bit).call("bitwise_and", 1).equals(0)
        result = program.select(is_set, result * square, result)
    return result


def _arithmetic(function: Callable[[Expr, Expr], Expr]) -> Callable[[Expr, Expr], Expr]:
    """Not for bools, of which the interpreter and TVM make different things."""

    def combine(a: Expr, b: Expr) -> Expr:
        if tir.is_bool(a.dtype):
            raise NoStagesError
        return function(a, b)

    return combine


def _division(function: Callable[[Expr, Expr], Expr]) -> Callable[[Expr, Expr], Expr]:
    """One that rounds to a whole number in between: in `f32` for halves."""
    return _arithmetic(lambda a, b: function(wide(a), wide(b)).cast(a.dtype))


_BINARY: dict[type[Operation], Callable[[Expr, Expr], Expr]] = {
    relax.AddOp: _arithmetic(lambda a, b: a + b),
    relax.SubtractOp: _arithmetic(lambda a, b: a - b),
    relax.MultiplyOp: _arithmetic(lambda a, b: a * b),
    relax.DivideOp: _arithmetic(lambda a, b: a / b),
    relax.FloorDivideOp: _division(lambda a, b: a // b),
    relax.ModOp: _division(lambda a, b: a.remainder(b)),
    relax.FloorModOp: _division(lambda a, b: a % b),
    relax.PowerOp: _power,
    relax.MaximumOp: _maximum,
    relax.MinimumOp: _minimum,
    relax.LogicalAndOp: _logical(lambda a, b: a & b),
    relax.LogicalOrOp: _logical(lambda a, b: a | b),
    relax.LogicalXorOp: _logical(_differ),
    relax.BitwiseAndOp: _bitwise("bitwise_and", lambda a, b: a & b),
    relax.BitwiseOrOp: _bitwise("bitwise_or", lambda a, b: a | b),
    relax.BitwiseXorOp: _bitwise("bitwise_xor", _differ),
    relax.LeftShiftOp: _bitwise("shift_left"),
    relax.RightShiftOp: _bitwise("shift_right"),
}
_COMPARISONS: dict[type[Operation], tir.CmpPredicate] = {
    relax.EqualOp: tir.CmpPredicate.EQ,
    relax.NotEqualOp: tir.CmpPredicate.NE,
    relax.LessOp: tir.CmpPredicate.LT,
    relax.LessEqualOp: tir.CmpPredicate.LE,
    relax.GreaterOp: tir.CmpPredicate.GT,
    relax.GreaterEqualOp: tir.CmpPredicate.GE,
}


@rule(*_BINARY, immediates=(1, 0))
def binary(op: Operation, site: RuleContext) -> Tensor:
    """A function of the elements that broadcasting pairs."""
    return _broadcast(op, site, _BINARY[type(op)])


@rule(*_COMPARISONS, immediates=(1, 0))
def comparison(op: Operation, site: RuleContext) -> Tensor:
    """A comparison of the elements that broadcasting pairs, perhaps of two dtypes."""
    predicate = _COMPARISONS[type(op)]
    common = _common_dtype(site.operand(0).dtype, site.operand(1).dtype)

    def compare(a: Expr, b: Expr) -> Expr:
        return site.program.compare(predicate, a.cast(common), b.cast(common))

    return _broadcast(op, site, compare)


def _common_dtype(lhs: Attribute, rhs: Attribute) -> Attribute:
    """A type that holds the values of both."""
    if lhs == rhs:
        return lhs
    if tir.is_float(lhs) or tir.is_float(rhs):
        return f64
    if any(tir.is_uint(each) and _bits(each) == 64 for each in (lhs, rhs)):
        raise NoStagesError
    return i64


def _bits(dtype: Attribute) -> int:
    assert tir.is_integer_type(dtype)
    return dtype.width.data


def _broadcast(
    op: Operation, site: RuleContext, function: Callable[[Expr, Expr], Expr]
) -> Tensor:
    program, lhs, rhs = site.program, site.operand(0), site.operand(1)

    def element(*indices: Expr) -> Expr:
        left, right = (_element(each, indices, site.shape) for each in (lhs, rhs))
        return function(left, right)

    name = f"T_{op.name.rpartition('.')[2]}"
    return program.compute(name, site.shape, site.dtype, element)


def _element(operand: Operand, indices: tuple[Expr, ...], shape: Sequence[Dim]) -> Expr:
    if isinstance(operand, Scalar):
        return operand.of(operand.dtype)
    return operand[broadcast_indices(operand.program, operand, indices, shape)]


# ---- three tensors ----


@rule(relax.EwiseFmaOp)
def ewise_fma(op: relax.EwiseFmaOp, site: RuleContext) -> Tensor:
    """`x1 * x2 + x3`, rounded once."""
    x1, x2, x3 = (site.tensor(position) for position in range(3))
    if tir.is_bool(x1.dtype):
        raise NoStagesError

    def element(*indices: Expr) -> Expr:
        a, b, c = x1[indices], x2[indices], x3[indices]
        if not tir.is_float(x1.dtype):
            return a * b + c
        return wide(a).call("fma", wide(b), wide(c)).cast(x1.dtype)

    return site.program.compute("T_fma", site.shape, x1.dtype, element)


@rule(relax.WhereOp)
def where(op: relax.WhereOp, site: RuleContext) -> Tensor:
    """An element of `x1` or of `x2`, as the condition says."""
    program = site.program
    operands = [site.tensor(position) for position in range(3)]

    def element(*indices: Expr) -> Expr:
        condition, x1, x2 = (_element(each, indices, site.shape) for each in operands)
        return program.select(condition, x1, x2)

    return program.compute("T_where", site.shape, site.dtype, element)
