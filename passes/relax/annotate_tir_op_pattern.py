"""TIR functions are told what they are for fusion."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, i32

from xdsl_tvm.analysis.all_ops import all_ops
from xdsl_tvm.analysis.relax.op_pattern import op_pattern
from xdsl_tvm.dialects import tir
from xdsl_tvm.dialects.by_class import of_classes
from xdsl_tvm.dialects.tir.annotations import integer_of
from xdsl_tvm.passes.infra import CompilerPass

OP_PATTERN = "op_pattern"
"""The attribute of a TIR function that holds its `OpPattern`."""


_is_function = of_classes(tir.FuncOp)


@dataclass(frozen=True)
class AnnotateTIROpPattern(CompilerPass):
    """Summary: Writes on each TIR function how its results depend on its arguments, which
        is what fusion goes by.

    TVM name: relax.AnnotateTIROpPattern (v0.20)
    Input form: blocks, unscheduled; functions in other forms count as opaque
    Output form: the same, where each `tir.func` with a body has an `op_pattern`
    Options: none
    Rewrites: before

            tir.func @add(...) { ... %z = tir.add %x, %y : f32 ... }

        after

            tir.func @add(...) attributes {op_pattern = 0 : i32} { ... }

        The kinds are 0 element-wise, 1 broadcast, 2 injective, 3 reduction, 4 a reduction
        that element-wise functions may follow (matrix products, convolutions, pooling,
        softmax), 8 opaque. That of a function is the greatest one of its blocks. A block
        is a map where all loads are at indices that the indices of its store determine:
        the same ones (0), some of them in order (1), or any expression of them (2). Other
        blocks with reduction variables are sums of products (4), read at expressions of
        these variables (4), or reduce (3). A map to a parameter after a plain reduction
        makes the function one of kind 4. Time is linear in the size of the module.
    Leaves alone: functions with an `op_pattern` other than 0; declarations
    Errors: none
    Attributes: read: `op_pattern`; created: `op_pattern`; removed: none
    Differs from TVM: indices are compared as expressions, not as objects, and index 0 of
        a dimension of one is that of a variable that is always 0. A block that
        holds blocks, statements with effects other than stores, or statements outside of
        blocks make a function opaque. An index may use extents and scalar parameters.
    """

    name = "relax-annotate-tir-op-pattern"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in filter(_is_function, all_ops(op)):
            if function.is_declaration:
                continue
            present = function.attributes.get(OP_PATTERN)
            if present is None or integer_of(present) == 0:
                kind = IntegerAttr(int(op_pattern(function)), i32)
                function.attributes[OP_PATTERN] = kind
