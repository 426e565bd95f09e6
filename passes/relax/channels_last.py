"""Convolutions compute with channels last, as matrix units of GPUs want them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, bf16, f16, i8, i32
from xdsl.ir import Operation
from xdsl.rewriter import InsertPoint, Rewriter

from xdsl_tvm.analysis.tir.function_target import cuda_capability
from xdsl_tvm.dialects import relax
from xdsl_tvm.dialects.relax.types import TensorInfo
from xdsl_tvm.passes.infra import CompilerPass
from xdsl_tvm.passes.relax.convert_layout import LayoutConversion
from xdsl_tvm.passes.relax.rewriting.insertion import by_function
from xdsl_tvm.passes.tir.rewriting.default_targets import parsed_target

_UNITS_SINCE = 80
"""The compute capability of matrix units that the GPU schedule uses."""


@dataclass(frozen=True)
class ChannelsLast(CompilerPass):
    """Summary: Lets convolutions of f16, bf16 and int8 compute with channels last where
        GPUs have matrix units, and what is between them.

    TVM name: none (ours)
    Input form: any
    Output form: the same; in dataflow blocks such convolutions have the layouts `NHWC`
        and `OHWI`, depthwise ones `NHWC` and `HWOI`
    Options: `target`: what the code is for, as `Target.parse` takes it (none)
    Rewrites: before

            %y = relax.nn.conv2d %x, %w ... layout "NCHW" kernel "OIHW" : ...
            %r = relax.nn.relu %y : ...
            relax.output %r : ...

        after

            %x0 = relax.permute_dims %x axes [0, 2, 3, 1] : ...
            %w0 = relax.permute_dims %w axes [0, 2, 3, 1] : ...
            %y0 = relax.nn.conv2d %x0, %w0 ... layout "NHWC" kernel "OHWI" : ...
            %r0 = relax.nn.relu %y0 : ...
            %r = relax.permute_dims %r0 axes [0, 3, 1, 2] : ...
            relax.output %r : ...

        So neighbouring terms of a sum are next to each other in memory, and copied 16
        bytes at a time. Where the number of channels is odd, or of int8 no multiple of 4,
        and at least 3, data and weights get channels of zeros up to a multiple of 4, so
        that 8 bytes are, or 4. Values
        keep the layout that they are computed in, as relax-convert-layout has it. The
        rearranged weights are left to relax-fold-constant; those that are no constants
        are rearranged in each call. Time is linear in the size of the function.
    Leaves alone: everything where the target is not CUDA or names no `arch` of `sm_80` or
        later; what is outside of dataflow blocks; convolutions of other dtypes, in other
        layouts than `NCHW` with `OIHW`, and of several groups but depthwise ones of
        floats; those of int8 with other results than int32
    Errors: a target that does not parse
    Attributes: read: none; created: none; removed: none
    Differs from TVM: TVM has no such pass; its ConvertLayout is told the layouts
    """

    name = "relax-channels-last"

    target: str | None = None

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        target = parsed_target(self.name, self.target)
        if target is None or cuda_capability(target) < _UNITS_SINCE:
            return
        for blocks, written in by_function(op, relax.DataflowOp):
            for dataflow in blocks:
                for inner in list(dataflow.body.block.ops):
                    if isinstance(inner, relax.Conv2DOp):
                        _fill_channels(inner)
                LayoutConversion(_layouts, written).convert(dataflow.body.block)


_PIECE = 4
"""Channels that are copied at once: of the 4, 8 or 16 bytes that can be, 8, or 4."""
_LEAST_FILLED = 3
"""With fewer channels, more zeros than elements would be multiplied."""


def _fill_channels(conv: relax.Conv2DOp) -> None:
    """Add channels of zeros to the data and the weights of a convolution.

    An odd number of channels last is copied by 2 bytes, which asynchronous copies cannot;
    of int8, 2 channels are.
    """
    if _layouts(conv) is None or conv.groups.value.data != 1:
        return
    weight, data = TensorInfo.of(conv.weight.type), TensorInfo.of(conv.data.type)
    if weight is None or weight.shape is None or data is None or data.shape is None:
        return
    channels = weight.shape[1].value
    step = _PIECE if data.dtype == i8 else 2
    if channels is None or channels % step == 0 or channels < _LEAST_FILLED:
        return
    width = [0, 0, 0, -channels % _PIECE, 0, 0, 0, 0]
    for position, operand in enumerate((conv.data, conv.weight)):
        filled = relax.PadOp(operand, width)
        filled.location = conv.location
        Rewriter.insert_op(filled, InsertPoint.before(conv))
        conv.operands[position] = filled.results[0]


def _layouts(op: Operation) -> Sequence[str] | None:
    """The layouts of data and weight that suit an operator."""
    if not isinstance(op, relax.Conv2DOp):
        return None
    if (op.data_layout.data, op.kernel_layout.data) != ("NCHW", "OIHW"):
        return None
    if op.out_layout is not None and op.out_layout.data != "NCHW":
        return None
    data, weight = TensorInfo.of(op.data.type), TensorInfo.of(op.weight.type)
    if data is None or data.dtype not in (f16, bf16, i8):
        return None
    result = TensorInfo.of(op.results[0].type)
    if data.dtype == i8 and (result is None or result.dtype != i32):
        return None
    if op.groups.value.data == 1:
        return "NHWC", "OHWI"
    if weight is None or weight.shape is None or data.dtype == i8:
        return None
    outputs, inputs, *_ = weight.shape
    is_depthwise = inputs.value == 1 and outputs.value == op.groups.value.data
    return ("NHWC", "HWOI") if is_depthwise else None
