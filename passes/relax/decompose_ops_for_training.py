"""Normalizations become arithmetic with the statistics of their data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue
from xdsl.pattern_rewriter import (
    GreedyRewritePatternApplier,
    PatternRewriter,
    RewritePattern,
    op_type_rewrite_pattern,
)

from xdsl_tvm.analysis.all_ops import all_ops
from xdsl_tvm.dialects import relax
from xdsl_tvm.dialects.relax.types import TensorInfo, TupleType
from xdsl_tvm.passes.infra import CompilerPass
from xdsl_tvm.passes.infra.patterns import rewrite_each
from xdsl_tvm.passes.relax.decompose_ops_for_inference import (
    DecomposeBatchNormPattern,
    NameDimensionsPattern,
    is_decomposable,
    normalized_by,
    symbol_names,
)
from xdsl_tvm.passes.relax.rewriting.insertion import BindingBuilder, float_dtype
from xdsl_tvm.passes.relax.rewriting.symbols import hide_symbols


@dataclass(frozen=True)
class DecomposeOpsForTraining(CompilerPass):
    """Summary: Writes batch and layer normalization as arithmetic with the mean and the
        variance of the data, and makes symbols of the shapes that tensors hold.

    TVM name: relax.DecomposeOpsForTraining (v0.20)
    Input form: any
    Output form: the same
    Options: `func_name`: the function to work on; all where it is not given (none)
    Rewrites: before

            %r = relax.nn.batch_norm %x, %g, %b, %m, %v axis 1 … momentum 1.0e-01 : …
            %l = relax.nn.layer_norm %x, %h, %c axes [-1] epsilon 1.0e-05 : …

        after, with operators in the place of the signs, and vectors along their axes,

            %mean = relax.mean %x axis [0, 2, 3] : …
            %var = relax.variance %x axis [0, 2, 3] : …
            %y = (%x - %mean) / relax.sqrt(%var + 1.0e-05) * %g + %b
            %r = relax.tuple(%y, 0.9 * %m + 0.1 * %mean, 0.9 * %v + 0.1 * %var)
            %n = relax.mean %x axis [3] keepdims : …
            %w = relax.variance %x axis [3] keepdims : …
            %l = (%x - %n) / relax.sqrt(%w + 1.0e-05) * %h + %c

        What is for `inference`, and shapes that tensors hold, are treated as in
        `relax-decompose-ops-for-inference`. `no_scale` and `no_center` leave out the
        product or the sum. Time is linear in the size of the module. As patterns:
        `DecomposeTrainedBatchNormPattern`, `DecomposeLayerNormPattern`.
    Leaves alone: normalization of data of unknown rank, or of tensors that are not known
        to have one float dtype, or that a function literal takes from outside with
        symbols; layer normalization over axes that are not in order
    Errors: none
    Attributes: read: none; created: none; removed: none
    Differs from TVM: batch normalization for `inference` keeps its moving statistics,
        where TVM takes all for training
    """

    name = "relax-decompose-ops-for-training"

    func_name: str | None = None

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        patterns = GreedyRewritePatternApplier(
            [
                DecomposeTrainedBatchNormPattern(),
                DecomposeLayerNormPattern(),
                DecomposeBatchNormPattern(),
                NameDimensionsPattern(cache(symbol_names)),
            ],
            dce_enabled=False,
        )
        for func in op.ops:
            if not isinstance(func, relax.FuncOp):
                continue
            if self.func_name in (None, func.sym_name.data):
                found = [each for each in all_ops(func) if isinstance(each, _DECOMPOSED)]
                rewrite_each(patterns, found)


_DECOMPOSED = (relax.BatchNormOp, relax.LayerNormOp, relax.TensorToShapeOp)


class DecomposeTrainedBatchNormPattern(RewritePattern):
    """Writes a batch normalization that is not for inference as arithmetic."""

    @op_type_rewrite_pattern
    def match_and_rewrite(
        self, op: relax.BatchNormOp, rewriter: PatternRewriter, /
    ) -> None:
        if op.inference is not None or not is_decomposable(op):
            return
        info = TensorInfo.of(op.data.type)
        assert info is not None, "decomposable"
        assert info.rank is not None, "decomposable"
        axis = op.axis.value.data % info.rank
        others = [each for each in range(info.rank) if each != axis]
        builder = BindingBuilder(op, rewriter)
        mean = builder.insert(relax.MeanOp(op.data, others))
        variance = builder.insert(relax.VarianceOp(op.data, others))
        values = (
            normalized_by(op, builder, mean, variance),
            _moved(op, builder, op.moving_mean, mean),
            _moved(op, builder, op.moving_var, variance),
        )
        fields = op.result.type
        assert isinstance(fields, TupleType), "verified"
        typed = [builder.typed(v, t) for v, t in zip(values, fields.fields, strict=True)]
        rewriter.replace(op, (), [builder.insert(relax.TupleOp(typed))])


def _moved(
    op: relax.BatchNormOp, builder: BindingBuilder, old: SSAValue, new: SSAValue
) -> SSAValue:
    """The moving statistic after the data has been seen."""
    dtype = float_dtype([old])
    assert dtype is not None, "decomposable"
    share = op.momentum.value.data
    kept = builder.insert(relax.MultiplyOp(builder.number(1 - share, dtype), old))
    added = builder.insert(relax.MultiplyOp(builder.number(share, dtype), new))
    return builder.insert(relax.AddOp(kept, added))


class DecomposeLayerNormPattern(RewritePattern):
    """Writes a layer normalization as arithmetic."""

    @op_type_rewrite_pattern
    def match_and_rewrite(
        self, op: relax.LayerNormOp, rewriter: PatternRewriter, /
    ) -> None:
        dtype, info = float_dtype(op.operands), TensorInfo.of(op.data.type)
        if dtype is None or info is None or info.rank is None:
            return
        axes = [int(axis) % info.rank for axis in op.axes.get_values()]
        if axes != sorted(axes) or hide_symbols(op.operands, op):
            return
        builder = BindingBuilder(op, rewriter)
        mean = builder.insert(relax.MeanOp(op.data, axes, True))
        variance = builder.insert(relax.VarianceOp(op.data, axes, True))
        epsilon = builder.number(op.epsilon.value.data, dtype)
        total = builder.insert(relax.AddOp(variance, epsilon))
        value = builder.insert(relax.SubtractOp(op.data, mean))
        value = builder.insert(relax.DivideOp(value, builder.insert(relax.SqrtOp(total))))
        if op.no_scale is None:
            gamma = _along(builder, op.gamma, info.rank, axes)
            value = builder.insert(relax.MultiplyOp(value, gamma))
        if op.no_center is None:
            beta = _along(builder, op.beta, info.rank, axes)
            value = builder.insert(relax.AddOp(value, beta))
        rewriter.replace(op, (), [builder.typed(value, op.result.type)])


def _along(
    builder: BindingBuilder, value: SSAValue, rank: int, axes: Sequence[int]
) -> SSAValue:
    """A tensor as one of `rank` that has its dimensions as the given ones."""
    others = [each for each in range(rank) if each not in axes]
    return builder.insert(relax.ExpandDimsOp(value, others)) if others else value
