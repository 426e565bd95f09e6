"""The builtins that `tir.call` can name, as templates of Python expressions.

A template gets the dtype of the result and the operands as Python expressions, and is
applied lane by lane (docs/spec/tir-builtins.md §1 and §2).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from xdsl_tvm.interpreters.data import numbers as _numbers
from xdsl_tvm.interpreters.data.numbers import Number
from xdsl_tvm.interpreters.errors import AssertionFailedError

Template = Callable[[Number, Sequence[str]], str]

NO_OPERATION = frozenset(
    ["prefetch", "start_profile_intrinsic", "end_profile_intrinsic", "type_annotation"]
)
"""Builtins without an effect on values."""

_NUMPY = {
    "exp": "exp",
    "exp2": "exp2",
    "log": "log",
    "log2": "log2",
    "log10": "log10",
    "log1p": "log1p",
    "sqrt": "sqrt",
    "tanh": "tanh",
    "sin": "sin",
    "cos": "cos",
    "tan": "tan",
    "sinh": "sinh",
    "cosh": "cosh",
    "asin": "arcsin",
    "acos": "arccos",
    "atan": "arctan",
    "asinh": "arcsinh",
    "acosh": "arccosh",
    "atanh": "arctanh",
    "floor": "floor",
    "ceil": "ceil",
    "trunc": "trunc",
    "nearbyint": "rint",
    "pow": "float_power",
    "fmod": "fmod",
    "atan2": "arctan2",
    "hypot": "hypot",
    "copysign": "copysign",
}
_ROUNDINGS = {"floor", "ceil", "trunc", "nearbyint", "round"}


def _exp10(value: float) -> float:
    return np.power(10.0, value)


def _sigmoid(value: float) -> float:
    return np.divide(1.0, 1.0 + np.exp(-value))


def _rsqrt(value: float) -> float:
    return np.divide(1.0, np.sqrt(value))


def _ldexp(value: float, exponent: float) -> float:
    return np.ldexp(value, int(exponent))


def _float_functions() -> dict[str, Callable[..., float]]:
    table: dict[str, Callable[..., float]] = {
        name: _numbers.float64_function(source) for name, source in _NUMPY.items()
    }
    table["erf"] = math.erf
    table["exp10"] = _exp10
    table["sigmoid"] = _sigmoid
    table["rsqrt"] = _rsqrt
    table["round"] = _numbers.round_half_away
    table["ldexp"] = _ldexp
    return table


FLOAT_FUNCTIONS = _float_functions()
"""Functions on f64, after which the result is rounded once to its dtype."""


def shift_left(dtype: Number, value: int, amount: int) -> int:
    """`value << amount`; 0 where TIR leaves the amount undefined."""
    return dtype.wrap(value << amount) if 0 <= amount < dtype.bits else 0


def shift_right(dtype: Number, value: int, amount: int) -> int:
    """Arithmetic for signed, logical for unsigned; 0 for an undefined amount."""
    return value >> amount if 0 <= amount < dtype.bits else 0


def multiply_shift(value: int, factor: int, q: int, shift: int) -> int:
    """`(value * factor) * 2^(shift - q)` rounded half up, as int32.

    docs/spec/tir-builtins.md §1.
    """
    total = q - shift
    product = value * factor
    product = product << -total if total <= 0 else (product + (1 << total - 1)) >> total
    return (product + 2**31 & 2**32 - 1) - 2**31


def multiply_shift_per_axis(
    value: int, factor: int, left: int, right: int, q: int, need_left: bool, _: bool
) -> int:
    """`q_multiply_shift` with separate shifts to the left, first, and to the right."""
    if need_left:
        value <<= left
    return multiply_shift(value, factor, q + right, 0)


def assume(condition: bool) -> bool:
    """A fact the program states. Raises AssertionFailedError if it does not hold."""
    if not condition:
        raise AssertionFailedError("the assumption does not hold")
    return condition


def _bitwise(symbol: str) -> Template:
    def template(dtype: Number, args: Sequence[str]) -> str:
        if dtype.is_bool:
            return f"bool(int({args[0]}) {symbol} int({args[1]}))"
        return f"{args[0]} {symbol} {args[1]}"

    return template


def _identity(dtype: Number, args: Sequence[str]) -> str:
    return args[0]


def _bitwise_not(dtype: Number, args: Sequence[str]) -> str:
    if dtype.is_bool:
        return f"not {args[0]}"
    return f"{dtype.high} - {args[0]}" if dtype.low == 0 else f"~{args[0]}"


TEMPLATES: dict[str, Template] = {
    "bitwise_and": _bitwise("&"),
    "bitwise_or": _bitwise("|"),
    "bitwise_xor": _bitwise("^"),
    "bitwise_not": _bitwise_not,
    "large_uint_imm": lambda dtype, args: f"({args[1]} << 32) | {args[0]}",
    "likely": _identity,
    "ignore_loop_partition": _identity,
    "tvm_thread_invariant": _identity,
    "tvm_thread_context": _identity,
    "assume": lambda dtype, args: f"assume({args[0]})",
    "isnan": lambda dtype, args: f"bool({args[0]} != {args[0]})",
    "q_multiply_shift": lambda dtype, args: f"multiply_shift({', '.join(args)})",
    "q_multiply_shift_per_axis": lambda dtype, args: (
        f"multiply_shift_per_axis({', '.join(args)})"
    ),
    "fabs": lambda dtype, args: f"abs({args[0]})",
}
"""Builtins that need the dtype of the result only."""

NAMES: dict[str, Any] = {
    "assume": assume,
    "multiply_shift": multiply_shift,
    "multiply_shift_per_axis": multiply_shift_per_axis,
    "shift_left": shift_left,
    "shift_right": shift_right,
}
"""What the templates refer to."""


def float_template(name: str, kind: str, dtype: Number) -> Template | None:
    """The template of a math function; `kind` and `F_<name>` are names in the code."""
    if name not in FLOAT_FUNCTIONS:
        return None
    if not dtype.is_float:
        return _identity if name in _ROUNDINGS else None
    return lambda _, args: (
        f"{kind}.convert(F_{name}({', '.join(f'float({a})' for a in args)}))"
    )
