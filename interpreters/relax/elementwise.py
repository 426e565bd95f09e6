"""Evaluation of the element-wise operators (docs/spec/relax-ops.md §1 to §3)."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from xdsl.ir import Operation

from xdsl_tvm.dialects import relax
from xdsl_tvm.interpreters.data.numbers import number
from xdsl_tvm.interpreters.errors import ArgumentError
from xdsl_tvm.interpreters.relax.numbers import (
    Evaluation,
    as_array,
    divide,
    dtype_of,
    elementwise,
    floor_divide,
    is_float_array,
    nonzero_divisor,
    rounded,
    wide,
)
from xdsl_tvm.interpreters.relax.values import Array


def unary(function: Callable[[Array], Any]) -> Evaluation:
    """The operator that computes `function` of one tensor, in its dtype."""

    def evaluate(op: Operation, data: Array) -> Array:
        return rounded(function(wide(data)), dtype_of(op.operands[0], data))

    return evaluate


def predicate(function: Callable[[Array], Any]) -> Evaluation:
    """The operator that asks something of each element."""

    def evaluate(op: Operation, data: Array) -> Array:
        return np.asarray(function(wide(data)), np.bool_)

    return evaluate


def binary(function: Callable[[Array, Array], Any]) -> Evaluation:
    """The operator that computes `function` of two tensors or scalars of one dtype."""

    def evaluate(op: Operation, lhs: Any, rhs: Any) -> Any:
        dtype = dtype_of(op.operands[0], lhs)
        return _result(lhs, rhs, rounded(_combine(function, op, lhs, rhs), dtype))

    return evaluate


def comparison(function: Callable[[Array, Array], Any]) -> Evaluation:
    """The operator that compares two tensors or scalars, perhaps of different dtypes."""

    def evaluate(op: Operation, lhs: Any, rhs: Any) -> Any:
        return _result(lhs, rhs, np.asarray(_combine(function, op, lhs, rhs), np.bool_))

    return evaluate


def _combine(
    function: Callable[[Array, Array], Any], op: Operation, lhs: Any, rhs: Any
) -> Any:
    a, b = as_array(lhs, op.operands[0]), as_array(rhs, op.operands[1])
    try:
        np.broadcast_shapes(a.shape, b.shape)
    except ValueError:
        raise ArgumentError(
            f"shapes {list(a.shape)} and {list(b.shape)} do not broadcast"
        ) from None
    return function(wide(a), wide(b))


def _result(lhs: Any, rhs: Any, array: Array) -> Any:
    """A scalar where both operands are, otherwise the tensor."""
    if isinstance(lhs, np.ndarray) or isinstance(rhs, np.ndarray):
        return array
    return array[0] if is_float_array(array) else array[0].item()


def _power(a: Array, b: Array) -> Any:
    if not is_float_array(b) and np.any(b < 0):
        raise ArgumentError("an integer has no negative power")
    return np.power(a, b)


def _mod(a: Array, b: Array) -> Any:
    return np.fmod(a, nonzero_divisor(b))


def _floor_division(function: Callable[[Array, Array], Any]) -> Evaluation:
    """Of floats, with TIR's rounding: in f64 where they are f64, else in f32."""

    def evaluate(op: Operation, lhs: Any, rhs: Any) -> Any:
        is_double = number(dtype_of(op.operands[0], lhs)).storage == np.float64

        def combine(a: Array, b: Array) -> Any:
            if not is_float_array(a) or is_double:
                return function(a, nonzero_divisor(b))
            return function(a.astype(np.float32), b.astype(np.float32))

        return binary(combine)(op, lhs, rhs)

    return evaluate


def _floor_divide(a: Array, b: Array) -> Any:
    return np.floor(a / b) if is_float_array(a) else floor_divide(a, b)


def _floor_mod(a: Array, b: Array) -> Any:
    return a - np.floor(a / b) * b if is_float_array(a) else np.mod(a, b)


erf = elementwise(math.erf)
"""The error function of each element."""


def sigmoid(x: Array) -> Any:
    """1 / (1 + exp(-x))."""
    return 1 / (1 + np.exp(-x))


def gelu(x: Array) -> Any:
    """x times the normal distribution function of x."""
    return x * (0.5 + 0.5 * erf(x / math.sqrt(2)))


def _gelu_tanh(x: Array) -> Any:
    inner = math.sqrt(2 / math.pi) * x * (1 + 0.044715 * x * x)
    return 0.5 * x * (1 + np.tanh(inner))


