"""The math operations that processors have, to LLVM intrinsics."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import math
from xdsl.dialects.builtin import (
    Float16Type,
    IntegerAttr,
    ModuleOp,
    StringAttr,
    f32,
    f64,
    i1,
    i32,
    i64,
)
from xdsl.dialects.llvm import (
    AddOp,
    AndOp,
    BitcastOp,
    ConstantOp,
    FAddOp,
    FMulOp,
    FSubOp,
    XOrOp,
)
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import IRDLOperation

from xdsl_tvm.analysis.all_ops import all_ops
from xdsl_tvm.dialects import tvm_llvm
from xdsl_tvm.dialects.dtypes import element_of
from xdsl_tvm.dialects.quick_operation import create
from xdsl_tvm.lowering.to_llvm._conversion import (
    NO_FASTMATH,
    Conversion,
    become,
    fail,
    fastmath,
    has_own_forms,
    require_convertible,
    splat,
    vector_of,
    works_on_tensors,
)
from xdsl_tvm.lowering.to_llvm._math.arith_float import (
    FloatCasts,
    compare_floats,
    compare_integers,
    is_bf16,
    select,
)
from xdsl_tvm.lowering.to_llvm._symbols import symbol_table
from xdsl_tvm.passes.infra import CompilerPass

FLOAT_INTRINSICS: dict[type[Operation], str] = {
    math.AbsFOp: "fabs",
    math.CeilOp: "ceil",
    math.CopySignOp: "copysign",
    math.FloorOp: "floor",
    math.FmaOp: "fma",
    math.RoundEvenOp: "roundeven",
    math.SqrtOp: "sqrt",
    math.TruncOp: "trunc",
}
"""Float operations that every back end has as instructions, or exact in libm."""

_INTRINSIC_NAMES = {
    kind: StringAttr(f"llvm.{name}") for kind, name in FLOAT_INTRINSICS.items()
}

_INTEGER_INTRINSICS: dict[type[Operation], str] = {
    math.AbsIOp: "abs",
    math.CountLeadingZerosOp: "ctlz",
    math.CountTrailingZerosOp: "cttz",
    math.CtPopOp: "ctpop",
}


@dataclass(frozen=True)
class ConvertMathToLLVM(CompilerPass):
    """Summary: Turns math operations that processors have into LLVM intrinsics.

    TVM name: none (ours)
    Input form: the output of `tvm-expand-math`: no transcendental functions
    Output form: no math operation, except on tensors
    Options: none
    Rewrites:
            math.sqrt %x fastmath<contract> : f32
          →
            tvm_llvm.call_intrinsic "llvm.sqrt"(%x) {fastmathFlags = …} : (f32) -> f32
        Likewise absf, ceil, copysign, floor, fma, roundeven, trunc, absi, ctlz, cttz
        and ctpop. Operations on bf16, and on f16 outside of gpu.modules, are done in f32
        and rounded once; fma in f64, so that the exact result is rounded once.
    Leaves alone: foreign operations; operations on tensors
    Errors: any other math operation (run `tvm-expand-math` first); types without an
        LLVM form
    Attributes: read: none; created: none; removed: none
    Differs from TVM: TVM lowers intrinsics by rules per target (LowerIntrin)
    """

    name = "tvm-convert-math-to-llvm"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        conversion = Conversion()
        floats = FloatCasts(conversion)
        for inner in all_ops(op):
            if not inner.name.startswith("math.") or works_on_tensors(inner):
                continue
            name = _INTRINSIC_NAMES.get(type(inner))
            if (
                name is not None
                and has_own_forms(inner)
                and not _is_widened(inner, inner.results[0].type)
            ):
                flags = fastmath(inner.properties.get("fastmath"))
                properties: dict[str, Attribute] = {
                    "intrin": name,
                    "fastmathFlags": flags,
                }
                become(inner, tvm_llvm.CallIntrinsicOp, properties)
                continue
            require_convertible(inner)
            conversion.start(inner)
            conversion.replace(inner, [_lower(conversion, floats, inner)])
        conversion.finish()


def _lower(at: Conversion, floats: FloatCasts, op: Operation) -> SSAValue:
    kind = type(op)
    if kind in _INTEGER_INTRINSICS:
        return _lower_integer(at, op, _INTEGER_INTRINSICS[kind])
    if kind not in FLOAT_INTRINSICS:
        raise fail(op, "no processor has it; run 'tvm-expand-math' before this pass")
    operands = list(op.operands)
    type_ = op.results[0].type
    if _is_widened(op, type_):
        if kind is math.FmaOp:
            return _small_fma(at, floats, op)
        wide = vector_of(f32, type_)
        operands = [floats.extend(op, value, wide) for value in operands]
    result = at.insert(
        tvm_llvm.CallIntrinsicOp(
            f"llvm.{FLOAT_INTRINSICS[kind]}",
            operands,
            operands[0].type,
            fastmath(op.properties.get("fastmath")),
        )
    )
    return floats.truncate(op, result, type_)


_SIGN_OPERATIONS = (math.AbsFOp, math.CopySignOp)


def _is_widened(op: Operation, type_: Attribute) -> bool:
    """Whether there is no instruction of this type: f16 has some on GPUs."""
    if is_bf16(type_):
        return True
    if not isinstance(element_of(type_), Float16Type):
        return False
    on_gpu = symbol_table(op).name == "gpu.module"
    return not on_gpu and not isinstance(op, _SIGN_OPERATIONS)


def _small_fma(at: Conversion, floats: FloatCasts, op: Operation) -> SSAValue:
    """A fused multiply-add of 16-bit floats, in f64.

    The product is exact. The sum is rounded to odd, so that the second rounding rounds
    the exact result: where it is inexact, its last bit is made one, towards the error.
    """
    type_ = op.results[0].type
    wide = vector_of(f64, type_)
    integer = vector_of(i64, type_)

    def emit(kind: type[IRDLOperation], *values: SSAValue) -> SSAValue:
        return at.emit(kind, values, wide, fastmathFlags=NO_FASTMATH)

    a, b, c = (floats.extend(op, value, wide) for value in op.operands)
    product = emit(FMulOp, a, b)
    total = emit(FAddOp, product, c)
    # Knuth's two-sum: the error of the addition, exactly.
    virtual = emit(FSubOp, total, product)
    error = emit(
        FAddOp,
        emit(FSubOp, product, emit(FSubOp, total, virtual)),
        emit(FSubOp, c, virtual),
    )
    bits = at.emit(BitcastOp, [total], integer)
    error_bits = at.emit(BitcastOp, [error], integer)
    zero, one = at.constant(0, integer), at.constant(1, integer)
    differs = at.emit(XOrOp, [bits, error_bits], integer)
    smaller = compare_integers(at, "slt", differs, zero)
    step = select(at, smaller, at.constant(-1, integer), one)
    inexact = compare_floats(at, "one", error, at.constant(0.0, wide))
    last = at.emit(AndOp, [bits, one], integer)
    even = compare_integers(at, "eq", last, zero)
    moved = at.emit(AndOp, [inexact, even], even.type)
    chosen = select(at, moved, step, zero)
    odd = at.emit(AddOp, [bits, chosen], integer, overflowFlags=IntegerAttr(0, i32))
    return floats.truncate(op, at.emit(BitcastOp, [odd], wide), type_)


def _lower_integer(at: Conversion, op: Operation, name: str) -> SSAValue:
    value = at.operand(op.operands[0])
    operands = [value]
    if name != "ctpop":
        # The flag says whether the smallest integer, or zero, gives poison: it must not.
        flag = create(ConstantOp, result_types=[i1], properties={"value": splat(0, i1)})
        operands.append(at.insert(flag))
    return at.insert(tvm_llvm.CallIntrinsicOp(f"llvm.{name}", operands, value.type))


NATIVE_OPERATIONS = frozenset({*FLOAT_INTRINSICS, *_INTEGER_INTRINSICS})
"""The math operations that this pass converts."""
