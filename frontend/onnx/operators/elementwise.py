"""Operators on elements: arithmetic, comparisons, activations, casts."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce

import numpy as np

from xdsl_tvm.frontend.onnx.node import Converter, Node, converts
from xdsl_tvm.frontend.onnx.values import Known, Value
from xdsl_tvm.relax import const, op
from xdsl_tvm.relax.expr import Expr, call

_UNARY = {
    "Abs": "abs",
    "Acos": "acos",
    "Acosh": "acosh",
    "Asin": "asin",
    "Asinh": "asinh",
    "Atan": "atan",
    "Atanh": "atanh",
    "BitwiseNot": "bitwise_not",
    "Ceil": "ceil",
    "Cos": "cos",
    "Cosh": "cosh",
    "Erf": "erf",
    "Exp": "exp",
    "Floor": "floor",
    "IsNaN": "isnan",
    "Log": "log",
    "Neg": "negative",
    "Not": "logical_not",
    "Relu": "nn.relu",
    "Round": "round",
    "Sigmoid": "sigmoid",
    "Sign": "sign",
    "Sin": "sin",
    "Sinh": "sinh",
    "Softplus": "nn.softplus",
    "Sqrt": "sqrt",
    "Tan": "tan",
    "Tanh": "tanh",
}
"""Operators of one tensor that Relax has, by its name."""

_BINARY = {
    "Add": "add",
    "And": "logical_and",
    "BitwiseAnd": "bitwise_and",
    "BitwiseOr": "bitwise_or",
    "BitwiseXor": "bitwise_xor",
    "Div": "divide",
    "Equal": "equal",
    "Greater": "greater",
    "GreaterOrEqual": "greater_equal",
    "Less": "less",
    "LessOrEqual": "less_equal",
    "Mul": "multiply",
    "Or": "logical_or",
    "Sub": "subtract",
    "Xor": "logical_xor",
}
"""Operators of two tensors that Relax has, by its name."""

_VARIADIC = {"Max": "maximum", "Min": "minimum", "Sum": "add"}


def _unary(name: str) -> Converter:
    return lambda node: call(name, node.expr())


def _binary(name: str) -> Converter:
    return lambda node: call(name, *_operands(node))


def _variadic(name: str) -> Converter:
    return lambda node: reduce(lambda lhs, rhs: call(name, lhs, rhs), node.exprs())


for _names, _maker in ((_UNARY, _unary), (_BINARY, _binary), (_VARIADIC, _variadic)):
    for _onnx, _relax in _names.items():
        converts(_onnx)(_maker(_relax))


def _operands(node: Node) -> tuple[Expr, Expr]:
    """The two operands, that before opset 7 are broadcast as attributes say."""
    lhs, rhs = node.expr(0), node.expr(1)
    if node.opset < 7 and node.int_of("broadcast", 0):
        rank = node.rank(1)
        axis = node.int_of("axis", node.rank() - rank)
        missing = node.rank() - node.axis(axis, node.rank() + 1) - rank
        if missing > 0:
            rhs = op.expand_dims(rhs, list(range(rank, rank + missing)))
    return lhs, rhs


@converts("Mean")
def _mean(node: Node) -> Value:
    total = reduce(op.add, node.exprs())
    return op.multiply(total, node.scalar(1 / len(node.inputs)))


@converts("Pow")
def _pow(node: Node) -> Value:
    base, exponent = _operands(node)
    if base.dtype == exponent.dtype:
        if "float" in base.dtype:
            return op.power(base, exponent)
        # Powers of integers are exact in float64 as far as their doubles are.
        wide = op.power(op.astype(base, "float64"), op.astype(exponent, "float64"))
        return op.astype(wide, base.dtype)
    if "float" in base.dtype:
        return op.power(base, op.astype(exponent, base.dtype))
    wide = op.power(op.astype(base, "float64"), op.astype(exponent, "float64"))
    return op.astype(wide, base.dtype)


@converts("Mod")
def _mod(node: Node) -> Value:
    x, y = node.exprs()
    if node.int_of("fmod", 0):
        return op.mod(x, y)
    if "float" not in node.dtype():
        return op.floor_mod(x, y)
    # The rest with the sign of the divisor, which may be infinite.
    rest = node.emit(op.mod(x, y))
    zero = node.scalar(0)
    differs = op.not_equal(op.less(rest, zero), op.less(y, zero))
    moves = op.logical_and(op.not_equal(rest, zero), differs)
    return op.where(moves, op.add(rest, y), rest)


@converts("BitShift")
def _bit_shift(node: Node) -> Value:
    direction = node.str_of("direction")
    if direction not in ("LEFT", "RIGHT"):
        raise node.error(f"direction must be LEFT or RIGHT, not {direction}")
    x, places = node.exprs()
    if direction == "RIGHT":
        return op.right_shift(x, places)
    # Shifts by as many places as there are bits, which Relax leaves open, leave none.
    bits = int(node.dtype().removeprefix("u").removeprefix("int"))
    is_within = op.less(places, node.scalar(bits, 1))
    if not node.dtype(1).startswith("u"):
        is_within = op.logical_and(is_within, op.greater_equal(places, node.scalar(0, 1)))
    shifted = op.left_shift(x, op.where(is_within, places, node.scalar(0, 1)))
    return op.where(is_within, shifted, node.scalar(0))


@converts("Where")
def _where(node: Node) -> Value:
    return op.where(*node.exprs())


@converts("Identity")
def _identity(node: Node) -> Value:
    return node.value()


@converts("Reciprocal")
def _reciprocal(node: Node) -> Value:
    return op.divide(node.scalar(1), node.expr())


@converts("IsInf")
def _isinf(node: Node) -> Value:
    x = node.expr()
    negative, positive = (
        node.int_of("detect_negative", 1),
        node.int_of("detect_positive", 1),
    )
    found = op.isinf(x)
    if negative and positive:
        return found
    if not negative and not positive:
        return op.logical_and(found, op.isnan(x))
    beyond = op.less(x, node.scalar(0)) if negative else op.greater(x, node.scalar(0))
    return op.logical_and(found, beyond)


# ---- casts ----


@converts("Cast")
def _cast(node: Node) -> Value:
    if node.opset < 6:
        names = {"FLOAT": "float32", "DOUBLE": "float64"}
        text = node.str_of("to")
        return op.astype(node.expr(), names.get(text, text.lower()))
    return _converted(node, node.dtype_of("to"))


@converts("CastLike")
def _cast_like(node: Node) -> Value:
    return _converted(node, node.dtype(1))


def _converted(node: Node, dtype: str) -> Value:
    value = node.expr()
    if value.dtype == dtype:
        return value
    if dtype in _LARGEST and node.int_of("saturate", 1):
        value = saturated(value, dtype)
    return op.astype(value, dtype)


_LARGEST = {"float8_e4m3fn": 448.0, "float8_e5m2": 57344.0}


def saturated(value: Expr, dtype: str) -> Expr:
    """The value within what an 8-bit float holds; NaN stays NaN."""
    largest = _LARGEST[dtype]
    return op.where(op.isnan(value), value, op.clip(value, -largest, largest))


# ---- activations ----


@converts("Clip", since=6)
def _clip(node: Node) -> Value:
    if node.opset < 11:
        limits: list[Expr | None] = [
            node.scalar(node.float_of(name)) if node.is_set(name) else None
            for name in ("min", "max")
        ]
    else:
        limits = [node.optional(1), node.optional(2)]
    known_limits = [node.inputs[i] if i < len(node.inputs) else None for i in (1, 2)]
    x = node.expr()
    if (
        node.opset >= 11
        and "float" in x.dtype
        and all(isinstance(each, Known) for each in known_limits)
        and node.number(1) <= node.number(2)
    ):
        return op.clip(x, node.number(1), node.number(2))
    low, high = limits
    if low is not None:
        x = op.maximum(x, low)
    return x if high is None else op.minimum(x, high)


@converts("LeakyRelu")
def _leaky_relu(node: Node) -> Value:
    return op.nn.leakyrelu(node.expr(), node.float_of("alpha", 0.01))


@converts("PRelu")
def _prelu(node: Node) -> Value:
    x, slope = node.expr(0), node.expr(1)
    if node.opset < 7 and node.rank(1) == 1 and node.rank() > 2:
        slope = op.expand_dims(slope, list(range(1, node.rank() - 1)))
    return op.where(op.less(x, node.scalar(0)), op.multiply(x, slope), x)


def _exponential(x: Expr, node: Node, alpha: float, inner: float = 1.0) -> Expr:
    """alpha * (exp(x / inner) - 1).

    In float32 for 16-bit floats: the difference loses the digits that rounding leaves.
    """
    dtype = x.dtype
    wide = "float32" if dtype in ("float16", "bfloat16") else dtype

    def scalar(number: float) -> Expr:
        return const(np.asarray(number), wide)

    x = op.astype(x, wide) if wide != dtype else x
    scaled = x if inner == 1.0 else op.divide(x, scalar(inner))
    result = op.multiply(scalar(alpha), op.subtract(op.exp(scaled), scalar(1)))
    return op.astype(result, dtype) if wide != dtype else result


@converts("Elu")
def _elu(node: Node) -> Value:
    x = node.expr()
    below = _exponential(op.minimum(x, node.scalar(0)), node, node.float_of("alpha", 1.0))
    return op.where(op.less(x, node.scalar(0)), below, x)


@converts("Celu")
def _celu(node: Node) -> Value:
    x, alpha = node.expr(), node.float_of("alpha", 1.0)
    below = _exponential(op.minimum(x, node.scalar(0)), node, alpha, alpha)
    return op.where(op.less(x, node.scalar(0)), below, x)


@converts("Selu")
def _selu(node: Node) -> Value:
    x = node.expr()
    alpha = node.float_of("alpha", 1.67326319217681884765625)
    gamma = node.float_of("gamma", 1.05070102214813232421875)
    below = _exponential(op.minimum(x, node.scalar(0)), node, alpha)
    return op.multiply(node.scalar(gamma), op.where(op.less(x, node.scalar(0)), below, x))


def hard_sigmoid(node: Node, x: Expr, alpha: float, beta: float) -> Expr:
    """max(0, min(1, alpha * x + beta))."""
    line = op.add(op.multiply(x, node.scalar(alpha)), node.scalar(beta))
    return op.clip(line, 0.0, 1.0)


@converts("HardSigmoid")
def _hard_sigmoid(node: Node) -> Value:
    return hard_sigmoid(
        node, node.expr(), node.float_of("alpha", 0.2), node.float_of("beta", 0.5)
    )


@converts("HardSwish")
def _hard_swish(node: Node) -> Value:
    x = node.expr()
    return op.multiply(x, hard_sigmoid(node, x, 1 / 6, 0.5))


@converts("Softsign")
def _softsign(node: Node) -> Value:
    x = node.expr()
    return op.divide(x, op.add(op.abs(x), node.scalar(1)))


@converts("ThresholdedRelu")
def _thresholded_relu(node: Node) -> Value:
    x = node.expr()
    limit = node.scalar(node.float_of("alpha", 1.0))
    return op.where(op.greater(x, limit), x, node.scalar(0))


@converts("Shrink")
def _shrink(node: Node) -> Value:
    x = node.expr()
    limit, bias = node.float_of("lambd", 0.5), node.float_of("bias", 0.0)
    above = op.where(
        op.greater(x, node.scalar(limit)),
        op.subtract(x, node.scalar(bias)),
        node.scalar(0),
    )
    below = op.less(x, node.scalar(-limit))
    return op.where(below, op.add(x, node.scalar(bias)), above)


@converts("Mish")
def _mish(node: Node) -> Value:
    x = node.expr()
    return op.multiply(x, op.tanh(op.nn.softplus(x)))


@converts("Gelu")
def _gelu(node: Node) -> Value:
    kinds: dict[str, Callable[[Expr], Expr]] = {
        "none": op.nn.gelu,
        "tanh": op.nn.gelu_tanh,
    }
    kind = node.str_of("approximate", "none")
    if kind not in kinds:
        raise node.error(f"approximate must be none or tanh, not {kind}")
    return kinds[kind](node.expr())


@converts("Swish")
def _swish(node: Node) -> Value:
    x, alpha = node.expr(), node.float_of("alpha", 1.0)
    if alpha == 1.0:
        return op.nn.silu(x)
    return op.multiply(x, op.sigmoid(op.multiply(x, node.scalar(alpha))))


@converts("Dropout")
def _dropout(node: Node) -> Value | list[Value]:
    """The identity: models are converted for inference."""
    if node.opset >= 12 and node.has(2) and node.array(2).any():
        ratio = node.number(1) if node.has(1) else 0.5
        if ratio != 0.0:
            raise node.error("training_mode is not converted; export for inference")
    if len(node.outputs) < 2:
        return node.value()
    dtype = "bool" if node.opset >= 10 else node.dtype()
    return [node.value(), op.ones(list(node.shape()), dtype)]


# ---- accumulation ----


@converts("CumSum", "CumProd")
def _cumulative(node: Node) -> Value:
    axis = node.axis(node.integer(1))
    x = node.expr()
    if node.int_of("reverse", 0):
        x = op.flip(x, axis)
    name = node.op_type.lower()
    result = call(name, x, axis, exclusive=bool(node.int_of("exclusive", 0)))
    return op.flip(result, axis) if node.int_of("reverse", 0) else result
