"""Expression ops of `tir` as arith, math and vector operations.

Here, and only here, a dtype decides which machine operation an expression is: `uiN` and
`i1` are unsigned, `iN` is signed (docs/spec/tir-ir.md §4).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

from xdsl.dialects import arith, llvm, math, vector
from xdsl.dialects.builtin import (
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    Float4E2M1FNType,
    Float8E4M3FNType,
    Float8E5M2Type,
    Float32Type,
    IntegerAttr,
    IntegerType,
    VectorType,
    bf16,
    f16,
    f32,
    f64,
    i64,
)
from xdsl.dialects.utils import FastMathFlag
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import IRDLOperation

from xdsl_tvm.dialects import tir, tvm_llvm
from xdsl_tvm.lowering.tir.conversion.emitter import NO_FAST_MATH, NSW, Emitter
from xdsl_tvm.lowering.tir.conversion.types import signless

_LEGALIZE = "run tir-fp8-compute-legalize first, which computes in f32"
_REMEDIES: dict[type[Attribute], str] = {
    Float8E4M3FNType: _LEGALIZE,
    Float8E5M2Type: _LEGALIZE,
    Float4E2M1FNType: "compute in f32, and store the bits as an integer",
}
"""The floats that are stored, but not computed with, and what to do instead."""

_INT_CMP = {"eq": 0, "ne": 1, "lt": 2, "le": 3, "gt": 4, "ge": 5}
_UINT_CMP = {"eq": 0, "ne": 1, "lt": 6, "le": 7, "gt": 8, "ge": 9}
# Ordered, but for `ne`: it is unspecified for NaN, and true there in C and in Python.
_FLOAT_CMP = {"eq": 1, "ne": 13, "lt": 4, "le": 5, "gt": 2, "ge": 3}
UNORDERED = IntegerAttr(14, i64)
_ANY_ZERO = arith.FastMathFlagsAttr([FastMathFlag.NO_SIGNED_ZEROS])


def _predicate(number: int) -> IntegerAttr:
    return IntegerAttr(number, i64)


_INT_PREDICATES = {name: _predicate(n) for name, n in _INT_CMP.items()}
_UINT_PREDICATES = {name: _predicate(n) for name, n in _UINT_CMP.items()}
_FLOAT_PREDICATES = {name: _predicate(n) for name, n in _FLOAT_CMP.items()}


def require_computable(cv: Emitter, dtype: Attribute) -> None:
    """Raise PassFailedException where no arithmetic exists on `dtype`."""
    kind = type(tir.element_of(dtype))
    if kind in _REMEDIES:
        raise cv.fail(
            f"there is no arithmetic on {tir.element_of(dtype)}; {_REMEDIES[kind]}"
        )
    _require_builtin(cv, dtype)
    if tir.is_scalable(dtype):
        raise cv.fail(
            f"scalable vectors such as {dtype} are not supported; use fixed lanes"
        )


def _require_builtin(cv: Emitter, dtype: Attribute) -> None:
    if tir.is_custom(dtype):
        raise cv.fail(
            f"the custom dtype {tir.element_of(dtype)} has no lowering; convert what "
            "computes with it to a float dtype"
        )


def is_wide_signed(dtype: Attribute) -> bool:
    """Whether overflow is undefined: signed, 32 bits or wider."""
    element = tir.element_of(dtype)
    return tir.is_int(dtype) and cast(IntegerType, element).width.data >= 32


def compare(
    cv: Emitter, name: str, a: SSAValue, b: SSAValue, like: Attribute
) -> SSAValue:
    """The comparison `name` of converted values whose source dtype is `like`."""
    if tir.is_float(like):
        return cv.compare(arith.CmpfOp, _FLOAT_PREDICATES[name], a, b)
    table = _UINT_PREDICATES if tir.is_uint(like) else _INT_PREDICATES
    return cv.compare(arith.CmpiOp, table[name], a, b)


# ---- arithmetic ----

_Kinds = tuple[type[IRDLOperation], type[IRDLOperation], type[IRDLOperation]]

_SIMPLE: dict[type[Operation], _Kinds] = {
    # signed, unsigned, float
    tir.AddOp: (arith.AddiOp, arith.AddiOp, arith.AddfOp),
    tir.SubOp: (arith.SubiOp, arith.SubiOp, arith.SubfOp),
    tir.MulOp: (arith.MuliOp, arith.MuliOp, arith.MulfOp),
    tir.DivOp: (arith.DivSIOp, arith.DivUIOp, arith.DivfOp),
    tir.ModOp: (arith.RemSIOp, arith.RemUIOp, llvm.FRemOp),
    tir.AndOp: (arith.AndIOp, arith.AndIOp, arith.AndIOp),
    tir.OrOp: (arith.OrIOp, arith.OrIOp, arith.OrIOp),
}
_MAY_OVERFLOW = (tir.AddOp, tir.SubOp, tir.MulOp)


def _simple(cv: Emitter, op: tir.BinaryOp) -> SSAValue:
    dtype = op.result.type
    require_computable(cv, dtype)
    signed, unsigned, floating = _SIMPLE[type(op)]
    a, b = cv.value(op.lhs), cv.value(op.rhs)
    if tir.is_float(dtype):
        if floating is llvm.FRemOp:
            return float_remainder(cv, a, b)
        return cv.binary(floating, a, b)
    if isinstance(op, _MAY_OVERFLOW) and is_wide_signed(dtype):
        return cv.build(signed, [a, b], a.type, {"overflowFlags": NSW})
    return cv.binary(unsigned if tir.is_uint(dtype) else signed, a, b)


def float_remainder(cv: Emitter, a: SSAValue, b: SSAValue) -> SSAValue:
    """C's `fmod`; arith has no such operation in xDSL, so LLVM's is used.

    There is none of 16 bits. In f32 it is exact, and the result fits the operands' dtype.
    """
    dtype = a.type
    if tir.element_of(dtype) in (f16, bf16):
        wide = tir.like_lanes(f32, dtype)
        a, b = (convert(cv, value, dtype, wide) for value in (a, b))
        return convert(cv, float_remainder(cv, a, b), wide, dtype)
    flags = llvm.FastMathAttr("none")
    return cv.build(llvm.FRemOp, [a, b], dtype, {"fastmathFlags": flags})


def _floor_div(cv: Emitter, op: tir.FloorDivOp) -> SSAValue:
    dtype = op.result.type
    require_computable(cv, dtype)
    a, b = cv.value(op.lhs), cv.value(op.rhs)
    if tir.is_float(dtype):
        return _math(cv, math.FloorOp, cv.binary(arith.DivfOp, a, b))
    if tir.is_uint(dtype):
        return cv.binary(arith.DivUIOp, a, b)
    divisor = _positive_constant(op.rhs)
    if divisor is not None and divisor & (divisor - 1) == 0:
        return cv.binary(arith.ShRSIOp, a, cv.number(divisor.bit_length() - 1, dtype))
    quotient = cv.binary(arith.DivSIOp, a, b)
    remainder = cv.binary(arith.RemSIOp, a, b)
    if divisor is not None:
        return cv.binary(arith.AddiOp, quotient, _sign(cv, remainder, dtype))
    lower = cv.binary(arith.SubiOp, quotient, cv.number(1, dtype))
    return cv.select(_rounds_down(cv, remainder, b, dtype), lower, quotient)


def _floor_mod(cv: Emitter, op: tir.FloorModOp) -> SSAValue:
    dtype = op.result.type
    require_computable(cv, dtype)
    a, b = cv.value(op.lhs), cv.value(op.rhs)
    if tir.is_float(dtype):
        floor = _math(cv, math.FloorOp, cv.binary(arith.DivfOp, a, b))
        return cv.binary(arith.SubfOp, a, cv.binary(arith.MulfOp, floor, b))
    if tir.is_uint(dtype):
        return cv.binary(arith.RemUIOp, a, b)
    divisor = _positive_constant(op.rhs)
    if divisor is not None and divisor & (divisor - 1) == 0:
        return cv.binary(arith.AndIOp, a, cv.number(divisor - 1, dtype))
    remainder = cv.binary(arith.RemSIOp, a, b)
    if divisor is not None:
        correction = cv.binary(arith.AndIOp, b, _sign(cv, remainder, dtype))
        return cv.binary(arith.AddiOp, remainder, correction)
    higher = cv.binary(arith.AddiOp, remainder, b)
    return cv.select(_rounds_down(cv, remainder, b, dtype), higher, remainder)


def constant_number(value: SSAValue) -> float | None:
    """The number of a constant, or of a broadcast of one."""
    owner = value.owner
    return tir.constant_value(
        owner.value if isinstance(owner, tir.BroadcastOp) else value
    )


def _positive_constant(value: SSAValue) -> int | None:
    """The number of a positive constant, or of a broadcast of one."""
    number = constant_number(value)
    return number if isinstance(number, int) and number > 0 else None


def _sign(cv: Emitter, value: SSAValue, dtype: Attribute) -> SSAValue:
    """-1 where `value` is negative, 0 elsewhere."""
    width = cast(IntegerType, tir.element_of(dtype)).width.data
    return cv.binary(arith.ShRSIOp, value, cv.number(width - 1, dtype))


def _rounds_down(
    cv: Emitter, remainder: SSAValue, divisor: SSAValue, dtype: Attribute
) -> SSAValue:
    """Whether the truncated quotient is one more than the floored one."""
    zero = cv.number(0, dtype)
    differs = compare(cv, "lt", cv.binary(arith.XOrIOp, remainder, divisor), zero, dtype)
    inexact = compare(cv, "ne", remainder, zero, dtype)
    return cv.binary(arith.AndIOp, differs, inexact)


def _min_max(cv: Emitter, op: tir.MinOp | tir.MaxOp) -> SSAValue:
    dtype = op.result.type
    require_computable(cv, dtype)
    a, b = cv.value(op.lhs), cv.value(op.rhs)
    is_min = isinstance(op, tir.MinOp)
    if tir.is_float(dtype):
        # NaN where an operand is. The order of zeros is left open: it costs instructions.
        kind = arith.MinimumfOp if is_min else arith.MaximumfOp
        return cv.build(kind, [a, b], a.type, {"fastmath": _ANY_ZERO})
    if tir.is_uint(dtype):
        return cv.binary(arith.MinUIOp if is_min else arith.MaxUIOp, a, b)
    return cv.binary(arith.MinSIOp if is_min else arith.MaxSIOp, a, b)


def _compare_op(cv: Emitter, op: tir.CmpOp) -> SSAValue:
    dtype = op.lhs.type
    if tir.is_handle(dtype):
        raise cv.fail("pointers cannot be compared; compare indices instead")
    require_computable(cv, dtype)
    name = str(op.predicate.data)
    return compare(cv, name, cv.value(op.lhs), cv.value(op.rhs), dtype)


def _not(cv: Emitter, op: tir.NotOp) -> SSAValue:
    value = cv.value(op.value)
    return cv.binary(arith.XOrIOp, value, cv.number(1, value.type))


def _select(cv: Emitter, op: tir.SelectOp) -> SSAValue:
    return cv.select(
        cv.value(op.condition), cv.value(op.true_value), cv.value(op.false_value)
    )


# ---- conversions ----


def _cast(cv: Emitter, op: tir.CastOp) -> SSAValue:
    return convert(cv, cv.value(op.value), op.value.type, op.result.type)


def convert(
    cv: Emitter, value: SSAValue, source: Attribute, target: Attribute
) -> SSAValue:
    """`value`, of source dtype `source`, converted to `target` as `tir.cast` does."""
    if source == target or (
        signless(source) == signless(target)
        and tir.is_bool(source) == tir.is_bool(target)
        and not tir.is_float8(source)
        and not tir.is_float8(target)
    ):
        return value
    require_computable(cv, source)
    require_computable(cv, target)
    lane_source, lane_target = tir.element_of(source), tir.element_of(target)
    if tir.is_vector(target) and _is_spelled_out(lane_source, lane_target):
        return cv.per_lane(
            lambda lanes: convert(cv, lanes[0], lane_source, lane_target), [value], target
        )
    if tir.is_bool(target):
        return compare(cv, "ne", value, cv.number(0, source), source)
    if tir.is_float(source):
        return _convert_float(cv, value, source, target)
    return _convert_integer(cv, value, source, target)


def _is_spelled_out(source: Attribute, target: Attribute) -> bool:
    """Whether lanes are converted by operations that arith has on scalars only."""
    if bf16 in (source, target):
        return {source, target} != {bf16, f32}
    return (source, target) == (f64, f16)


def _convert_integer(
    cv: Emitter, value: SSAValue, source: Attribute, target: Attribute
) -> SSAValue:
    unsigned = tir.is_uint(source)
    if tir.is_float(target):
        return _elementwise(
            cv, arith.UIToFPOp if unsigned else arith.SIToFPOp, value, target
        )
    before = cast(IntegerType, tir.element_of(source)).width.data
    after = cast(IntegerType, tir.element_of(target)).width.data
    if before == after:
        return value
    if before > after:
        return _elementwise(cv, arith.TruncIOp, value, target)
    return _elementwise(cv, arith.ExtUIOp if unsigned else arith.ExtSIOp, value, target)


_VECTOR_CASTS: dict[type[Operation], type[Operation]] = {
    arith.ExtFOp: llvm.FPExtOp,
    arith.ExtSIOp: llvm.SExtOp,
    arith.ExtUIOp: llvm.ZExtOp,
    arith.FPToSIOp: tvm_llvm.FPToSIOp,
    arith.FPToUIOp: tvm_llvm.FPToUIOp,
    arith.SIToFPOp: llvm.SIToFPOp,
    arith.TruncFOp: llvm.FPTruncOp,
    arith.TruncIOp: llvm.TruncOp,
    arith.UIToFPOp: tvm_llvm.UIToFPOp,
}
"""What arith's conversions are on vectors, which arith does not convert."""


