"""Operators that read images between their elements, and regions of images."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from itertools import product as combinations

import numpy as np

from xdsl_tvm import relax
from xdsl_tvm.frontend.onnx.node import Node, converts
from xdsl_tvm.frontend.onnx.values import Value
from xdsl_tvm.relax import op
from xdsl_tvm.relax.expr import Expr

_MODES = {"bilinear": "linear", "bicubic": "cubic"}
"""Names of old opsets."""


@converts("GridSample", since=16)
def _grid_sample(node: Node) -> Value:
    """A sum over the neighbours of each place, each by its weight."""
    sizes, points = node.sizes(0), node.sizes(1)
    extents = sizes[2:]
    count = len(extents)
    mode = node.str_of("mode", "linear")
    mode = _MODES.get(mode, mode)
    padding = node.str_of("padding_mode", "zeros")
    if mode not in ("nearest", "linear", "cubic"):
        raise node.error(f"mode must be nearest, linear or cubic, not {mode}")
    if padding not in ("zeros", "border", "reflection"):
        raise node.error(f"padding_mode {padding} is not converted")
    if points[-1] != count or (mode == "cubic" and count != 2):
        raise node.error(f"a grid of {points[-1]} axes does not fit {count} axes")
    aligned = bool(node.int_of("align_corners", 0))
    grid = op.astype(node.expr(1), "float32")
    taps: list[list[tuple[Expr, Expr]]] = []
    for axis, extent in enumerate(extents):
        # The last element of a point is the place along the first spatial axis.
        last = relax.const(count - 1 - axis, "int64")
        at = op.take(grid, last, len(points) - 1)
        if aligned:
            at = op.multiply(op.add(at, _f32(1)), _f32((extent - 1) / 2))
        else:
            at = op.add(op.multiply(op.add(at, _f32(1)), _f32(extent / 2)), _f32(-0.5))
        if padding != "zeros" and mode != "cubic":
            at = _inside(at, extent, padding, aligned)
        taps.append(taps_of(node, node.emit(at), mode))
    batch, channels = sizes[:2]
    whole = int(np.prod(extents))
    inner = list(points[1:-1])
    data = node.emit(op.reshape(node.expr(0), [batch, channels, whole]))
    zeros = padding == "zeros"
    if not zeros and mode == "cubic":
        taps = [
            [(_inside(place, extent, padding, aligned), share) for place, share in each]
            for each, extent in zip(taps, extents, strict=True)
        ]
    parts = weighted(node, data, taps, extents, zeros=zeros)
    return op.reshape(reduce(op.add, parts), [batch, channels, *inner])


def weighted(
    node: Node,
    data: Expr,
    taps: Sequence[Sequence[tuple[Expr, Expr]]],
    extents: Sequence[int],
    *,
    zeros: bool,
) -> list[Expr]:
    """The neighbours of places, `[batch, channels, places]`, each times its weight.

    `data` is `[batch, channels, elements]`. `taps` has, for each of the axes whose
    extents are given, the neighbours along it and their weights, float32 tensors that
    together have `batch` times `places` elements. With `zeros` neighbours outside of the
    data are 0, otherwise they are those at its border.
    """
    batch, channels = data.shape[:2]
    parts: list[Expr] = []
    for chosen in combinations(*taps):
        index: Expr = relax.const(np.int64(0))
        weight: Expr = _f32(1)
        for (place, share), extent in zip(chosen, extents, strict=True):
            if zeros:
                valid = op.logical_and(
                    op.greater_equal(place, _f32(0)), op.less(place, _f32(extent))
                )
                share = op.where(valid, share, _f32(0))
            within = op.astype(op.clip(op.round(place), 0.0, extent - 1.0), "int64")
            index = op.add(op.multiply(index, relax.const(np.int64(extent))), within)
            weight = op.multiply(weight, share)
        flat = op.reshape(index, [batch, 1, -1])
        flat = op.broadcast_to(flat, [batch, channels, flat.shape[2]])
        values = op.gather_elements(data, node.emit(flat), 2)
        share = op.astype(op.reshape(weight, [batch, 1, -1]), data.dtype)
        parts.append(node.emit(op.multiply(values, share)))
    return parts


def _f32(number: float) -> Expr:
    return relax.const(np.float32(number))


def _inside(at: Expr, extent: int, padding: str, aligned: bool) -> Expr:
    """A place brought into the image, by its border or by reflections there."""
    if padding == "border":
        return op.clip(at, 0.0, float(extent - 1))
    low, high = (0.0, extent - 1.0) if aligned else (-0.5, extent - 0.5)
    span = high - low
    if span == 0:
        return op.multiply(at, _f32(0))
    offset = op.abs(op.subtract(at, _f32(low)))
    turns = op.floor(op.divide(offset, _f32(span)))
    rest = op.subtract(offset, op.multiply(turns, _f32(span)))
    half = op.divide(turns, _f32(2))
    is_even = op.equal(op.floor(half), half)
    place = op.where(is_even, op.add(rest, _f32(low)), op.subtract(_f32(high), rest))
    return op.clip(place, 0.0, float(extent - 1))


def taps_of(node: Node, at: Expr, mode: str) -> list[tuple[Expr, Expr]]:
    """The neighbours of places along an axis, and their weights."""
    if mode == "nearest":
        return [(op.round(at), _f32(1))]
    first = node.emit(op.floor(at))
    t = node.emit(op.subtract(at, first))
    if mode == "linear":
        second = op.add(first, _f32(1))
        return [(first, op.subtract(_f32(1), t)), (node.emit(second), t)]
    return [
        (op.add(first, _f32(step)), node.emit(_cubic(t, step))) for step in range(-1, 3)
    ]


def _cubic(t: Expr, step: int) -> Expr:
    """The weight of the neighbour `step` elements from the one before the place."""
    a = -0.75
    x = op.abs(op.subtract(t, _f32(step)))
    if step in (0, 1):
        return _polynomial(x, [a + 2, -(a + 3), 0, 1])
    return _polynomial(x, [a, -5 * a, 8 * a, -4 * a])


def _polynomial(x: Expr, coefficients: Sequence[float]) -> Expr:
    result: Expr = _f32(coefficients[0])
    for coefficient in coefficients[1:]:
        result = op.add(op.multiply(result, x), _f32(coefficient))
    return result


@converts("TensorScatter")
def _tensor_scatter(node: Node) -> Value:
    """New rows at the places that an input says, in each batch element."""
    axis = node.axis(node.int_of("axis", -2))
    sizes, new = node.sizes(0), node.sizes(1)
    mode = node.str_of("mode", "linear")
    places: Expr = relax.const(node.places(new[axis]))
    shape = [1] * len(sizes)
    shape[axis] = new[axis]
    index = op.reshape(places, shape)
    if node.has(2):
        start = op.reshape(
            op.astype(node.expr(2), "int64"), [-1] + [1] * (len(sizes) - 1)
        )
        index = op.add(index, start)
    if mode == "circular":
        index = op.floor_mod(index, relax.const(sizes[axis], "int64"))
    elif mode != "linear":
        raise node.error(f"mode must be linear or circular, not {mode}")
    index = op.broadcast_to(index, list(new))
    return op.scatter_elements(node.expr(0), index, node.expr(1), axis)
