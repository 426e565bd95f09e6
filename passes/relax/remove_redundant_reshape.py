"""Reshapes of reshapes, and those to the shape that is there already, are removed."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue
from xdsl.rewriter import Rewriter

from xdsl_tvm.dialects import relax
from xdsl_tvm.dialects.relax.algebra import is_base_of
from xdsl_tvm.dialects.relax.types import TensorInfo
from xdsl_tvm.passes.infra import CompilerPass
from xdsl_tvm.passes.relax.rewriting.insertion import (
    BindingBuilder,
    by_function,
    is_primitive,
)
from xdsl_tvm.passes.relax.rewriting.symbols import hide_symbols


@dataclass(frozen=True)
class RemoveRedundantReshape(CompilerPass):
    """Summary: Removes reshapes whose result is reshaped again, and those that change
        nothing.

    TVM name: relax.RemoveRedundantReshape (v0.20)
    Input form: any
    Output form: the same
    Options: none
    Rewrites: before

            %a = relax.reshape %x, %s : (tensor<2x6xf32>, ...) -> tensor<12xf32>
            %b = relax.reshape %a, %t : (tensor<12xf32>, ...) -> tensor<3x4xf32>
            %c = relax.reshape %x, %u : (tensor<2x6xf32>, ...) -> tensor<2x6xf32>

        after

            %b = relax.reshape %x, %t : (tensor<2x6xf32>, ...) -> tensor<3x4xf32>

        where uses of `%c` are uses of `%x`. The first reshape is erased if nothing else
        uses it. Time is linear in the size of the module.
    Leaves alone: functions with `Primitive`; shapes that are not provably the same;
        tensors that something writes in place, or that a function literal takes from
        outside with symbols
    Errors: none
    Attributes: read: `Primitive`; created: none; removed: none
    Differs from TVM: none
    """

    name = "relax-remove-redundant-reshape"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for reshapes, written in by_function(op, relax.ReshapeOp):
            if not is_primitive(reshapes[0]):
                for reshape in reshapes:
                    _simplify(reshape, written)


def _simplify(op: relax.ReshapeOp, written: set[SSAValue]) -> None:
    inner = op.data.owner
    source = inner.data if isinstance(inner, relax.ReshapeOp) else op.data
    values = (source, op.data, op.result)
    if not written.isdisjoint(values) or hide_symbols(values, op):
        return
    if _is_known(op.result) and is_base_of(op.result.type, source.type):
        value = BindingBuilder(op).typed(source, op.result.type)
        Rewriter.replace_op(op, (), [value])
    elif source is not op.data:
        op.operands[0] = source
    if isinstance(inner, relax.ReshapeOp) and inner.result.first_use is None:
        Rewriter.erase_op(inner)


def _is_known(value: SSAValue) -> bool:
    info = TensorInfo.of(value.type)
    return info is not None and info.shape is not None
