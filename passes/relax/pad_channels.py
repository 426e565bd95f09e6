"""Convolutions before a mean have as many channels as blocks of them need."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import Rewriter

from xdsl_tvm.dialects import relax
from xdsl_tvm.dialects.relax.dense import dense_of
from xdsl_tvm.dialects.relax.symbolic import Dim
from xdsl_tvm.dialects.relax.types import TensorInfo
from xdsl_tvm.passes.infra import CompilerPass
from xdsl_tvm.passes.relax.rewriting.followers import Follower, followers, known_shape
from xdsl_tvm.passes.relax.rewriting.insertion import BindingBuilder, by_function
from xdsl_tvm.passes.relax.rewriting.lanes import check_lanes

_LEAST_BLOCKS = 8
"""Blocks of channels, beside which one that is not full is a small part."""
_TOGETHER = 2
"""Blocks that are computed together share what they read."""
_CHANNELS = 1
_IMAGE = (2, 3)


@dataclass(frozen=True)
class PadChannels(CompilerPass):
    """Summary: Adds channels of zeros to the weight of a convolution whose result is
        averaged over the image, so that its channels are pairs of full blocks.

    TVM name: none (ours)
    Input form: any
    Output form: the same
    Options: `lanes`: channels of a block, as of relax-block-convolutions (16)
    Rewrites: before, for 1000 channels

            %y = relax.nn.conv2d %x, %w ... layout "NCHW" kernel "OIHW" :
              (..., tensor<1000x512x1x1xf32>) -> tensor<1x1000x13x13xf32>
            %s = relax.add %y, %b : (..., tensor<1000x1x1xf32>) -> ...
            %m = relax.mean %s axis [2, 3] keepdims : (...) -> tensor<1x1000x1x1xf32>

        after, where `%v` is `%w` and 24 channels of zeros, and `%c` likewise `%b`

            %y = relax.nn.conv2d %x, %v ... -> tensor<1x1024x13x13xf32>
            %s = relax.add %y, %c : ...
            %n = relax.mean %s axis [2, 3] keepdims : (...) -> tensor<1x1024x1x1xf32>
            %m = relax.strided_slice %n, ... -> tensor<1x1000x1x1xf32>

        Between the convolution and the mean may be `relax.add`, `relax.multiply` and
        `relax.nn.relu`, as only uses. What is computed from constants is left to
        relax-fold-constant. Time is linear in the size of the function.
    Leaves alone: convolutions with fewer than 8 blocks, or full ones; with groups; whose
        weight, or an operand with channels of what follows, is no constant; in other
        layouts, of other dtypes than f32, of unknown extents
    Errors: `lanes` that is not positive
    Attributes: read: none; created: none; removed: none
    Differs from TVM: TVM has no such pass
    """

    name = "relax-pad-channels"

    lanes: int = 16

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        check_lanes(self.name, self.lanes)
        for convolutions, written in by_function(op, relax.Conv2DOp):
            for convolution in convolutions:
                found = _Averaged.of(convolution, written)
                if found is not None:
                    found.pad(self.lanes)


@dataclass(frozen=True)
class _Averaged:
    """A convolution, what follows it, and the mean of that."""

    op: relax.Conv2DOp
    after: tuple[Follower, ...]
    mean: relax.MeanOp
    channels: int

    @staticmethod
    def of(op: relax.Conv2DOp, written: set[SSAValue]) -> _Averaged | None:
        """The convolution, if it is one."""
        layouts = (op.data_layout.data, op.kernel_layout.data)
        if layouts != ("NCHW", "OIHW") or op.out_layout is not None:
            return None
        result = known_shape(op.result.type)
        if op.groups.value.data != 1 or not result or known_shape(op.weight.type) is None:
            return None
        after = tuple(followers(op, _is_known))
        steps = [op, *(each.op for each in after)]
        last = steps[-1].results[0]
        uses = tuple(last.uses)
        mean = uses[0].operation if len(uses) == 1 else None
        if not isinstance(op.weight.owner, relax.ConstantOp):
            return None
        if not isinstance(mean, relax.MeanOp) or mean.parent is not op.parent:
            return None
        rank = len(result)
        axes = sorted(axis % rank for axis in mean.axes or (_CHANNELS,))
        if tuple(axes) != _IMAGE or any(s.results[0] in written for s in (*steps, mean)):
            return None
        return _Averaged(op, after, mean, result[_CHANNELS])

    def pad(self, lanes: int) -> None:
        """Add channels, and leave them out of the mean."""
        if self.channels % lanes == 0 or self.channels < _LEAST_BLOCKS * lanes:
            return
        added = -self.channels % (_TOGETHER * lanes)
        op, mean = self.op, self.mean
        _set_operand(op, op.weight, 0, added)
        for each in self.after:
            for other in each.others:
                _set_operand(each.op, other, -len(_IMAGE) - 1, added)
        for each in (op, *(follower.op for follower in self.after), mean):
            _widen(each, added)
        # The result of the mean, which has more channels now, has a slice as only use.
        last = mean.next_op
        assert last is not None, "blocks have terminators"
        builder = BindingBuilder(last)
        (value,) = mean.results
        others = [(use.operation, use.index) for use in value.uses]
        axes, begin, end = (
            builder.insert(relax.TupleOp([builder.insert(relax.PrimValueOp(number))]))
            for number in (_CHANNELS, 0, self.channels)
        )
        cut = builder.insert(relax.StridedSliceOp(value, axes, begin, end))
        for user, index in others:
            user.operands[index] = cut


def _is_known(value: SSAValue) -> bool:
    """Whether a value is a constant with channels, or has none that it is broadcast
    along, and is the same for all of the image."""
    shape = known_shape(value.type)
    if shape is None or any(extent != 1 for extent in shape[-len(_IMAGE) :]):
        return False
    has_channels = len(shape) > len(_IMAGE) and shape[-len(_IMAGE) - 1] != 1
    return not has_channels or isinstance(value.owner, relax.ConstantOp)


def _set_operand(op: Operation, value: SSAValue, axis: int, added: int) -> None:
    """Let an operation use a value with more channels, zeros, along an axis of it."""
    shape = known_shape(value.type)
    assert shape is not None, "it was asked for before"
    if axis < -len(shape) or (axis < 0 and shape[axis] == 1):
        return
    # Late: most programs have no such convolution.
    import numpy as np

    more = list(shape)
    more[axis] = added
    builder = BindingBuilder(op)
    zeros = builder.insert(relax.ConstantOp(dense_of(np.zeros(more, np.float32))))
    fields = builder.insert(relax.TupleOp([value, zeros]))
    whole = builder.insert(relax.ConcatOp(fields, axis % len(shape)))
    for index, operand in enumerate(op.operands):
        if operand is value:
            op.operands[index] = whole


def _widen(op: Operation, added: int) -> None:
    """Let the result of an operation have more channels."""
    (result,) = op.results
    info = TensorInfo.of(result.type)
    assert info is not None, "it is of known extents"
    assert info.dims is not None, "it is of known extents"
    dims = list(info.dims)
    dims[_CHANNELS] = (dims[_CHANNELS] or Dim.constant(0)) + added
    Rewriter.replace_value_with_new_type(result, info.with_dims(tuple(dims)).type)
