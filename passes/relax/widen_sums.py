"""Sums of products of narrow floats are computed in f32."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, bf16, f16, f32
from xdsl.ir import Attribute, SSAValue
from xdsl.rewriter import Rewriter

from xdsl_tvm.dialects import relax
from xdsl_tvm.dialects.relax.types import TensorInfo
from xdsl_tvm.passes.infra import CompilerPass
from xdsl_tvm.passes.relax.rewriting.insertion import BindingBuilder, by_function
from xdsl_tvm.passes.relax.rewriting.symbols import hide_symbols

_Sums: TypeAlias = relax.MatmulOp | relax.Conv1DOp | relax.Conv2DOp | relax.Conv3DOp


@dataclass(frozen=True)
class WidenSums(CompilerPass):
    """Summary: Lets matrix products of bfloat16, and convolutions of it and of f16, sum
        in f32, and round once.

    TVM name: none (ours)
    Input form: any
    Output form: the same
    Options: none
    Rewrites: before

            %y = relax.matmul %a, %b : (...) -> tensor<4x6xbf16>

        after

            %s = relax.matmul %a, %b out_dtype f32 : (...) -> tensor<4x6xf32>
            %y = relax.astype %s dtype bf16 : (tensor<4x6xf32>) -> tensor<4x6xbf16>

        The operands of relax.nn.conv1d, relax.nn.conv2d and relax.nn.conv3d are converted
        to f32 as well, so that layouts and schedules of f32 are theirs; constants are
        left to relax-fold-constant. A product of two such numbers is exact in f32. So
        results are those of the evaluation of Relax, which sums in wider floats, but for
        the rounding of f32. Time is linear in the size of the module.
    Leaves alone: matrix products of f16, which processors sum; operators with another
        result or operands, or of no known dtype; tensors that something writes in place,
        or that a function literal takes from outside with symbols
    Errors: none
    Attributes: read: none; created: none; removed: none
    Differs from TVM: TVM rounds such sums to the dtype of the result after each term
    """

    name = "relax-widen-sums"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for kind in (relax.MatmulOp, relax.Conv1DOp, relax.Conv2DOp, relax.Conv3DOp):
            for found, written in by_function(op, kind):
                for each in found:
                    if written.isdisjoint((*each.operands, each.results[0])):
                        _widen(each)


def _widen(op: _Sums) -> None:
    values: list[SSAValue] = [*op.operands, op.result]
    infos = [TensorInfo.of(value.type) for value in values]
    dtypes = {None if info is None else info.dtype for info in infos}
    is_product = isinstance(op, relax.MatmulOp)
    if len(dtypes) != 1 or not dtypes.issubset({bf16} if is_product else {bf16, f16}):
        return
    if hide_symbols(values, op):
        return
    (dtype,) = dtypes
    assert dtype is not None, "one of those"
    builder = BindingBuilder(op)
    operands = list(op.operands)
    if not is_product:
        operands = [builder.insert(relax.AstypeOp(each, f32)) for each in operands]
    properties: dict[str, Attribute] = {**op.properties, "out_dtype": f32}
    narrow = type(op).create(
        operands=operands, result_types=[op.result.type], properties=properties
    )
    result_type = narrow.infer_result_type()
    narrow.drop_all_references()
    wide = type(op).create(
        operands=operands, result_types=[result_type], properties=properties
    )
    result = builder.insert(relax.AstypeOp(builder.insert(wide), dtype))
    result.name_hint = op.result.name_hint
    Rewriter.replace_op(op, (), [builder.typed(result, op.result.type)])
