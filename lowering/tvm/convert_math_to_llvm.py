"""The math operations that processors have, to LLVM intrinsics."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import math
from xdsl.dialects.builtin import ModuleOp, f32, i1
from xdsl.dialects.llvm import ConstantOp
from xdsl.ir import Operation, SSAValue

from xdsl_tvm.analysis.all_ops import all_ops
from xdsl_tvm.dialects import tvm_llvm
from xdsl_tvm.lowering.tvm._arith_float import FloatCasts, is_bf16
from xdsl_tvm.lowering.tvm._conversion import (
    Conversion,
    fail,
    fastmath,
    require_convertible,
    splat,
    vector_of,
    works_on_tensors,
)
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
        and ctpop. bf16 operations are done in f32 and rounded once.
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
    if is_bf16(type_):
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


def _lower_integer(at: Conversion, op: Operation, name: str) -> SSAValue:
    value = at.operand(op.operands[0])
    operands = [value]
    if name != "ctpop":
        # The flag says whether the smallest integer, or zero, gives poison: it must not.
        flag = ConstantOp.create(result_types=[i1], properties={"value": splat(0, i1)})
        operands.append(at.insert(flag))
    return at.insert(tvm_llvm.CallIntrinsicOp(f"llvm.{name}", operands, value.type))


NATIVE_OPERATIONS = frozenset({*FLOAT_INTRINSICS, *_INTEGER_INTRINSICS})
"""The math operations that this pass converts."""
