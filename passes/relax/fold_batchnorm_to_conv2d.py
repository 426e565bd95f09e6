"""Convolutions whose result is normalized by known numbers get other weights."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue
from xdsl.pattern_rewriter import (
    PatternRewriter,
    RewritePattern,
    op_type_rewrite_pattern,
)

from xdsl_tvm.dialects import relax
from xdsl_tvm.dialects.relax.sharing import may_be_written
from xdsl_tvm.dialects.relax.types import TensorInfo
from xdsl_tvm.passes.infra import CompilerPass
from xdsl_tvm.passes.infra.patterns import rewrite_each
from xdsl_tvm.passes.relax.rewriting.insertion import (
    BindingBuilder,
    by_function,
    float_dtype,
)

_CHANNELS = {"OIHW": 0, "IOHW": 1}
"""For each kernel layout, the dimension of output channels."""


@dataclass(frozen=True)
class FoldBatchnormToConv2D(CompilerPass):
    """Summary: Multiplies what batch normalization multiplies a convolution's result by
        into the weight, so that only a sum with a vector is left.

    TVM name: relax.FoldBatchnormToConv2D (v0.20)
    Input form: any
    Output form: the same
    Options: none
    Rewrites: where `%w` and all of `%g`, `%b`, `%m`, `%v` are constants, before

            %c = relax.nn.conv2d %x, %w … layout "NCHW" kernel "OIHW" : …
            %n = relax.nn.batch_norm %c, %g, %b, %m, %v axis 1 … inference : …
            %r = relax.get_item %n[0] : …

        after, with operators in the place of the signs,

            %s = %g / relax.sqrt(%v + 1.0e-05)
            %k = %w * reshape(%s, [O, 1, 1, 1])
            %c = relax.nn.conv2d %x, %k …
            %r = %c + reshape(%b - %m * %s, [1, O, 1, 1])

        What is computed from constants is left to `relax-fold-constant`. Other fields of
        the result become `%m` and `%v`. Time is linear in the size of the module. As a
        pattern: `FoldBatchnormToConv2DPattern`.
    Leaves alone: weights that are no constants; results of convolutions with other uses,
        or that another block normalizes; data that something writes in place; other
        layouts than `NCHW` with `OIHW`, or `IOHW` without groups; tensors that are
        not known to have one float dtype
    Errors: none
    Attributes: read: none; created: none; removed: none
    Differs from TVM: batch normalization that is not for `inference` uses the mean and
        the variance of the data, and stays; TVM takes the moving ones in its builder.
        `relax-decompose-ops-for-inference` is the pass that makes the one of the other.
        A convolution whose result is used elsewhere is not computed twice.
    """

    name = "relax-fold-batchnorm-to-conv2d"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for norms, written in by_function(op, relax.BatchNormOp):
            pattern = FoldBatchnormToConv2DPattern(written.__contains__)
            rewrite_each(pattern, norms)


class FoldBatchnormToConv2DPattern(RewritePattern):
    """Multiplies what a batch normalization multiplies the result of a convolution by
    into the weight of the convolution.

    `is_written` says whether memory of a value may be written; without it the uses of
    the value are searched.
    """

    def __init__(self, is_written: Callable[[SSAValue], bool] = may_be_written) -> None:
        self._is_written = is_written

    @op_type_rewrite_pattern
    def match_and_rewrite(
        self, op: relax.BatchNormOp, rewriter: PatternRewriter, /
    ) -> None:
        conv = op.data.owner
        if (
            isinstance(conv, relax.Conv2DOp)
            and _is_foldable(op, conv)
            and not self._is_written(conv.data)
        ):
            _fold(op, conv, rewriter)


def _is_foldable(norm: relax.BatchNormOp, conv: relax.Conv2DOp) -> bool:
    known = (conv.weight, norm.gamma, norm.beta, norm.moving_mean, norm.moving_var)
    if norm.inference is None or norm.axis.value.data not in (1, -3):
        return False
    if conv.parent is not norm.parent:
        return False
    if not all(isinstance(value.owner, relax.ConstantOp) for value in known):
        return False
    if float_dtype([*known, conv.result]) is None or conv.result.has_more_than_one_use():
        return False
    layouts = {conv.data_layout.data}
    if conv.out_layout is not None:
        layouts.add(conv.out_layout.data)
    kernel = conv.kernel_layout.data
    if layouts != {"NCHW"} or kernel not in _CHANNELS:
        return False
    if kernel == "IOHW" and conv.groups.value.data != 1:
        return False
    return all(isinstance(use.operation, relax.GetItemOp) for use in norm.result.uses)


def _fold(
    norm: relax.BatchNormOp, conv: relax.Conv2DOp, rewriter: PatternRewriter
) -> None:
    builder = BindingBuilder(norm, rewriter)
    dtype = float_dtype([norm.gamma])
    assert dtype is not None, "foldable"
    epsilon = builder.number(norm.epsilon.value.data, dtype)
    root = builder.insert(
        relax.SqrtOp(builder.insert(relax.AddOp(norm.moving_var, epsilon)))
    )
    if norm.no_scale is None:
        scale = builder.insert(relax.DivideOp(norm.gamma, root))
    else:
        one = builder.number(1.0, dtype)
        scale = builder.insert(relax.DivideOp(one, root))
    channel = _CHANNELS[conv.kernel_layout.data]
    factor = _reshaped(builder, scale, channel)
    copy = conv.clone()
    copy.operands[1] = builder.insert(relax.MultiplyOp(conv.weight, factor))
    value = builder.insert(copy)
    moved = builder.insert(relax.MultiplyOp(norm.moving_mean, scale))
    if norm.no_center is None:
        shift = builder.insert(relax.SubtractOp(norm.beta, moved))
        value = builder.insert(relax.AddOp(value, _reshaped(builder, shift, 1)))
    else:
        value = builder.insert(relax.SubtractOp(value, _reshaped(builder, moved, 1)))
    _replace_fields(norm, (value, norm.moving_mean, norm.moving_var), rewriter)
    rewriter.erase(norm)
    rewriter.erase(conv)


def _reshaped(builder: BindingBuilder, vector: SSAValue, axis: int) -> SSAValue:
    """A vector as a tensor of rank 4 that has it on one dimension."""
    info = TensorInfo.of(vector.type)
    assert info is not None
    assert info.shape is not None, "a constant"
    dims = [info.shape[0] if each == axis else 1 for each in range(4)]
    return builder.insert(relax.ReshapeOp(vector, builder.insert_op(relax.ShapeOp(dims))))


def _replace_fields(
    norm: relax.BatchNormOp, values: Sequence[SSAValue], rewriter: PatternRewriter
) -> None:
    builder = BindingBuilder(norm, rewriter)
    for use in list(norm.result.uses):
        item = use.operation
        assert isinstance(item, relax.GetItemOp), "foldable"
        value = builder.typed(values[item.index.value.data], item.result.type)
        rewriter.replace(item, (), [value])