def _elementwise(
    cv: Emitter, kind: type[Operation], value: SSAValue, target: Attribute
) -> SSAValue:
    """A conversion of numbers, or of vectors of them."""
    if tir.is_vector(target):
        return cv.build(_VECTOR_CASTS[kind], [value], signless(target))
    return cv.build(kind, [value], signless(target))


def _saturated(
    cv: Emitter, value: SSAValue, source: Attribute, target: Attribute
) -> SSAValue:
    """A float toward zero, cut off at the limits of the integer, 0 where it is NaN.

    LLVM's own conversions that saturate are several times slower on vectors.
    """
    if _float_width(source) < 32:
        wide = tir.like_lanes(f32, source)
        value, source = _elementwise(cv, arith.ExtFOp, value, wide), wide
    signed = not tir.is_uint(target)
    bits = cast(IntegerType, tir.element_of(target)).width.data - signed
    digits = 24 if _float_width(source) == 32 else 53
    low, limit = cv.number(-(2.0**bits) if signed else 0.0, source), 2.0**bits
    # A NaN is not greater, and becomes the lower limit.
    inside = cv.select(compare(cv, "gt", value, low, source), value, low)
    # The greatest float below the limit: the greatest integer, if that is a float.
    high = cv.number(limit - 2.0 ** max(bits - digits, 0), source)
    inside = cv.select(compare(cv, "lt", inside, high, source), inside, high)
    kind = arith.FPToSIOp if signed else arith.FPToUIOp
    found = _elementwise(cv, kind, inside, target)
    if bits > digits:
        above = compare(cv, "ge", value, cv.number(limit, source), source)
        found = cv.select(above, cv.number(2**bits - 1, target), found)
    if signed:
        is_nan = cv.compare(arith.CmpfOp, UNORDERED, value, value)
        found = cv.select(is_nan, cv.number(0, target), found)
    return found


