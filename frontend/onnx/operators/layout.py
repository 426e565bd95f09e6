"""Operators that move elements: shapes, concatenation, slices, padding, resizing."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from xdsl_tvm import relax
from xdsl_tvm.dialects.relax.symbolic import (
    Dim,
    maximum,
    minimum,
    product,
    provably_at_least,
)
from xdsl_tvm.frontend.onnx.folding import axes_of
from xdsl_tvm.frontend.onnx.node import Node, converts
from xdsl_tvm.frontend.onnx.values import Array, Value
from xdsl_tvm.relax import op
from xdsl_tvm.relax.expr import Expr

# ---- shapes ----


@converts("Reshape")
def _reshape(node: Node) -> Value:
    shape = node.shape()
    target = list(map(Dim.of, node.ints_of("shape"))) if node.opset < 5 else node.dims(1)
    if not node.int_of("allowzero", 0):
        for index, dim in enumerate(target):
            if dim.value == 0:
                if index >= len(shape):
                    raise node.error(f"dimension {index} is copied, and there is none")
                target[index] = shape[index]
    unknown = [index for index, dim in enumerate(target) if dim.value == -1]
    if len(unknown) > 1:
        raise node.error("more than one dimension is -1")
    if any((dim.value or 0) < -1 for dim in target):
        raise node.error(f"a dimension is negative: {list(map(str, target))}")
    for index in unknown:
        others = product(dim for dim in target if dim.value != -1)
        if others.value == 0:
            raise node.error("the dimension -1 has no value next to a dimension of 0")
        target[index] = product(shape) // others
    if any(dim.value == 0 for dim in target):
        # In Relax a dimension of 0 is copied; there is nothing to move anyway.
        return op.zeros(target, node.dtype())
    return op.reshape(node.expr(), target)


@converts("Flatten")
def _flatten(node: Node) -> Value:
    axis, shape = node.int_of("axis", 1), node.shape()
    axis = axis + len(shape) if axis < 0 else axis
    if not 0 <= axis <= len(shape):
        raise node.error(f"axis {axis} is out of range for rank {len(shape)}")
    return op.reshape(node.expr(), [product(shape[:axis]), product(shape[axis:])])


@converts("Squeeze")
def _squeeze(node: Node) -> Value:
    axes = axes_of(node)
    x = node.expr()
    if not axes and (node.is_set("axes") or node.has(1)):
        return x
    return op.squeeze(x, [node.axis(axis) for axis in axes] if axes else None)


@converts("Unsqueeze")
def _unsqueeze(node: Node) -> Value:
    axes = axes_of(node)
    rank = node.rank() + len(axes)
    return op.expand_dims(node.expr(), sorted(node.axis(axis, rank) for axis in axes))


@converts("Transpose")
def _transpose(node: Node) -> Value:
    if node.rank() == 0:
        return node.expr()
    perm = node.ints_of("perm", range(node.rank())[::-1])
    return op.permute_dims(node.expr(), perm)


@converts("Expand")
def _expand(node: Node) -> Value:
    shape, target = list(node.shape()), node.dims(1)
    rank = max(len(shape), len(target))
    ones = Dim.of(1)
    shape = [ones] * (rank - len(shape)) + shape
    target = [ones] * (rank - len(target)) + target
    result = [
        have if want.value == 1 else want
        for have, want in zip(shape, target, strict=True)
    ]
    return op.broadcast_to(node.expr(), result)


@converts("Tile", since=6)
def _tile(node: Node) -> Value:
    return op.tile(node.expr(), node.integers(1)) if node.rank() else node.expr()


@converts("Concat")
def _concat(node: Node) -> Value:
    axis = node.axis(node.int_of("axis", 1))
    return op.concat(node.exprs(), axis)


@converts("Split")
def _split(node: Node) -> Value | list[Value]:
    axis = node.axis(node.int_of("axis", 0))
    count = len(node.outputs)
    if node.is_set("split"):
        sizes = node.ints_of("split")
    elif node.has(1):
        sizes = node.integers(1)
    else:
        extent = node.sizes()[axis]
        part = -(-extent // count)
        sizes = [part] * (count - 1) + [extent - part * (count - 1)]
    if len(sizes) != count or any(size < 0 for size in sizes):
        raise node.error(f"{count} outputs cannot have the sizes {sizes}")
    extent = node.shape()[axis].value
    if extent is not None and sum(sizes) != extent:
        raise node.error(f"the sizes {sizes} do not make up the extent {extent}")
    if count == 1:
        return node.expr()
    indices = [int(end) for end in np.cumsum(sizes)[:-1]]
    parts = node.emit(op.split(node.expr(), indices, axis))
    return [parts[index] for index in range(count)]


# ---- slices ----


@converts("Slice")
def _slice(node: Node) -> Value:
    if node.opset < 10:
        starts: Sequence[Dim] = [Dim.of(each) for each in node.ints_of("starts")]
        ends: Sequence[Dim] = [Dim.of(each) for each in node.ints_of("ends")]
        axes = node.ints_of("axes", range(len(starts)))
        steps = [1] * len(starts)
    else:
        starts, ends = node.dims(1), node.dims(2)
        axes = node.integers(3) if node.has(3) else list(range(len(starts)))
        steps = node.integers(4) if node.has(4) else [1] * len(starts)
    x = node.expr()
    plain: list[tuple[int, Dim, Dim, int]] = []
    for start, end, given, step in zip(starts, ends, axes, steps, strict=True):
        axis = node.axis(given)
        if step > 0:
            dim = node.shape()[axis]
            begin, stop = _bound(node, start, dim), _bound(node, end, dim)
            plain.append((axis, begin, stop, step))
        elif step == 0:
            raise node.error("a step is 0")
        else:
            extent = node.sizes()[axis]
            first, last = start.value, end.value
            if first is None or last is None:
                raise node.error("a slice that goes back needs numbers as its bounds")
            stop_at = None if last < -extent else last
            indices = node.places(extent)[slice(first, stop_at, step)]
            x = op.take(x, relax.const(indices), axis)
    if not plain:
        return x
    columns = [list(column) for column in zip(*plain, strict=True)]
    return op.strided_slice(x, *columns)


def _bound(node: Node, bound: Dim, extent: Dim) -> Dim:
    """A bound of a slice as a place from the front, within the extent."""
    value = bound.value
    if value is None:
        if not provably_at_least(bound, 0):
            raise node.error(f"it is not known whether the bound {bound} is negative")
        return bound if provably_at_least(extent, bound) else minimum(bound, extent)
    if value < 0:
        from_front = extent + value
        if from_front.value is not None:
            return Dim.of(max(from_front.value, 0))
        # An extent may be smaller; then the slice starts or ends at 0.
        return from_front if provably_at_least(from_front, 0) else _at_least_0(from_front)
    if extent.value is not None:
        return Dim.of(min(value, extent.value))
    return extent if value >= 1 << 31 else minimum(value, extent)


def _at_least_0(dim: Dim) -> Dim:
    return maximum(dim, 0)


@converts("CenterCropPad")
def _center_crop_pad(node: Node) -> Value:
    x, shape = node.expr(), list(node.sizes())
    axes = node.ints_of("axes", range(len(shape)))
    widths = [[0, 0] for _ in shape]
    slices: list[tuple[int, int, int]] = []
    for given, size in zip(axes, node.integers(1), strict=True):
        axis = node.axis(given)
        extra = size - shape[axis]
        if extra >= 0:
            widths[axis] = [extra // 2, extra - extra // 2]
        else:
            begin = -extra // 2
            slices.append((axis, begin, begin + size))
    if slices:
        x = op.strided_slice(x, *(list(each) for each in zip(*slices, strict=True)))
    if any(map(any, widths)):
        x = padded(node, x, widths, node.scalar(0))
    return x


# ---- padding ----


@converts("Pad")
def _pad(node: Node) -> Value:
    rank = node.rank()
    if node.opset < 11:
        name = "pads" if node.opset >= 2 else "paddings"
        pads, value = node.ints_of(name), node.scalar(node.float_of("value", 0.0))
    else:
        pads = node.integers(1)
        value = op.reshape(node.expr(2), []) if node.has(2) else node.scalar(0)
    axes = list(range(rank))
    if node.has(3):
        axes = [node.axis(axis) for axis in node.integers(3)]
    if len(pads) != 2 * len(axes):
        raise node.error(f"pads must have {2 * len(axes)} elements, not {len(pads)}")
    widths = [[0, 0] for _ in range(rank)]
    for index, axis in enumerate(axes):
        widths[axis] = [pads[index], pads[index + len(axes)]]
    x, mode = node.expr(), node.str_of("mode", "constant")
    crops = [
        (i, low, high) for i, (low, high) in enumerate(widths) if low < 0 or high < 0
    ]
    if crops:
        shape = node.shape()
        x = op.strided_slice(
            x,
            [axis for axis, _, _ in crops],
            [max(-low, 0) for _, low, _ in crops],
            [shape[axis] + min(high, 0) for axis, _, high in crops],
        )
        widths = [[max(low, 0), max(high, 0)] for low, high in widths]
    if mode == "constant":
        return padded(node, x, widths, value)
    return _pad_by_index(node, x, widths, mode)


def padded(node: Node, x: Expr, widths: Sequence[Sequence[int]], value: Expr) -> Expr:
    """The tensor with elements of rank 0 around it."""
    for axis, (low, high) in enumerate(widths):
        parts: list[Expr] = [x]
        for width, is_low in ((low, True), (high, False)):
            if width:
                shape = [*x.shape]
                shape[axis] = Dim.of(width)
                parts.insert(0 if is_low else len(parts), op.full(shape, value, x.dtype))
        if len(parts) > 1:
            x = node.emit(op.concat(parts, axis))
    return x


def _pad_by_index(
    node: Node, x: Expr, widths: Sequence[Sequence[int]], mode: str
) -> Expr:
    """The tensor with its own elements around it."""
    modes = {"reflect": "reflect", "edge": "edge", "wrap": "wrap"}
    if mode not in modes:
        raise node.error(f"mode must be constant, reflect, edge or wrap, not {mode}")
    for axis, (low, high) in enumerate(widths):
        if low == high == 0:
            continue
        extent = x.shape[axis].value
        if extent is None or extent == 0:
            raise node.error(f"mode {mode} needs a number as the extent of axis {axis}")
        places: Array = node.places(extent)
        if mode == "edge":
            indices = np.pad(places, (low, high), mode="edge")
        elif mode == "reflect":
            indices = np.pad(places, (low, high), mode="reflect")
        else:
            indices = np.pad(places, (low, high), mode="wrap")
        x = op.take(x, relax.const(indices), axis)
    return x


# ---- images ----


@converts("DepthToSpace")
def _depth_to_space(node: Node) -> Value:
    n, c, h, w = node.shape()
    b = node.int_of("blocksize")
    if b < 1:
        raise node.error(f"blocksize must be positive, not {b}")
    if node.str_of("mode", "DCR") == "DCR":
        split = op.reshape(node.expr(), [n, b, b, c // (b * b), h, w])
        moved = op.permute_dims(split, [0, 3, 4, 1, 5, 2])
    else:
        split = op.reshape(node.expr(), [n, c // (b * b), b, b, h, w])
        moved = op.permute_dims(split, [0, 1, 4, 2, 5, 3])
    return op.reshape(moved, [n, c // (b * b), h * b, w * b])


@converts("SpaceToDepth")
def _space_to_depth(node: Node) -> Value:
    n, c, h, w = node.shape()
    b = node.int_of("blocksize")
    if b < 1:
        raise node.error(f"blocksize must be positive, not {b}")
    split = op.reshape(node.expr(), [n, c, h // b, b, w // b, b])
    order = [0, 1, 3, 5, 2, 4]
    if node.str_of("mode", "DCR") == "DCR":
        order = [0, 3, 5, 1, 2, 4]
    moved = op.permute_dims(split, order)
    return op.reshape(moved, [n, c * b * b, h // b, w // b])


@converts("Resize", "Upsample")
def _resize(node: Node) -> Value:
    """Interpolation is linear in each axis, so an axis is a product with a matrix."""
    x, sizes = node.expr(), node.sizes()
    mode = node.str_of("mode", "nearest")
    coordinates = node.str_of("coordinate_transformation_mode", "half_pixel")
    if node.opset < 11:
        coordinates = "asymmetric"
    axes = [node.axis(axis) for axis in node.ints_of("axes", range(len(sizes)))]
    scales, targets = _scales(node, axes, sizes)
    roi = [0.0] * len(axes) + [1.0] * len(axes)
    if coordinates == "tf_crop_and_resize":
        roi = [float(each) for each in node.array(1).ravel()]
    for index, axis in enumerate(axes):
        span = roi[index], roi[index + len(axes)]
        if targets[index] == sizes[axis] and scales[index] == 1.0 and span == (0.0, 1.0):
            continue
        places = _places(
            node, coordinates, sizes[axis], targets[index], scales[index], span
        )
        x = _resized(node, x, axis, sizes[axis], places, mode, scales[index])
        if coordinates == "tf_crop_and_resize":
            outside = (places < 0) | (places > sizes[axis] - 1)
            if outside.any():
                shape = [1] * len(sizes)
                shape[axis] = len(places)
                extra = node.scalar(node.float_of("extrapolation_value", 0.0))
                x = op.where(relax.const(outside.reshape(shape)), extra, x)
    return x


def _scales(
    node: Node, axes: list[int], sizes: Sequence[int]
) -> tuple[list[float], list[int]]:
    """The factors and the new extents of the axes."""
    if node.op_type == "Upsample" and node.opset < 9:
        scales = node.floats_of("scales")
    else:
        index = 2 if node.opset >= 11 else 1
        given = node.array(index).ravel() if node.has(index) else np.zeros(0)
        scales = [float(each) for each in given]
    old = [sizes[axis] for axis in axes]
    if scales:
        if len(scales) != len(axes):
            raise node.error(f"there must be {len(axes)} scales, not {len(scales)}")
        return scales, [
            math.floor(extent * scale) for extent, scale in zip(old, scales, strict=True)
        ]
    targets = node.integers(3)
    if len(targets) != len(axes):
        raise node.error(f"there must be {len(axes)} sizes, not {len(targets)}")
    ratios = [new / extent for new, extent in zip(targets, old, strict=True)]
    policy = node.str_of("keep_aspect_ratio_policy", "stretch")
    if policy != "stretch":
        ratio = min(ratios) if policy == "not_larger" else max(ratios)
        ratios = [ratio] * len(axes)
        targets = [math.floor(extent * ratio + 0.5) for extent in old]
    return ratios, targets


def _places(
    node: Node,
    mode: str,
    size: int,
    target: int,
    scale: float,
    span: tuple[float, float],
) -> Array:
    """Where in the tensor each new element is, along an axis."""
    node.places(size * target)
    index = node.places(target).astype(np.float64)
    if mode == "half_pixel":
        return (index + 0.5) / scale - 0.5
    if mode == "half_pixel_symmetric":
        exact = size * scale
        offset = size / 2 * (1 - target / exact)
        return offset + (index + 0.5) / scale - 0.5
    if mode == "pytorch_half_pixel":
        return (index + 0.5) / scale - 0.5 if target > 1 else np.zeros(target)
    if mode == "asymmetric":
        return index / scale
    if mode == "align_corners":
        # The standard's reference divides by the extent before it is rounded.
        exact = size * scale
        return index * (size - 1) / (exact - 1) if exact != 1 else np.zeros(target)
    if mode == "tf_crop_and_resize":
        start, end = span
        if target <= 1:
            return np.full(target, 0.5 * (start + end) * (size - 1))
        step = (end - start) * (size - 1) / (target - 1)
        return start * (size - 1) + index * step
    raise node.error(f"coordinate_transformation_mode {mode} is not converted")


def _resized(
    node: Node, x: Expr, axis: int, size: int, places: Array, mode: str, scale: float
) -> Expr:
    if mode == "nearest":
        rounding = node.str_of("nearest_mode", "round_prefer_floor")
        if node.opset < 11:
            rounding = "floor"
        functions: dict[str, Callable[[Array], Array]] = {
            "round_prefer_floor": lambda at: np.ceil(at - 0.5),
            "round_prefer_ceil": lambda at: np.floor(at + 0.5),
            "floor": np.floor,
            "ceil": np.ceil,
        }
        if rounding not in functions:
            raise node.error(f"nearest_mode {rounding} is not converted")
        # Scales are of 32 bits, so places that are integers may be a little off.
        near = np.rint(places)
        places = np.where(np.abs(places - near) < 1e-5, near, places)
        indices = functions[rounding](places).clip(0, size - 1).astype(np.int64)
        return op.take(x, relax.const(indices), axis)
    if mode not in ("linear", "cubic"):
        raise node.error(f"mode must be nearest, linear or cubic, not {mode}")
    matrix = _weights(node, size, places, mode, scale)
    rank = len(x.shape)
    last = [index for index in range(rank) if index != axis] + [axis]
    back = [last.index(index) for index in range(rank)]
    moved = op.permute_dims(x, last) if axis != rank - 1 else x
    dtype = "float32" if "float" not in x.dtype else x.dtype
    source = moved if dtype == x.dtype else op.astype(moved, dtype)
    product_ = op.matmul(source, relax.const(matrix.T.astype(dtype)))
    if dtype != x.dtype:
        product_ = op.astype(product_, x.dtype)
    return op.permute_dims(product_, back) if axis != rank - 1 else product_


def _weights(node: Node, size: int, places: Array, mode: str, scale: float) -> Array:
    """The matrix of an axis: a row of weights for each new element."""
    stretch = 1.0
    if node.int_of("antialias", 0) and scale < 1:
        stretch = scale
    alpha = node.float_of("cubic_coeff_a", -0.75)
    reach = 1.0 if mode == "linear" else 2.0
    matrix = np.zeros((len(places), size))
    for row, place in enumerate(places):
        first = math.floor(place - reach / stretch) + 1
        last = math.ceil(place + reach / stretch) - 1
        indices = _integers(first, max(first, last) + 1)
        distance = np.abs(indices - place) * stretch
        weights = _linear(distance) if mode == "linear" else _cubic(distance, alpha)
        if node.int_of("exclude_outside", 0):
            weights = np.where((indices < 0) | (indices >= size), 0.0, weights)
        if stretch < 1 or node.int_of("exclude_outside", 0):
            weights = weights / weights.sum()
        np.add.at(matrix[row], indices.clip(0, size - 1), weights)
    return matrix


def _integers(first: int, end: int) -> Array:
    return np.arange(first, end)


def _linear(distance: Array) -> Array:
    return np.clip(1 - distance, 0, None)


def _cubic(distance: Array, a: float) -> Array:
    x = distance
    near = (a + 2) * x**3 - (a + 3) * x**2 + 1
    far = a * x**3 - 5 * a * x**2 + 8 * a * x - 4 * a
    return np.where(x <= 1, near, np.where(x < 2, far, 0.0))
