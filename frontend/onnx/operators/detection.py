"""Operators of object detection: regions, boxes, and convolutions at moved places."""

from __future__ import annotations

from functools import reduce

import numpy as np

from xdsl_tvm import relax
from xdsl_tvm.frontend.onnx.node import Node, converts
from xdsl_tvm.frontend.onnx.operators.convolution import positive, spatial_pads
from xdsl_tvm.frontend.onnx.operators.sampling import taps_of, weighted
from xdsl_tvm.frontend.onnx.values import Known, Value
from xdsl_tvm.relax import op
from xdsl_tvm.relax.expr import Expr

_MOST_BOXES = 1024
"""Boxes of a class that are chosen one after the other, unrolled."""


def _int64(number: int) -> Expr:
    return relax.const(number, "int64")


def _f32(number: float) -> Expr:
    return relax.const(np.float32(number))


def _column(x: Expr, index: int) -> Expr:
    """An element of the last axis."""
    return op.take(x, _int64(index), len(x.shape) - 1)


# ---- regions ----


@converts("RoiAlign", since=10)
def _roi_align(node: Node) -> Value:
    """Samples of each region between the elements, and their average or maximum."""
    batch, channels, height, width = node.sizes(0)
    regions = node.sizes(1)[0]
    mode = node.str_of("mode", "avg")
    samples = node.int_of("sampling_ratio", 0)
    if mode not in ("avg", "max"):
        raise node.error(f"mode must be avg or max, not {mode}")
    if samples < 1:
        raise node.error(
            "a sampling_ratio of 0 takes as many samples as the regions are large, which "
            "the running program knows; give a number"
        )
    aligned = node.opset >= 16 and (
        node.str_of("coordinate_transformation_mode", "half_pixel") == "half_pixel"
    )
    rows, columns = node.int_of("output_height", 1), node.int_of("output_width", 1)
    rois = op.multiply(
        op.astype(node.expr(1), "float32"), _f32(node.float_of("spatial_scale", 1.0))
    )
    rois = node.emit(op.subtract(rois, _f32(0.5)) if aligned else rois)
    valid: list[Expr] = []
    places: list[Expr] = []
    for axis, (extent, bins) in enumerate(((height, rows), (width, columns))):
        start, end = _column(rois, 1 - axis), _column(rois, 3 - axis)
        length = op.subtract(end, start)
        if not aligned:
            length = op.maximum(length, _f32(1))
        steps = (node.places(bins * samples).astype(np.float32) + 0.5) / samples
        step = op.expand_dims(op.divide(length, _f32(bins)), [1])
        offset = op.multiply(step, relax.const(steps.reshape(1, -1).astype(np.float32)))
        at = node.emit(op.add(op.expand_dims(start, [1]), offset))
        is_near = op.logical_and(
            op.greater_equal(at, _f32(-1)), op.less_equal(at, _f32(extent))
        )
        shape = [regions, 1, 1]
        shape[1 + axis] = bins * samples
        valid.append(op.reshape(is_near, shape))
        places.append(op.reshape(op.clip(at, 0.0, extent - 1.0), shape))
    whole = [regions, rows * samples, columns * samples]
    taps = [
        taps_of(node, node.emit(op.broadcast_to(place, whole)), "linear")
        for place in places
    ]
    is_valid = node.emit(op.logical_and(*valid))
    images = op.reshape(node.expr(0), [batch, channels, height * width])
    chosen = node.emit(op.take(images, op.astype(node.expr(2), "int64"), 0))
    parts = weighted(node, chosen, taps, (height, width), zeros=False)
    function = op.add if mode == "avg" else op.maximum
    total = op.reshape(reduce(function, parts), [regions, channels, *whole[1:]])
    # Samples far outside of the image are 0.
    total = op.where(op.expand_dims(is_valid, [1]), total, node.scalar(0))
    split = op.reshape(total, [regions, channels, rows, samples, columns, samples])
    return (op.mean if mode == "avg" else op.max)(split, [3, 5])


