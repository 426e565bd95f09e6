"""Products summed over dimensions, and convolutions."""

from __future__ import annotations

import math
from collections.abc import Sequence

from xdsl.ir import Attribute, SSAValue
from xdsl.utils.exceptions import VerifyException

from xdsl_tvm.dialects import relax
from xdsl_tvm.dialects.stablehlo import contraction as hlo
from xdsl_tvm.dialects.stablehlo.assembly import element_of, shape_of
from xdsl_tvm.dialects.stablehlo.attributes import Layout
from xdsl_tvm.passes.stablehlo.conversion.emitter import Emitter
from xdsl_tvm.passes.stablehlo.conversion.rules import converts


@converts(hlo.DotGeneralOp)
def _dot_general(
    emitter: Emitter, op: hlo.DotGeneralOp, operands: Sequence[SSAValue]
) -> SSAValue:
    """A product of matrices, [batch…, M, K] and [batch…, K, N]."""
    lhs, rhs = operands
    batches, sums = op.pairs("batching"), op.pairs("contracting")
    dtype = element_of(op.result)
    free: list[list[int]] = []
    for side, value in enumerate((lhs, rhs)):
        taken = {pair[side] for pair in (*batches, *sums)}
        free.append([dim for dim in range(len(shape_of(value))) if dim not in taken])
    batch = [shape_of(lhs)[left] for left, _ in batches]
    inner = math.prod(shape_of(lhs)[left] for left, _ in sums)
    rows = [shape_of(lhs)[dim] for dim in free[0]]
    columns = [shape_of(rhs)[dim] for dim in free[1]]
    first = [left for left, _ in batches] + free[0] + [left for left, _ in sums]
    second = [right for _, right in batches] + [right for _, right in sums] + free[1]
    lhs = emitter.transpose(lhs, first)
    rhs = emitter.transpose(rhs, second)
    lhs = emitter.reshape(lhs, [*batch, math.prod(rows), inner])
    rhs = emitter.reshape(rhs, [*batch, inner, math.prod(columns)])
    product = emitter.op(relax.MatmulOp(lhs, rhs, _other_dtype(lhs, dtype)))
    return emitter.reshape(product, [*batch, *rows, *columns])


def _other_dtype(operand: SSAValue, dtype: Attribute) -> Attribute | None:
    """The dtype of a result, where it is not that of the operand."""
    return None if element_of(operand) == dtype else dtype


_SPATIAL = {1: "W", 2: "HW", 3: "DHW"}
_LETTERS = {"b": "N", "f": "C", "o": "O", "i": "I"}


def _layout(layout: Layout, rank: int) -> str:
    """The layout as Relax writes it: NHWC."""
    return "".join(
        _SPATIAL[rank][dim] if isinstance(dim, int) else _LETTERS[dim] for dim in layout
    )


@converts(hlo.ConvolutionOp)
def _convolution(
    emitter: Emitter, op: hlo.ConvolutionOp, operands: Sequence[SSAValue]
) -> SSAValue:
    """A convolution in the layouts given; dilated data has zeros in between."""
    data, kernel = operands
    rank = op.spatial_rank
    if rank not in _SPATIAL:
        raise VerifyException(f"{rank} spatial dimensions are not converted, only 1 to 3")
    if 0 in shape_of(op.result):
        # No window is within the data, of which Relax's rule counts less than none.
        return emitter.full(0, element_of(op.result), shape_of(op.result))
    lhs, rhs, result = op.dimension_numbers.data
    for dim, is_reversed in enumerate(op.window("window_reversal", 0)):
        if is_reversed:
            kernel = emitter.op(relax.FlipOp(kernel, rhs.index(dim)))
    data, pads = _prepared(emitter, op, data)
    groups = op.feature_group_count.value.data
    batches = op.batch_group_count.value.data
    if batches > 1:
        if groups > 1:
            raise VerifyException("groups of features and of batches exclude each other")
        data = _batches_as_features(emitter, data, lhs, batches)
        groups = batches
    kind = (relax.Conv1DOp, relax.Conv2DOp, relax.Conv3DOp)[rank - 1]
    return emitter.op(
        kind(
            data,
            kernel,
            op.window("window_strides"),
            [low for low, _ in pads] + [high for _, high in pads],
            op.window("rhs_dilation"),
            groups,
            _layout(lhs, rank),
            _layout(rhs, rank),
            _layout(result, rank),
            _other_dtype(data, element_of(op.result)),
        )
    )


def _prepared(
    emitter: Emitter, op: hlo.ConvolutionOp, data: SSAValue
) -> tuple[SSAValue, list[tuple[int, int]]]:
    """The data with zeros between its elements, and what is left to pad."""
    lhs = op.dimension_numbers.data[0]
    dilation, pads = op.window("lhs_dilation"), op.paddings
    if all(each == 1 for each in dilation) and all(min(pair) >= 0 for pair in pads):
        return data, pads
    count = len(shape_of(data))
    between, around = [0] * count, [(0, 0)] * count
    for dim, (spread, pair) in enumerate(zip(dilation, pads, strict=True)):
        between[lhs.index(dim)], around[lhs.index(dim)] = spread - 1, pair
    zero = emitter.constant(0, element_of(data))
    return emitter.padded(data, zero, around, between), [(0, 0)] * len(pads)


def _batches_as_features(
    emitter: Emitter, data: SSAValue, layout: Layout, groups: int
) -> SSAValue:
    """Groups of batches made groups of features, which convolve with a part each."""
    batch, feature = layout.index("b"), layout.index("f")
    shape = list(shape_of(data))
    if shape[batch] % groups:
        raise VerifyException(f"{shape[batch]} batches are not {groups} equal groups")
    each = shape[batch] // groups
    split = emitter.reshape(data, [*shape[:batch], groups, each, *shape[batch + 1 :]])
    # The dimension of groups is moved before the features.
    axes = [axis for axis in range(len(shape) + 1) if axis != batch]
    axes.insert(axes.index(feature if feature < batch else feature + 1), batch)
    shape[batch], shape[feature] = each, shape[feature] * groups
    return emitter.reshape(emitter.transpose(split, axes), shape)