def _convert_float(
    cv: Emitter, value: SSAValue, source: Attribute, target: Attribute
) -> SSAValue:
    if tir.is_integer(target):
        return _saturated(cv, value, source, target)
    before, after = _float_width(source), _float_width(target)
    if before == after:
        # f16 and bf16: both embed in f32.
        wide = cv.build(arith.ExtFOp, [value], f32)
        return cv.build(arith.TruncFOp, [wide], target)
    kind = arith.ExtFOp if before < after else arith.TruncFOp
    return _elementwise(cv, kind, value, target)


def frozen(cv: Emitter, value: SSAValue) -> SSAValue:
    """`value`, or some value of its type where LLVM leaves it undefined."""
    return cv.build(tvm_llvm.FreezeOp, [value], value.type)


def _float_width(dtype: Attribute) -> int:
    return cast(Float32Type, tir.element_of(dtype)).bitwidth


def _constant(cv: Emitter, op: tir.ConstOp) -> SSAValue:
    _require_builtin(cv, op.result.type)
    return cv.number(op.literal, op.result.type)


# ---- vectors ----


def _broadcast(cv: Emitter, op: tir.BroadcastOp) -> SSAValue:
    _require_fixed(cv, op.result.type)
    return cv.build(vector.BroadcastOp, [cv.value(op.value)], signless(op.result.type))