@converts("DeformConv", since=19)
def _deform_conv(node: Node) -> Value:
    """Samples of each place of the kernel, moved by an input, times the weights."""
    if node.rank() != 4:
        raise node.error("only deformable convolutions of 2 spatial axes are converted")
    batch, channels, *extents = node.sizes(0)
    outer, inner, *kernel = node.sizes(1)
    strides, dilations = (positive(node, name, 2) for name in ("strides", "dilations"))
    pads = spatial_pads(node, extents, kernel, strides, dilations)
    groups, moved = node.int_of("group", 1), node.int_of("offset_group", 1)
    count, sizes = kernel[0] * kernel[1], list(node.sizes(2)[2:])
    if inner * groups != channels or channels % moved or outer % groups:
        raise node.error("the groups do not divide the channels")
    shape = [batch * moved, kernel[0], kernel[1], 2, *sizes]
    offsets = node.emit(op.reshape(op.astype(node.expr(2), "float32"), shape))
    taps: list[list[tuple[Expr, Expr]]] = []
    for axis in range(2):
        first = node.places(kernel[axis]) * dilations[axis] - pads[axis]
        start = node.places(sizes[axis]) * strides[axis]
        fixed = first.reshape([1, -1, 1, 1, 1] if axis == 0 else [1, 1, -1, 1, 1])
        fixed = fixed + start.reshape([-1, 1] if axis == 0 else [1, -1])
        offset = op.take(offsets, _int64(axis), 3)
        at = node.emit(op.add(offset, relax.const(fixed.astype(np.float32))))
        taps.append(taps_of(node, at, "linear"))
    places = sizes[0] * sizes[1]
    images = [batch * moved, channels // moved, extents[0] * extents[1]]
    data = node.emit(op.reshape(node.expr(0), images))
    values = reduce(op.add, weighted(node, data, taps, extents, zeros=True))
    if node.has(4):
        mask = op.reshape(node.expr(4), [batch * moved, 1, count * places])
        values = op.multiply(values, mask)
    values = op.reshape(values, [batch, groups, inner * count, places])
    weight = op.reshape(node.expr(1), [groups, outer // groups, inner * count])
    result = op.reshape(op.matmul(weight, values), [batch, outer, *sizes])
    bias = node.optional(3)
    return result if bias is None else op.add(result, op.expand_dims(bias, [1, 2]))


# ---- boxes ----


@converts("NonMaxSuppression", since=10)
def _non_max_suppression(node: Node) -> Value:
    """The best box of those that are left, as often as boxes may be chosen."""
    batch, count, _ = node.sizes(0)
    classes = node.sizes(1)[1]
    most = min(node.integer(2), count) if node.has(2) else 0
    if most > _MOST_BOXES:
        raise node.error(
            f"up to {most} boxes of a class are chosen, more than {_MOST_BOXES}; lower "
            "max_output_boxes_per_class"
        )
    if most < 1 or 0 in (batch, classes):
        return Known(np.zeros((0, 3), np.int64))
    scores = node.expr(1)
    overlaps = node.emit(_overlaps(node, node.expr(0)))
    # The place of each box in the order of scores, equal ones by their number.
    order = op.argsort(scores, -1, True, "int64")
    rank = node.emit(op.argsort(order, -1, False, "int64"))
    if node.has(4):
        limit = op.reshape(node.expr(4), [])
        rank = op.where(op.greater(scores, limit), rank, _int64(count))
    chosen: list[Expr] = []
    found: list[Expr] = []
    every = relax.const(node.places(count))
    for _ in range(most):
        rank = node.emit(rank)
        best = node.emit(op.astype(op.argmin(rank, -1, True), "int64"))
        is_left = op.less(op.min(rank, [-1], True), _int64(count))
        chosen.append(best)
        found.append(is_left)
        # [batch, classes, boxes]: the rows of the chosen boxes.
        rows = op.gather_nd(overlaps, best, 1)
        done = op.logical_or(rows, op.equal(every, best))
        rank = op.where(done, _int64(count), rank)
    boxes = node.emit(op.concat(chosen, -1))
    places = op.nonzero(node.emit(op.concat(found, -1)))
    places = op.permute_dims(node.graphs.declared(places, [3, None]), [1, 0])
    places = node.emit(places)
    numbers = op.expand_dims(op.gather_nd(boxes, places), [1])
    pairs = op.take(places, relax.const(np.arange(2)), 1)
    return node.graphs.declared(op.concat([pairs, numbers], 1), [None, 3])


def _overlaps(node: Node, boxes: Expr) -> Expr:
    """Whether two boxes overlap by more than the threshold, `[batch, boxes, boxes]`."""
    corners = [node.emit(_column(boxes, index)) for index in range(4)]
    if node.int_of("center_point_box", 0):
        x, y, width, height = corners
        half = _f32(0.5)
        spans = [
            (
                op.subtract(middle, op.multiply(extent, half)),
                op.add(middle, op.multiply(extent, half)),
            )
            for middle, extent in ((y, height), (x, width))
        ]
    else:
        spans = [
            (
                op.minimum(corners[axis], corners[axis + 2]),
                op.maximum(corners[axis], corners[axis + 2]),
            )
            for axis in range(2)
        ]
    area: Expr = _f32(1)
    shared: Expr = _f32(1)
    for low, high in spans:
        low, high = node.emit(low), node.emit(high)
        area = op.multiply(area, op.subtract(high, low))
        first = op.maximum(op.expand_dims(low, [2]), op.expand_dims(low, [1]))
        last = op.minimum(op.expand_dims(high, [2]), op.expand_dims(high, [1]))
        shared = op.multiply(shared, op.maximum(op.subtract(last, first), _f32(0)))
    area, shared = node.emit(area), node.emit(shared)
    both = op.add(op.expand_dims(area, [2]), op.expand_dims(area, [1]))
    union = op.subtract(both, shared)
    limit = op.reshape(node.expr(3), []) if node.has(3) else _f32(0)
    # Boxes of no area do not overlap, and 0 / 0 is not more than any threshold.
    return op.logical_and(
        op.greater(shared, _f32(0)), op.greater(op.divide(shared, union), limit)
    )
