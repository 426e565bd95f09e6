"""Convolutions compute on channels in blocks, as vectors want them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import DenseArrayBase, ModuleOp, i32, i64
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.utils.exceptions import PassFailedException

from xdsl_tvm.dialects import relax
from xdsl_tvm.dialects.relax.symbolic import Dim
from xdsl_tvm.dialects.relax.types import TensorInfo
from xdsl_tvm.dialects.tir.processor_instructions import BYTES_OF_DOT, byte_dot, is_byte
from xdsl_tvm.passes.infra import CompilerPass
from xdsl_tvm.passes.relax.convert_layout import LayoutConversion
from xdsl_tvm.passes.relax.rewriting.insertion import by_function
from xdsl_tvm.passes.relax.rewriting.joined_groups import count_of_joined, join_groups
from xdsl_tvm.passes.tir.rewriting.features import checked_features

_MOST_LANES = 256


@dataclass(frozen=True)
class BlockConvolutions(CompilerPass):
    """Summary: Lets convolutions with constant weights compute on blocks of channels, and
        what is between them.

    TVM name: none (ours)
    Input form: any
    Output form: the same; in dataflow blocks such convolutions have the layouts
        `NCHW16c` and `OIHW16i16o`
    Options: `lanes`: channels of a block (16). `features`: what the processor has, by
        LLVM's names with spaces between: `avx512vnni`, `avx512vl` and `avxvnni` (none)
    Rewrites: before

            %y = relax.nn.conv2d %x, %w ... layout "NCHW" kernel "OIHW" : ...
            %r = relax.nn.relu %y : ...
            relax.output %r : ...

        after

            %x0 = relax.layout_transform %x ...   // N, C / 16, H, W, 16
            %w0 = relax.layout_transform %w ...   // O / 16, I / 16, H, W, 16, 16
            %y0 = relax.nn.conv2d %x0, %w0 ... layout "NCHW16c" kernel "OIHW16i16o" : ...
            %r0 = relax.nn.relu %y0 : ...
            %r = relax.layout_transform %r0 ... : ...
            relax.output %r : ...

        Where channels of a group are no full blocks, blocks are half as large. If they
        are not full then, data stay `NCHW`, with weights in `OIHW16o`, as those of
        depthwise convolutions are. Where `features` have an instruction for dot products
        of bytes, convolutions of bytes with sums in i32 and at least `lanes` outputs, of
        one group or depthwise ones of full blocks, have the layouts `NHWC` and `HWIO`.
        Those of one group whose input channels are no multiple of 4 get channels of zeros
        before, by `relax.nn.pad`, which then pads the image as well. In several groups
        there are blocks of as many channels as a group has, after neighbouring groups, up
        to 8, have become one: their inputs are quads then, and their outputs a multiple
        of `lanes`. Weights between them are zero. Values keep the
        layout that they are computed in, as relax-convert-layout has it. The rearranged
        weights are left to relax-fold-constant. Time is linear in the size of the
        function.
    Leaves alone: what is outside of dataflow blocks; convolutions whose weight is no
        constant, in other layouts than `NCHW` with `OIHW`, of unknown extents but that
        of the batch, with
        output channels of a group that are no full blocks of either size; groups of
        several input channels that are no full blocks
    Errors: `lanes` that is no power of two, or more than 256; a feature that is none of
        these
    Attributes: read: none; created: none; removed: none
    Differs from TVM: TVM has no such pass; its ConvertLayout has one layout for all
        convolutions
    """

    name = "relax-block-convolutions"

    lanes: int = 16
    features: str = ""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        lanes = self.lanes
        features = checked_features(self.features, self.name)
        has_dot = byte_dot(lanes, features) is not None
        if not 1 <= lanes <= _MOST_LANES or lanes & (lanes - 1):
            raise PassFailedException(
                f"{self.name}: lanes must be a power of two up to {_MOST_LANES}, got "
                f"{lanes}"
            )
        if lanes == 1:
            return
        for blocks, written in by_function(op, relax.DataflowOp):
            for dataflow in blocks:
                if has_dot:
                    for each in list(dataflow.body.block.ops):
                        _suit_quads(each, lanes)
                conversion = LayoutConversion(
                    lambda each: _layouts(each, lanes, has_dot), written
                )
                conversion.convert(dataflow.body.block)


def _layouts(op: Operation, lanes: int, has_dot: bool) -> Sequence[str] | None:
    """The layouts of data, weight and result that suit an operator."""
    if not isinstance(op, relax.Conv2DOp) or not _is_plain(op):
        return None
    shapes = _known_shapes(op)
    if shapes is None:
        return None
    (channels, *_), (outputs, inputs, *_) = shapes
    groups = op.groups.value.data
    is_dense = groups == 1 and _has_bytes(op, lanes)
    if has_dot and inputs % BYTES_OF_DOT == 0 and is_dense:
        return "NHWC", "HWIO", "NHWC"
    if inputs == 1 and groups == outputs == channels:
        if has_dot and channels % lanes == 0 and _has_bytes(op, lanes):
            return "NHWC", "HWIO", "NHWC"
        size = _block(channels, lanes)
        return None if size is None else (f"NCHW{size}c", f"OIHW{size}o", f"NCHW{size}c")
    own = outputs // groups
    if (
        has_dot
        and not inputs % BYTES_OF_DOT
        and not own % lanes
        and _has_bytes(op, lanes)
    ):
        # A quad of a group's channels is multiplied for all of its outputs.
        return f"NCHW{inputs}c", f"OIHW{inputs}i{own}o", f"NCHW{own}c"
    before, after = _block(inputs, lanes), _block(own, lanes)
    if after is None:
        return None
    blocked, last = f"NCHW{after}c", f"OIHW{after}o"
    if groups == 1 and before is None:
        return "NCHW", last, blocked
    if before is None:
        return None
    return f"NCHW{before}c", f"OIHW{before}i{after}o", blocked


def _known_shapes(op: relax.Conv2DOp) -> tuple[tuple[int, ...], ...] | None:
    """The extents of the data but for the batch, any of which will do, and those of the
    weight, where they are known and the weight is."""
    if not _is_constant(op.weight):
        return None
    infos = [TensorInfo.of(value.type) for value in (op.data, op.weight, op.result)]
    data, weight, result = (info and info.shape for info in infos)
    if not data or not weight or not result or _constants(result[1:]) is None:
        return None
    image, window = _constants(data[1:]), _constants(weight)
    return None if image is None or window is None else (image, window)


def _is_constant(weight: SSAValue) -> bool:
    """Whether a weight is a constant, or one that `_suit_quads` has rearranged."""
    owner = weight.owner
    if isinstance(owner, relax.PadOp):
        owner = owner.operands[0].owner
    if isinstance(owner, relax.MultiplyOp):
        owner, mask = (operand.owner for operand in owner.operands)
        if not isinstance(owner, relax.TileOp) or not isinstance(mask, relax.ConstantOp):
            return False
        owner = owner.operands[0].owner
    return isinstance(owner, relax.ConstantOp)


def _has_bytes(op: relax.Conv2DOp, lanes: int) -> bool:
    """Whether sums of products of bytes are in i32, and outputs fill vectors."""
    infos = [TensorInfo.of(value.type) for value in (op.data, op.weight, op.result)]
    data, weight, result = (info and info.dtype for info in infos)
    shape = infos[1] and infos[1].shape
    if not shape or (shape[0].value or 0) < lanes:
        return False
    return is_byte(data) and is_byte(weight) and result == i32


def _suit_quads(op: Operation, lanes: int) -> None:
    """Let a convolution of bytes, but depthwise ones, have full quads of channels.

    One group gets channels of zeros, and neighbours of several groups are one, until
    their outputs fill vectors. The image is padded before, for the channels with the
    same copy, as what is outside is no byte that can be loaded.
    """
    if not isinstance(op, relax.Conv2DOp) or not _is_plain(op):
        return
    shapes = _known_shapes(op)
    if shapes is None or not _has_bytes(op, lanes):
        return
    _, (outputs, inputs, *_) = shapes
    groups = op.groups.value.data
    missing = 0
    if groups == 1:
        missing = -inputs % BYTES_OF_DOT
        if not missing:
            return
    else:
        count = count_of_joined(groups, inputs, outputs // groups, lanes)
        if inputs == 1 or count is None:
            return
        if count > 1:
            join_groups(op, count)
    around = [side for pair in op.window_padding for side in pair]
    channels, places = [0, 0, 0, missing], ((0, around), (1, [0] * len(around)))
    for position, others in places:
        if not any((missing, *others)):
            continue
        filled = relax.PadOp(op.operands[position], [*channels, *others])
        filled.location = op.location
        Rewriter.insert_op(filled, InsertPoint.before(op))
        op.operands[position] = filled.results[0]
    op.properties["padding"] = DenseArrayBase.from_list(i64, [0] * len(around))


def _block(channels: int, lanes: int) -> int | None:
    """Channels of a block: as many as a vector has lanes, or else half as many."""
    found = [size for size in (lanes, lanes // 2) if size > 1 and channels % size == 0]
    return found[0] if found else None


def _is_plain(op: relax.Conv2DOp) -> bool:
    layouts = (op.data_layout.data, op.kernel_layout.data)
    return layouts == ("NCHW", "OIHW") and op.out_layout is None


def _constants(dims: Sequence[Dim]) -> tuple[int, ...] | None:
    values = [dim.value for dim in dims if dim.value is not None]
    return tuple(values) if len(values) == len(dims) else None
