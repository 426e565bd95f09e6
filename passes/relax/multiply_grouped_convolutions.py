"""Convolutions of single pixels, in groups of channels, as matrix products."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue
from xdsl.rewriter import Rewriter

from xdsl_tvm.dialects import relax
from xdsl_tvm.passes.infra import CompilerPass
from xdsl_tvm.passes.relax.rewriting.followers import followers, known_shape
from xdsl_tvm.passes.relax.rewriting.insertion import BindingBuilder, by_function
from xdsl_tvm.passes.relax.rewriting.lanes import check_lanes

_LEAST_TERMS = 16
"""Input channels of a group: with fewer, a product is not faster."""


@dataclass(frozen=True)
class MultiplyGroupedConvolutions(CompilerPass):
    """Summary: Computes convolutions of 1 by 1 in groups of channels as batched matrix
        products, where blocks of channels do not divide the groups.

    TVM name: none (ours)
    Input form: any
    Output form: the same, without such convolutions
    Options: `lanes`: channels of a block, as of relax-block-convolutions (16)
    Rewrites: before, for 4 groups of 68 channels

            %y = relax.nn.conv2d %x, %w ... groups 4 layout "NCHW" kernel "OIHW" :
              (tensor<1x272x14x14xf32>, tensor<272x68x1x1xf32>) -> tensor<1x272x14x14xf32>
            %s = relax.add %y, %b : (..., tensor<272x1x1xf32>) -> tensor<1x272x14x14xf32>

        after

            %a = relax.reshape %w, ... -> tensor<4x68x68xf32>
            %d = relax.reshape %x, ... -> tensor<1x4x68x196xf32>
            %p = relax.matmul %a, %d : ... -> tensor<1x4x68x196xf32>
            %c = relax.reshape %b, ... -> tensor<1x4x68x1xf32>
            %t = relax.add %p, %c : ... -> tensor<1x4x68x196xf32>
            %s = relax.reshape %t, ... -> tensor<1x272x14x14xf32>

        The `relax.add`, `relax.multiply` and `relax.nn.relu` that follow as only uses are
        applied before the last reshape, so that they are computed with the product. Sums
        have the same terms. Time is linear in the size of the function.
    Leaves alone: convolutions of one group, with fewer than 16 input channels of a group,
        or whose groups are full blocks; with strides or padding, in other layouts, of
        other dtypes than f32, of unknown extents
    Errors: `lanes` that is not positive
    Attributes: read: none; created: none; removed: none
    Differs from TVM: TVM has no such pass
    """

    name = "relax-multiply-grouped-convolutions"

    lanes: int = 16

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        check_lanes(self.name, self.lanes)
        for convolutions, written in by_function(op, relax.Conv2DOp):
            for convolution in convolutions:
                found = _Grouped.of(convolution)
                if found is not None and not found.is_in_blocks(self.lanes):
                    found.replace(written)


@dataclass(frozen=True)
class _Grouped:
    """A convolution of 1 by 1 in groups."""

    op: relax.Conv2DOp
    groups: int
    result: tuple[int, ...]
    """Batch, channels, rows and columns."""
    inputs: int
    """Channels of a group."""

    @staticmethod
    def of(op: relax.Conv2DOp) -> _Grouped | None:
        """The convolution, if it is one."""
        layouts = (op.data_layout.data, op.kernel_layout.data)
        groups = op.groups.value.data
        if layouts != ("NCHW", "OIHW") or op.out_layout is not None or groups == 1:
            return None
        data, weight, result = (
            known_shape(value.type) for value in (op.data, op.weight, op.result)
        )
        if not data or not weight or not result or not all(result):
            return None
        strides, padding = tuple(op.window_strides), tuple(op.window_padding)
        if weight[2:] != (1, 1) or strides != (1, 1) or data[2:] != result[2:]:
            return None
        if any(number for pair in padding for number in pair):
            return None
        found = _Grouped(op, groups, result, weight[1])
        return found if weight[1] >= _LEAST_TERMS else None

    def is_in_blocks(self, lanes: int) -> bool:
        """Whether the channels of a group are blocks of so many."""
        return self.inputs % lanes == 0 and self.result[1] // self.groups % lanes == 0

    def replace(self, written: set[SSAValue]) -> None:
        """Put the product, and what follows, in the place of the convolution."""
        op = self.op
        after = []
        if op.data not in written:
            after = list(
                followers(
                    op, lambda each: each not in written and self._split(each) is not None
                )
            )
        last = after[-1].op if after else op
        builder = BindingBuilder(last)
        outputs = self.result[1] // self.groups
        weight = _reshaped(builder, op.weight, (self.groups, outputs, self.inputs))
        images, _, height, width = self.result
        data = _reshaped(
            builder, op.data, (images, self.groups, self.inputs, height * width)
        )
        value = builder.insert(relax.MatmulOp(weight, data))
        for each in after:
            others: list[SSAValue] = []
            for other in each.others:
                shape = self._split(other)
                assert shape is not None, "it was asked for before"
                others.append(_reshaped(builder, other, shape))
            # Results are either operand.
            kind = type(each.op)
            value = builder.insert(
                kind.create(
                    operands=[value, *others],
                    result_types=[value.type],
                    properties=each.op.properties,
                    attributes=each.op.attributes,
                )
            )
        value = builder.typed(_reshaped(builder, value, self.result), op.result.type)
        Rewriter.replace_op(last, [], [value])
        for each in reversed([op, *(follower.op for follower in after)][:-1]):
            Rewriter.erase_op(each)

    def _split(self, value: SSAValue) -> tuple[int, ...] | None:
        """The shape of a tensor that is broadcast to results, for those of products."""
        shape = known_shape(value.type)
        if shape is None or len(shape) > len(self.result):
            return None
        images, channels, height, width = (1,) * (4 - len(shape)) + shape
        if (height, width) not in ((1, 1), self.result[2:]):
            return None
        groups = self.groups if channels > 1 else 1
        return images, groups, channels // groups, height * width


def _reshaped(builder: BindingBuilder, value: SSAValue, shape: Sequence[int]) -> SSAValue:
    return builder.insert(
        relax.ReshapeOp(value, builder.insert(relax.ShapeOp(list(shape))))
    )
