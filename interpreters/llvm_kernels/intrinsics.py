"""The LLVM intrinsics that compute values from values, by name without suffix.

Float functions are computed in f64 and rounded once, as in the interpreter of TIR; those
that NVPTX approximates (`llvm.nvvm.….approx`) too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial, reduce
from typing import TypeAlias

import numpy as np
from xdsl.dialects import llvm
from xdsl.ir import Attribute, Operation

from xdsl_tvm.dialects.dtypes import element_of
from xdsl_tvm.interpreters.codegen.builtins import FLOAT_FUNCTIONS
from xdsl_tvm.interpreters.data.numbers import Number, fused_multiply_add
from xdsl_tvm.interpreters.gpu.lockstep_threads import array_function
from xdsl_tvm.interpreters.llvm_kernels.integers import (
    as_signed,
    as_unsigned,
    wrapped,
)
from xdsl_tvm.interpreters.llvm_kernels.layouts import Array, scalar
from xdsl_tvm.interpreters.llvm_kernels.values import (
    Binary,
    Function,
    Unary,
    converted,
    pure,
    to_integer,
)

Rule: TypeAlias = Callable[[Attribute, Sequence[Attribute]], Function]
"""Makes a function for the type of the result and those of the arguments."""

INTRINSICS: dict[str, Rule] = {}
"""What computes an intrinsic, by its name without `llvm.` and without suffix."""


def intrinsic_rule(name: str) -> Rule | None:
    """The rule of an intrinsic, with or without the suffix of its types, if known."""
    base = name.removeprefix("llvm.")
    while base not in INTRINSICS:
        base, dot, _ = base.rpartition(".")
        if not dot:
            return None
    return INTRINSICS[base]


def _same(function: Function) -> Rule:
    return lambda result, arguments: function


# ---- floats ----


def fused(dtype: Number, a: Array, b: Array, c: Array) -> Array:
    """`a * b + c` of floats of up to 32 bits, or one by one of f64, rounded once.

    The product is exact in f64. The sum is made odd where it is inexact, so that the
    second rounding is right.
    """
    if dtype.size > 4:
        rows = np.broadcast_arrays(a, b, c)
        found = [
            fused_multiply_add(dtype.storage, *items)
            for items in zip(*(row.ravel() for row in rows), strict=True)
        ]
        return np.array(found, dtype.storage).reshape(rows[0].shape)
    product = a.astype(np.float64) * b.astype(np.float64)
    start = c.astype(np.float64)
    total = np.atleast_1d(product + start)
    virtual = total - product
    error = (product - (total - virtual)) + (start - virtual)
    bits = total.view(np.int64)
    inexact = (error != 0) & np.isfinite(error) & np.isfinite(total) & (bits & 1 == 0)
    if inexact.any():
        toward = np.where(error > 0, np.inf, -np.inf)
        total = np.where(inexact, np.nextafter(total, toward), total)
    return converted(dtype, total)


def _fma(result: Attribute, arguments: Sequence[Attribute]) -> Function:
    return partial(fused, scalar(result))


def _multiply_add(a: Array, b: Array, c: Array) -> Array:
    return a * b + c


def _itself(value: Array, *others: Array) -> Array:
    return value


def _rounded(function: Callable[..., Array]) -> Rule:
    """A function on f64, rounded once."""

    def rule(result: Attribute, arguments: Sequence[Attribute]) -> Function:
        dtype = scalar(result)

        def apply(*values: Array) -> Array:
            return converted(dtype, function(*(v.astype(np.float64) for v in values)))

        return apply

    return rule


def _extreme(pick: Callable[[Array, Array], Array], *, largest: bool) -> Function:
    """The larger or smaller of two; of the two zeros, the positive one is larger."""

    def apply(a: Array, b: Array) -> Array:
        found = pick(a, b)
        zeros = (a == 0) & (b == 0)
        if not zeros.any():
            return found
        zero = a + b if largest else -(-a + -b)
        return np.where(zeros, zero, found)

    return apply


_NUMPY_FLOAT: dict[str, Callable[..., Array]] = {
    "ceil": np.ceil,
    "floor": np.floor,
    "nearbyint": np.rint,
    "pow": np.power,
    "rint": np.rint,
    "roundeven": np.rint,
    "sqrt": np.sqrt,
    "trunc": np.trunc,
}
_BY_NAME = (
    "acos acosh asin asinh atan atan2 atanh cos cosh exp exp2 exp10 log log2 log10 round "
    "sin sinh tan tanh"
)
INTRINSICS.update({name: _rounded(function) for name, function in _NUMPY_FLOAT.items()})
for _name in _BY_NAME.split():
    _function = array_function(_name, FLOAT_FUNCTIONS[_name])
    assert _function is not None
    INTRINSICS[_name] = _rounded(_function)


def _reciprocal(value: Array) -> Array:
    return np.divide(1.0, value)


def _reciprocal_root(value: Array) -> Array:
    return np.divide(1.0, np.sqrt(value))


INTRINSICS.update(
    {
        f"nvvm.{name}": _rounded(function)
        for name, function in {
            "cos.approx": np.cos,
            "ex2.approx": np.exp2,
            "lg2.approx": np.log2,
            "rcp": _reciprocal,
            "rsqrt.approx": _reciprocal_root,
            "sin.approx": np.sin,
            "sqrt": np.sqrt,
            "tanh.approx": np.tanh,
            "div": np.divide,
        }.items()
    }
)
INTRINSICS.update(
    {
        "canonicalize": _same(_itself),
        "copysign": _same(np.copysign),
        "fabs": _same(np.abs),
        "fma": _fma,
        "fmuladd": _same(_multiply_add),
        "maximum": _same(_extreme(np.maximum, largest=True)),
        "maximumnum": _same(_extreme(np.fmax, largest=True)),
        "maxnum": _same(_extreme(np.fmax, largest=True)),
        "minimum": _same(_extreme(np.minimum, largest=False)),
        "minimumnum": _same(_extreme(np.fmin, largest=False)),
        "minnum": _same(_extreme(np.fmin, largest=False)),
    }
)


# ---- integers ----


def _unsigned_pair(function: Callable[[Array, Array], Array]) -> Rule:
    def rule(result: Attribute, arguments: Sequence[Attribute]) -> Binary:
        dtype = scalar(result)
        return lambda a, b: wrapped(
            function(as_unsigned(a, dtype), as_unsigned(b, dtype)), dtype
        )

    return rule


def _signed_pair(function: Callable[[Array, Array], Array]) -> Rule:
    def rule(result: Attribute, arguments: Sequence[Attribute]) -> Binary:
        dtype = scalar(result)
        return lambda a, b: wrapped(
            function(as_signed(a, dtype), as_signed(b, dtype)), dtype
        )

    return rule


def _abs(result: Attribute, arguments: Sequence[Attribute]) -> Binary:
    dtype = scalar(result)
    return lambda value, _: wrapped(np.abs(as_signed(value, dtype)), dtype)


def _bits_of(values: Array, dtype: Number) -> Array:
    """The bits of integers, the lowest first, as a new last axis."""
    wide = as_unsigned(values, dtype).astype(np.uint64)
    return wide[..., None] >> np.arange(dtype.bits, dtype=np.uint64) & np.uint64(1)


def _population(result: Attribute, arguments: Sequence[Attribute]) -> Unary:
    dtype = scalar(result)
    return lambda value: wrapped(_bits_of(value, dtype).sum(-1), dtype)


def _zeros_before(*, leading: bool) -> Rule:
    def rule(result: Attribute, arguments: Sequence[Attribute]) -> Function:
        dtype = scalar(result)

        def count(value: Array, _: Array) -> Array:
            bits = _bits_of(value, dtype)
            if leading:
                bits = bits[..., ::-1]
            found = np.where(bits.any(-1), bits.argmax(-1), dtype.bits)
            return wrapped(found, dtype)

        return count

    return rule


def _saturating(*, unsigned: bool) -> Rule:
    def rule(result: Attribute, arguments: Sequence[Attribute]) -> Function:
        return to_integer(result, unsigned=unsigned)

    return rule


INTRINSICS.update(
    {
        "abs": _abs,
        "ctlz": _zeros_before(leading=True),
        "ctpop": _population,
        "cttz": _zeros_before(leading=False),
        "expect": _same(_itself),
        "fptosi.sat": _saturating(unsigned=False),
        "fptoui.sat": _saturating(unsigned=True),
        "smax": _signed_pair(np.maximum),
        "smin": _signed_pair(np.minimum),
        "umax": _unsigned_pair(np.maximum),
        "umin": _unsigned_pair(np.minimum),
    }
)


# ---- reductions of vectors ----


def _reduction(name: str) -> Rule:
    """Combines the elements of a vector from the first to the last with an intrinsic or
    an operation of numpy."""

    def rule(result: Attribute, arguments: Sequence[Attribute]) -> Function:
        dtype = scalar(result)
        element = element_of(arguments[0])
        combine = _COMBINE.get(name) or INTRINSICS[name](element, (element, element))

        def apply(vector: Array) -> Array:
            found = reduce(combine, vector.T)
            return found if dtype.is_float else wrapped(found, dtype)

        return apply

    return rule


_COMBINE: dict[str, Function] = {
    "add": np.add,
    "mul": np.multiply,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
}
_EXTREMES = {
    "fmax": "maxnum",
    "fmaximum": "maximum",
    "fmin": "minnum",
    "fminimum": "minimum",
    "smax": "smax",
    "smin": "smin",
    "umax": "umax",
    "umin": "umin",
}
INTRINSICS.update({f"vector.reduce.{name}": _reduction(name) for name in _COMBINE})
INTRINSICS.update(
    {f"vector.reduce.{name}": _reduction(source) for name, source in _EXTREMES.items()}
)


def _ordered(function: Callable[[Array, Array], Array]) -> Rule:
    """A float reduction, which begins with a value and keeps the order."""

    def rule(result: Attribute, arguments: Sequence[Attribute]) -> Function:
        def apply(start: Array, vector: Array) -> Array:
            return reduce(function, vector.T, start)

        return apply

    return rule


INTRINSICS["vector.reduce.fadd"] = _ordered(np.add)
INTRINSICS["vector.reduce.fmul"] = _ordered(np.multiply)


# ---- operations that are intrinsics ----


@pure(
    llvm.FAbsOp,
    llvm.FCeilOp,
    llvm.FCopySignOp,
    llvm.FCosOp,
    llvm.FExp2Op,
    llvm.FExpOp,
    llvm.FFloorOp,
    llvm.FLog2Op,
    llvm.FLogOp,
    llvm.FMAOp,
    llvm.FPowOp,
    llvm.FSinOp,
    llvm.FSqrtOp,
    llvm.VectorFMaxOp,
    llvm.VectorFMinOp,
    llvm.VectorReduceFAddOp,
    llvm.VectorReduceFMulOp,
)
def _named(op: Operation) -> Function:
    rule = INTRINSICS[op.name.removeprefix("llvm.intr.")]
    return rule(op.results[0].type, [operand.type for operand in op.operands])


def value_of(rule: Rule, op: Operation) -> Function:
    """The function of a call of an intrinsic."""
    types = [operand.type for operand in op.operands]
    return rule(op.results[0].type, types)
