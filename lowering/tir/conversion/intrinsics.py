"""Calls of builtins (docs/spec/tir-builtins.md) as arith and math operations."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import log as natural_log
from typing import cast

from xdsl.dialects import arith, llvm, math
from xdsl.dialects.builtin import Float16Type, IntegerAttr, IntegerType, f32, i64
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.traits import SymbolTable

from xdsl_tvm.dialects import tir, tvm_llvm
from xdsl_tvm.dialects.tir.processor_instructions import (
    ByteDot,
    called_byte_dot,
    operands_of_dot,
)
from xdsl_tvm.dialects.tir.target_functions import (
    APPROXIMATE_EXP2,
    callee_symbol,
    target_function,
)
from xdsl_tvm.lowering.tir.conversion.emitter import Emitter
from xdsl_tvm.lowering.tir.conversion.expressions import (
    UNORDERED,
    binary_math,
    constant_number,
    convert,
    float_remainder,
    frozen,
    halves,
    require_computable,
    unary_math,
)
from xdsl_tvm.lowering.tir.conversion.types import signless

_UNARY_MATH: dict[str, type[Operation]] = {
    "exp": math.ExpOp,
    "exp2": math.Exp2Op,
    "log": math.LogOp,
    "log2": math.Log2Op,
    "log10": math.Log10Op,
    "log1p": math.Log1pOp,
    "sqrt": math.SqrtOp,
    "rsqrt": math.RsqrtOp,
    "tanh": math.TanhOp,
    "sin": math.SinOp,
    "cos": math.CosOp,
    "tan": math.TanOp,
    "sinh": math.SinhOp,
    "cosh": math.CoshOp,
    "asin": math.AsinOp,
    "acos": math.AcosOp,
    "atan": math.AtanOp,
    "asinh": math.AsinhOp,
    "acosh": math.AcoshOp,
    "atanh": math.AtanhOp,
    "erf": math.ErfOp,
    "fabs": math.AbsFOp,
    "floor": math.FloorOp,
    "ceil": math.CeilOp,
    "round": math.RoundOp,
    "nearbyint": math.RoundEvenOp,
    "trunc": math.TruncOp,
}
_ROUNDING = ("floor", "ceil", "round", "nearbyint", "trunc")
_BINARY_MATH: dict[str, type[Operation]] = {
    "pow": math.PowFOp,
    "atan2": math.Atan2Op,
    "copysign": math.CopySignOp,
}
_BITWISE = {
    "bitwise_and": arith.AndIOp,
    "bitwise_or": arith.OrIOp,
    "bitwise_xor": arith.XOrIOp,
}
_MOVES = ("reinterpret", "vectorlow", "vectorhigh", "vectorcombine")
_TRANSPARENT = ("likely", "tvm_thread_invariant", "ignore_loop_partition")


def _float_call(cv: Emitter, op: tir.CallOp, dtype: Attribute) -> SSAValue:
    name = op.callee.data
    value = cv.value(op.args[0])
    if not tir.is_float(dtype):
        if name in _ROUNDING:
            return value
        raise cv.fail(f'"{name}" takes floats, got {dtype}; cast the operand first')
    require_computable(cv, dtype)
    return unary_math(cv, _UNARY_MATH[name], value)


def _binary_float_call(cv: Emitter, op: tir.CallOp, dtype: Attribute) -> SSAValue:
    name = op.callee.data
    if not tir.is_float(dtype) or op.args[1].type != dtype:
        raise cv.fail(f'"{name}" takes two floats of one dtype; cast the operands first')
    require_computable(cv, dtype)
    a, b = cv.value(op.args[0]), cv.value(op.args[1])
    if name == "fmod":
        return float_remainder(cv, a, b)
    return binary_math(cv, _BINARY_MATH[name], a, b)


def _exp10(cv: Emitter, op: tir.CallOp, dtype: Attribute) -> SSAValue:
    scale = cv.number(natural_log(10), dtype)
    scaled = cv.binary(arith.MulfOp, cv.value(op.args[0]), scale)
    return unary_math(cv, math.ExpOp, scaled)


def _sigmoid(cv: Emitter, op: tir.CallOp, dtype: Attribute) -> SSAValue:
    require_computable(cv, dtype)
    negated = cv.binary(arith.SubfOp, cv.number(-0.0, dtype), cv.value(op.args[0]))
    one = cv.number(1, dtype)
    bottom = cv.binary(arith.AddfOp, one, unary_math(cv, math.ExpOp, negated))
    return cv.binary(arith.DivfOp, one, bottom)


def _fma(cv: Emitter, op: tir.CallOp, dtype: Attribute) -> SSAValue:
    a, b, c = (cv.value(arg) for arg in op.args)
    if not tir.is_float(dtype):
        return cv.binary(arith.AddiOp, cv.binary(arith.MuliOp, a, b), c)
    require_computable(cv, dtype)
    return cv.build(math.FmaOp, [a, b, c], a.type, {"fastmath": _no_fast_math()})


def _no_fast_math() -> Attribute:
    return arith.FastMathFlagsAttr("none")


def _bitwise(cv: Emitter, op: tir.CallOp, dtype: Attribute) -> SSAValue:
    a, b = (cv.value(arg) for arg in op.args)
    return cv.binary(_BITWISE[op.callee.data], a, b)


def _shift(cv: Emitter, op: tir.CallOp, dtype: Attribute) -> SSAValue:
    a, b = (cv.value(arg) for arg in op.args)
    if op.callee.data == "shift_left":
        kind = arith.ShLIOp
    else:
        kind = arith.ShRUIOp if tir.is_uint(dtype) else arith.ShRSIOp
    shifted = cv.binary(kind, a, b)
    amount = constant_number(op.args[1])
    width = cast(IntegerType, tir.element_of(dtype)).width.data
    # By the width or more it is some integer, the same for all uses: never undefined.
    return shifted if amount in range(width) else frozen(cv, shifted)


def _bitwise_not(cv: Emitter, op: tir.CallOp, dtype: Attribute) -> SSAValue:
    minus_one = 1 if tir.is_bool(dtype) else -1
    value = cv.value(op.args[0])
    return cv.binary(arith.XOrIOp, value, cv.number(minus_one, value.type))


def _popcount(cv: Emitter, op: tir.CallOp, dtype: Attribute) -> SSAValue:
    value = cv.value(op.args[0])
    return cv.build(math.CtPopOp, [value], value.type)


def _clz(cv: Emitter, op: tir.CallOp, dtype: Attribute) -> SSAValue:
    value = cv.value(op.args[0])
    count = cv.build(math.CountLeadingZerosOp, [value], value.type)
    result = _result_type(cv, op)
    return convert(cv, count, signless(dtype), result)


def _is_nan(cv: Emitter, op: tir.CallOp, dtype: Attribute) -> SSAValue:
    if not tir.is_float(dtype):
        return cv.number(0, _result_type(cv, op))
    require_computable(cv, dtype)
    value = cv.value(op.args[0])
    return cv.compare(arith.CmpfOp, UNORDERED, value, value)


def _transparent(cv: Emitter, op: tir.CallOp, dtype: Attribute) -> SSAValue:
    return cv.value(op.args[0])


def _large_uint(cv: Emitter, op: tir.CallOp, dtype: Attribute) -> SSAValue:
    low, high = (tir.constant_value(arg) for arg in op.args)
    if not isinstance(low, int) or not isinstance(high, int):
        raise cv.fail('"large_uint_imm" takes two constants')
    return cv.constant(IntegerAttr((high << 32) | low, i64))


def _reinterpret(cv: Emitter, op: tir.CallOp, dtype: Attribute) -> SSAValue:
    result = signless(_result_type(cv, op))
    if tir.is_handle(dtype) or tir.is_handle(result):
        raise cv.fail("pointers cannot be reinterpreted; declare a buffer instead")
    value = cv.value(op.args[0])
    if value.type == result:
        return value
    if tir.lanes_of(dtype) != tir.lanes_of(result):
        raise cv.fail(f"{dtype} and {result} must have the same lanes")
    return cv.build(arith.BitcastOp, [value], result)


def _undef(cv: Emitter, op: tir.CallOp, dtype: Attribute) -> SSAValue:
    # Any value will do.
    return cv.number(0, _result_type(cv, op))


def _half(cv: Emitter, op: tir.CallOp, dtype: Attribute) -> SSAValue:
    value = cv.value(op.args[0])
    high = op.callee.data == "vectorhigh"
    return halves(cv, value, _result_type(cv, op), high=high)


def _combine(cv: Emitter, op: tir.CallOp, dtype: Attribute) -> SSAValue:
    lanes = [
        cv.extract(cv.value(arg), lane)
        for arg in op.args
        for lane in range(tir.lanes_of(arg.type))
    ]
    return cv.gathered(lanes, signless(_result_type(cv, op)))


def _result_type(cv: Emitter, op: tir.CallOp) -> Attribute:
    if op.result is None:
        raise cv.fail(f'"{op.callee.data}" must have a result')
    return op.result.type


_Handler = Callable[[Emitter, tir.CallOp, Attribute], SSAValue]

_HANDLERS: dict[str, tuple[int, _Handler]] = {
    **dict.fromkeys(_UNARY_MATH, (1, _float_call)),
    **dict.fromkeys((*_BINARY_MATH, "fmod"), (2, _binary_float_call)),
    **dict.fromkeys(_BITWISE, (2, _bitwise)),
    **dict.fromkeys(_TRANSPARENT, (1, _transparent)),
    "exp10": (1, _exp10),
    "sigmoid": (1, _sigmoid),
    "fma": (3, _fma),
    "shift_left": (2, _shift),
    "shift_right": (2, _shift),
    "bitwise_not": (1, _bitwise_not),
    "popcount": (1, _popcount),
    "clz": (1, _clz),
    "isnan": (1, _is_nan),
    "large_uint_imm": (2, _large_uint),
    "reinterpret": (1, _reinterpret),
    "undef": (0, _undef),
    "vectorlow": (1, _half),
    "vectorhigh": (1, _half),
    "vectorcombine": (2, _combine),
}


def _is_function(op: Operation, symbol: str) -> bool:
    """Whether the module of an op has a function of a symbol."""
    return SymbolTable.lookup_symbol(op, symbol) is not None


IGNORED_CALLS = ("assume",)
"""Calls that tell facts and do nothing."""


def no_lowering(name: str) -> str:
    """Why a builtin is refused, and what to do."""
    known = tir.INTRINSICS.get(name)
    by = "" if known is None else known.lowered_by
    run = f", {by}" if by.startswith("Lower") else ""
    return (
        f'the builtin "{name}" has no lowering; rewrite it in terms of others, or run '
        f"the pass that lowers it{run}"
    )


def _byte_dot(cv: Emitter, op: tir.CallOp, dot: ByteDot) -> SSAValue:
    """The instruction, whose operands are vectors of 32 bits in all versions of LLVM."""
    operands = operands_of_dot(op)
    problem = dot.problem([value.type for value in (*operands, *op.results)])
    if problem is not None:
        raise cv.fail(problem)
    values = [cv.value(value) for value in operands]
    wide = values[0].type
    values = [
        value if value.type == wide else cv.build(llvm.BitcastOp, [value], wide)
        for value in values
    ]
    return cv.emit(tvm_llvm.CallIntrinsicOp(dot.name, values, wide)).results[0]


def lower_call(cv: Emitter, op: tir.CallOp) -> SSAValue:
    """The value of the call `op` of a builtin.

    Raises PassFailedException for one that has no lowering.
    """
    if callee_symbol(op) == APPROXIMATE_EXP2:
        call = tvm_llvm.CallIntrinsicOp(APPROXIMATE_EXP2, [cv.value(op.args[-1])], f32)
        return cv.emit(call).results[0]
    if (dot := called_byte_dot(op)) is not None:
        return _byte_dot(cv, op, dot)
    name, args = target_function(op, partial(_is_function, op))
    known = _HANDLERS.get(name)
    if known is None:
        raise cv.fail(no_lowering(name))
    if name != op.callee.data:
        plain = tir.CallOp(name, args, _result_type(cv, op))
        value = lower_call(cv, plain)
        plain.drop_all_references()
        return value
    count, handler = known
    if len(op.args) != count:
        raise cv.fail(f'"{name}" takes {count} operands, got {len(op.args)}')
    dtype = op.args[0].type if count else cast(Attribute, Float16Type())
    if tir.is_float8(dtype) and name not in _MOVES:
        require_computable(cv, dtype)
    return handler(cv, op, dtype)
