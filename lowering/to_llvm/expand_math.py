"""Transcendental functions to polynomials."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import arith, llvm, math
from xdsl.dialects.builtin import (
    BFloat16Type,
    Float16Type,
    Float32Type,
    Float64Type,
    ModuleOp,
)
from xdsl.ir import Operation, SSAValue

from xdsl_tvm.analysis.all_ops import all_ops
from xdsl_tvm.dialects.dtypes import element_of
from xdsl_tvm.lowering.to_llvm._conversion import fail, works_on_tensors
from xdsl_tvm.lowering.to_llvm._math import math_functions as functions
from xdsl_tvm.lowering.to_llvm._math.float_values import (
    DOUBLE,
    SINGLE,
    Emitter,
    Format,
    Value,
)
from xdsl_tvm.lowering.to_llvm.convert_math_to_llvm import NATIVE_OPERATIONS
from xdsl_tvm.passes.infra import CompilerPass

_IN_FORMAT: dict[type[Operation], Callable[[Value], Value]] = {
    math.ExpOp: functions.exp,
    math.Exp2Op: functions.exp2,
    math.ExpM1Op: functions.expm1,
    math.LogOp: functions.log,
    math.Log1pOp: functions.log1p,
    math.Log2Op: functions.log2,
    math.Log10Op: functions.log10,
    math.TanhOp: functions.tanh,
    math.SinhOp: functions.sinh,
    math.CoshOp: functions.cosh,
    math.ErfOp: functions.erf,
    math.RsqrtOp: functions.rsqrt,
    math.RoundOp: functions.round_half_away,
}
"""Functions computed in the format of their argument."""

_IN_DOUBLE: dict[type[Operation], Callable[[Value], Value]] = {
    math.AtanOp: functions.atan,
    math.AsinOp: functions.asin,
    math.AcosOp: functions.acos,
}
"""Functions computed in f64 and rounded."""

_TRIGONOMETRIC: dict[type[Operation], Callable[[Value, Format], Value]] = {
    math.SinOp: functions.sin,
    math.CosOp: functions.cos,
    math.TanOp: functions.tan,
}

_BINARY: dict[type[Operation], Callable[[Value, Value], Value]] = {
    math.Atan2Op: functions.atan2,
    math.PowFOp: functions.powf,
}


@dataclass(frozen=True)
class ExpandMath(CompilerPass):
    """Summary: Replaces transcendental functions by polynomials, without library calls.

    TVM name: none (ours)
    Input form: any verified IR; run before the arith and math conversions
    Output form: of the math dialect, only what processors have as instructions: absf,
        absi, ceil, copysign, ctlz, cttz, ctpop, floor, fma, roundeven, sqrt, trunc
    Options: none
    Rewrites: exp, exp2, expm1, log, log2, log10, log1p, tanh, sinh, cosh, erf, sin,
        cos, tan, asin, acos, atan, atan2, powf, fpowi, rsqrt and round of scalars and
        vectors
            %y = math.exp %x : f32
          →
            %n = math.fma %x, 1/ln 2, 1.5 * 2^23 …         the exponent of the result
            %p = math.fma … %r …                           exp(r) - 1, |r| <= ln(2) / 2
            %y = arith.mulf (1 + %p), 2^n
        f16 and bf16 are computed in f32 and rounded; sin, cos, tan, asin, acos, atan,
        atan2, powf and fpowi of f32 in f64. Errors, in units in the last place, are
        in f32 below 1 (expm1 and rsqrt 2; tanh, sinh and cosh 3), in f64 below 1 (expm1,
        atan, atan2, tan, rsqrt, asin and powf 2; tanh, sinh, cosh and acos 3). NaN,
        infinities, signed zeros and denormals are handled as in C.
    Leaves alone: foreign operations; the native operations above; tensors
    Errors: acosh, asinh, atanh, cbrt, ipowi, and float types other than f16, bf16, f32
        and f64. Not an error: sin, cos and tan of an f64 beyond 2^45 give NaN
    Attributes: read: none; created: none; removed: the operation's fast-math flags,
        which would undo the polynomials' compensated sums
    Differs from TVM: TVM calls libm (LowerIntrin) and has a fast_math pass for exp, tanh
        and erf with larger errors
    """

    name = "tvm-expand-math"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for inner in all_ops(op):
            if not inner.name.startswith("math.") or type(inner) in NATIVE_OPERATIONS:
                continue
            if works_on_tensors(inner):
                continue
            result = _expand(inner)
            old = inner.results[0]
            result.name_hint = old.name_hint
            old.replace_all_uses_with(result)
            inner.detach()
            inner.erase()


def _format(op: Operation, value: SSAValue) -> Format:
    """The format to compute `value` in; raises PassFailedException if there is none."""
    element = element_of(value.type)
    if isinstance(element, Float16Type | BFloat16Type | Float32Type):
        return SINGLE
    if isinstance(element, Float64Type):
        return DOUBLE
    raise fail(op, f"no expansion for {value.type}; use f16, bf16, f32 or f64")


def _expand(op: Operation) -> SSAValue:
    kind = type(op)
    result = op.results[0]
    format = _format(op, result)
    at = Emitter(op, result.type)
    if kind in _IN_FORMAT:
        y = _IN_FORMAT[kind](_load(at, op.operands[0], format))
    elif kind in _IN_DOUBLE:
        y = _IN_DOUBLE[kind](_load(at, op.operands[0], format).to(DOUBLE))
    elif kind in _TRIGONOMETRIC:
        x = _load(at, op.operands[0], format).to(DOUBLE)
        y = _TRIGONOMETRIC[kind](x, format)
    elif kind in _BINARY:
        x, z = (_load(at, value, format).to(DOUBLE) for value in op.operands)
        y = _BINARY[kind](x, z)
    elif isinstance(op, math.FPowIOp):
        y = _expand_fpowi(at, op, format)
    else:
        raise fail(op, "no expansion is known; express it by other functions")
    return _store(y.to(format), result)


def _load(at: Emitter, value: SSAValue, format: Format) -> Value:
    if element_of(value.type) != format.type:
        value = at.shaped(arith.ExtFOp, [value], format.type)
    return Value(at, format, value)


def _store(y: Value, result: SSAValue) -> SSAValue:
    if y.ssa.type == result.type:
        return y.ssa
    return y.at.shaped(arith.TruncFOp, [y.ssa], element_of(result.type))


def _expand_fpowi(at: Emitter, op: math.FPowIOp, format: Format) -> Value:
    x = _load(at, op.operands[0], format).to(DOUBLE)
    # xDSL's arith converts scalars only.
    kind = arith.SIToFPOp if at.scalar else llvm.SIToFPOp
    exponent = at.shaped(kind, [op.operands[1]], DOUBLE.type)
    return functions.powf(x, Value(at, DOUBLE, exponent))