def _ramp(cv: Emitter, op: tir.RampOp) -> SSAValue:
    dtype = op.result.type
    _require_fixed(cv, dtype)
    result = cast("VectorType[IntegerType]", signless(dtype))
    if not tir.is_integer(dtype):
        raise cv.fail("ramps of floats are not supported; cast an integer ramp instead")
    lanes = DenseIntOrFPElementsAttr.from_list(result, list(range(tir.lanes_of(dtype))))
    steps = cv.build(arith.ConstantOp, [], result, {"value": lanes})
    base = cv.build(vector.BroadcastOp, [cv.value(op.base)], result)
    if not tir.is_constant(op.stride, 1):
        stride = cv.build(vector.BroadcastOp, [cv.value(op.stride)], result)
        steps = cv.binary(arith.MuliOp, steps, stride)
    return cv.binary(arith.AddiOp, base, steps)


def _shuffle(cv: Emitter, op: tir.ShuffleOp) -> SSAValue:
    lanes = [
        (vector_, lane)
        for vector_ in op.vectors
        for lane in range(tir.lanes_of(vector_.type))
    ]
    numbers: list[int] = []
    for index in op.indices:
        number = tir.constant_value(index)
        if number is None or not 0 <= number < len(lanes):
            raise cv.fail(f"indices must be constants within 0 and {len(lanes) - 1}")
        numbers.append(int(number))
    sources = [cv.value(vector_) for vector_ in op.vectors]
    types = {source.type for source in sources}
    alike = len(types) == 1 and tir.is_vector(sources[0].type)
    if alike and len(sources) <= 2 and tir.is_vector(op.result.type):
        return shuffled(cv, sources[0], sources[-1], numbers, op.result.type)
    picked = [cv.extract(cv.value(lanes[n][0]), lanes[n][1]) for n in numbers]
    if not tir.is_vector(op.result.type):
        return picked[0]
    return cv.gathered(picked, signless(op.result.type))