def _selu(x: Array) -> Any:
    low = 1.6732632423543772 * np.expm1(np.minimum(x, 0))
    return 1.0507009873554805 * (np.maximum(x, 0) + low)


def _leaky_relu(op: relax.LeakyReluOp, data: Array) -> Array:
    x = wide(data)
    found = np.where(x > 0, x, op.alpha.value.data * x)
    return rounded(found, dtype_of(op.data, data))


def _softplus(op: relax.SoftplusOp, data: Array) -> Array:
    beta, x = op.beta.value.data, wide(data)
    curve = np.log1p(np.exp(beta * x)) / beta
    found = np.where(beta * x > op.threshold.value.data, x, curve)
    return rounded(found, dtype_of(op.data, data))


def _clip(op: relax.ClipOp, data: Array, low: Any, high: Any) -> Array:
    dtype = dtype_of(op.data, data)
    convert = number(dtype).convert
    found = np.minimum(wide(data), wide(np.asarray(convert(high))))
    return rounded(np.maximum(found, wide(np.asarray(convert(low)))), dtype)


def _multiply_add(op: relax.EwiseFmaOp, x1: Array, x2: Array, x3: Array) -> Array:
    return rounded(wide(x1) * wide(x2) + wide(x3), dtype_of(op.x1, x1))


def _where(op: relax.WhereOp, condition: Array, x1: Array, x2: Array) -> Array:
    return np.where(condition, x1, x2)


_UNARY: Mapping[str, Callable[[Array], Any]] = {
    "abs": np.abs,
    "acos": np.arccos,
    "acosh": np.arccosh,
    "asin": np.arcsin,
    "asinh": np.arcsinh,
    "atan": np.arctan,
    "atanh": np.arctanh,
    "bitwise_not": np.invert,
    "ceil": np.ceil,
    "cos": np.cos,
    "cosh": np.cosh,
    "erf": erf,
    "exp": np.exp,
    "floor": np.floor,
    "log": np.log,
    "logical_not": lambda x: x == 0,
    "negative": lambda x: 0 - x if not is_float_array(x) else -x,
    "nn.gelu": gelu,
    "nn.gelu_tanh": _gelu_tanh,
    "nn.relu": lambda x: np.maximum(x, 0),
    "nn.selu": _selu,
    "nn.silu": lambda x: x * sigmoid(x),
    "round": lambda x: np.rint(x) if is_float_array(x) else x,
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "sigmoid": sigmoid,
    "sign": np.sign,
    "sin": np.sin,
    "sinh": np.sinh,
    "sqrt": np.sqrt,
    "square": np.square,
    "tan": np.tan,
    "tanh": np.tanh,
}
_PREDICATES: Mapping[str, Callable[[Array], Any]] = {
    "isfinite": np.isfinite,
    "isinf": np.isinf,
    "isnan": np.isnan,
}
_BINARY: Mapping[str, Callable[[Array, Array], Any]] = {
    "add": np.add,
    "bitwise_and": np.bitwise_and,
    "bitwise_or": np.bitwise_or,
    "bitwise_xor": np.bitwise_xor,
    "divide": divide,
    "left_shift": np.left_shift,
    "logical_and": np.logical_and,
    "logical_or": np.logical_or,
    "logical_xor": np.logical_xor,
    "maximum": np.maximum,
    "minimum": np.minimum,
    "mod": _mod,
    "multiply": np.multiply,
    "power": _power,
    "right_shift": np.right_shift,
    "subtract": np.subtract,
}
_COMPARISONS: Mapping[str, Callable[[Array, Array], Any]] = {
    "equal": np.equal,
    "greater": np.greater,
    "greater_equal": np.greater_equal,
    "less": np.less,
    "less_equal": np.less_equal,
    "not_equal": np.not_equal,
}

TABLE: Mapping[str, Evaluation] = {
    **{f"relax.{name}": unary(f) for name, f in _UNARY.items()},
    **{f"relax.{name}": predicate(f) for name, f in _PREDICATES.items()},
    **{f"relax.{name}": binary(f) for name, f in _BINARY.items()},
    **{f"relax.{name}": comparison(f) for name, f in _COMPARISONS.items()},
    relax.ClipOp.name: _clip,
    relax.EwiseFmaOp.name: _multiply_add,
    relax.FloorDivideOp.name: _floor_division(_floor_divide),
    relax.FloorModOp.name: _floor_division(_floor_mod),
    relax.LeakyReluOp.name: _leaky_relu,
    relax.SoftplusOp.name: _softplus,
    relax.WhereOp.name: _where,
}