def shuffled(
    cv: Emitter, a: SSAValue, b: SSAValue, lanes: Sequence[int], result: Attribute
) -> SSAValue:
    """The vector of the given lanes of two vectors, those of `b` after those of `a`."""
    mask = DenseArrayBase.from_list(i64, list(lanes))
    return cv.build(vector.ShuffleOp, [a, b], signless(result), {"mask": mask})


def _require_fixed(cv: Emitter, dtype: Attribute) -> None:
    if tir.is_scalable(dtype):
        raise cv.fail(f"scalable vectors such as {dtype} are not supported")


def halves(cv: Emitter, value: SSAValue, result: Attribute, *, high: bool) -> SSAValue:
    """The lower or the upper half of a vector."""
    count = tir.lanes_of(result)
    first = count if high else 0
    if not tir.is_vector(result):
        return cv.extract(value, first)
    return shuffled(cv, value, value, range(first, first + count), result)


# ---- math ----


def _math(cv: Emitter, kind: type[Operation], *values: SSAValue) -> SSAValue:
    return cv.build(kind, values, values[0].type, {"fastmath": NO_FAST_MATH})


def unary_math(cv: Emitter, kind: type[Operation], value: SSAValue) -> SSAValue:
    """A floating-point function of the math dialect."""
    return _math(cv, kind, value)


def binary_math(cv: Emitter, kind: type[Operation], a: SSAValue, b: SSAValue) -> SSAValue:
    """A floating-point function of two arguments of the math dialect."""
    return _math(cv, kind, a, b)


Handler = Callable[[Emitter, Any], SSAValue]

EXPRESSIONS: dict[type[Operation], Handler] = {
    **dict.fromkeys(_SIMPLE, _simple),
    tir.FloorDivOp: _floor_div,
    tir.FloorModOp: _floor_mod,
    tir.MinOp: _min_max,
    tir.MaxOp: _min_max,
    tir.CmpOp: _compare_op,
    tir.NotOp: _not,
    tir.SelectOp: _select,
    tir.CastOp: _cast,
    tir.ConstOp: _constant,
    tir.BroadcastOp: _broadcast,
    tir.RampOp: _ramp,
    tir.ShuffleOp: _shuffle,
}
"""The ops that become values of their operands alone."""
