"""Shapes, the order of axes, and parts of tensors."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from xdsl_tvm import relax
from xdsl_tvm.dialects.relax.symbolic import (
    Dim,
    maximum,
    minimum,
    provably_at_least,
    provably_equal,
)
from xdsl_tvm.frontend.torch.node import Node, Results, Value, cast_to, converts
from xdsl_tvm.relax import op
from xdsl_tvm.relax.expr import Expr


@converts(
    "_reshape_alias",
    "_unsafe_view",
    "squeeze",
    "squeeze.dim",
    "squeeze.dims",
    "unsqueeze",
    "view",
    "view_copy",
)
def _reshape(node: Node) -> Value:
    return reshaped(node.expr(), node.dims)


def reshaped(x: Expr, dims: Sequence[Dim]) -> Expr:
    """The elements in another shape; the tensor itself in its own."""
    shape = x.shape
    if len(shape) == len(dims) and all(map(provably_equal, shape, dims)):
        return x
    return op.reshape(x, list(dims))


@converts("expand", "expand_copy")
def _expand(node: Node) -> Value:
    return broadcast(node.expr(), node.dims)


def broadcast(x: Expr, dims: Sequence[Dim]) -> Expr:
    """The elements repeated to a shape; the tensor itself in its own."""
    shape = x.shape
    if len(shape) == len(dims) and all(map(provably_equal, shape, dims)):
        return x
    return op.broadcast_to(x, list(dims))


@converts("permute", "permute_copy")
def _permute(node: Node) -> Value:
    x = node.expr()
    return transposed(x, node.axes("dims", len(x.shape)))


def transposed(x: Expr, axes: Sequence[int]) -> Expr:
    """The tensor with its axes in another order."""
    return x if list(axes) == sorted(axes) else op.permute_dims(x, list(axes))


@converts("transpose.int", "t")
def _transpose(node: Node) -> Value:
    x = node.expr()
    rank = len(x.shape)
    axes = list(range(rank))
    if "dim0" in node.arguments:
        first, second = node.axis("dim0", rank), node.axis("dim1", rank)
    else:
        first, second = max(rank - 2, 0), max(rank - 1, 0)
    if rank:
        axes[first], axes[second] = axes[second], axes[first]
    return transposed(x, axes)


@converts("flip")
def _flip(node: Node) -> Value:
    x = node.expr()
    if not x.shape:
        return x
    for axis in node.axes("dims", len(x.shape)):
        x = op.flip(x, axis)
    return x


@converts("roll")
def _roll(node: Node) -> Value:
    x, shape = node.expr(), node.dims
    shifts, axes = node.integers("shifts"), node.axes("dims", len(shape))
    if not axes:
        x, axes = op.flatten(x), [0]
    for shift, axis in zip(shifts, axes, strict=True):
        extent = x.shape[axis]
        if (size := extent.value) is None:
            places = op.arange(relax.PrimValue(extent, "int64"), dtype="int64")
            moved = op.subtract(places, relax.const(shift, "int64"))
            x = op.take(x, op.floor_mod(moved, node.constant(extent, "int64")), axis)
        elif size and shift % size:
            cut = size - shift % size
            parts = [
                op.strided_slice(x, [axis], [begin], [end])
                for begin, end in ((cut, size), (0, cut))
            ]
            x = op.concat(parts, axis)
    return reshaped(x, shape)


@converts("repeat")
def _repeat(node: Node) -> Value:
    x, repeats = node.expr(), node.integers("repeats")
    if 0 in repeats:
        return op.zeros(node.dims, node.dtype)
    return op.tile(x, repeats) if repeats else x


@converts("cat", "stack", "concat")
def _cat(node: Node) -> Value:
    rank = len(node.dims)
    tensors = [cast_to(each, node.dtype) for each in node.exprs("tensors")]
    axis = node.axis("dim", rank)
    if "stack" in node.target:
        tensors = [op.expand_dims(each, [axis]) for each in tensors]
    elif rank > 1:
        # A tensor of shape [0] is one of no elements in any shape.
        tensors = [each for each in tensors if len(each.shape) > 1]
    return tensors[0] if len(tensors) == 1 else op.concat(tensors, axis)


@converts("split_with_sizes", "split.Tensor", "unbind.int")
def _split(node: Node) -> Results:
    x = node.expr()
    rank = len(x.shape)
    axis, metas = node.axis("dim", rank), node.metas
    is_unbound = "unbind" in node.target
    begin = Dim.constant(0)
    results: list[Value | None] = []
    for index, meta in enumerate(metas):
        end = begin + (1 if is_unbound else meta.dims[axis])
        if node.is_used(index):
            part = x
            if len(metas) > 1:
                part = op.strided_slice(x, [axis], [begin], [end])
            results.append(reshaped(part, meta.dims) if is_unbound else part)
        else:
            results.append(None)
        begin = end
    return results


# ---- slices ----


def bounds_of(node: Node, extent: Dim) -> tuple[Dim, Dim, int]:
    """The arguments `start`, `end` and `step`, cut off at the extent of the axis."""
    step = node.integer("step")
    start, end = (
        _cut(node, node.dim(name) if node.has(name) else default, extent)
        for name, default in (("start", Dim.constant(0)), ("end", extent))
    )
    if start.value is not None and end.value is not None and end.value < start.value:
        end = start
    return start, end, step


_FAR = Dim.constant(1 << 31)
"""Ends from here on are those of all axes."""


def _cut(node: Node, place: Dim, extent: Dim) -> Dim:
    """A place on an axis, from its front and within it."""
    if provably_at_least(-1, place):
        place = place + extent
        # Of a symbolic extent the place may be before its front.
        if provably_at_least(place, 0):
            return place
        if place.value is not None:
            return Dim.constant(0)
        return maximum(place, 0)
    if provably_at_least(place, _FAR) or provably_at_least(place, extent):
        return extent
    if not provably_at_least(place, 0):
        raise node.error(f"whether the place {place} counts from the end is not known")
    if provably_at_least(extent, place):
        return place
    return minimum(place, extent)


@converts("slice.Tensor", "slice_copy.Tensor")
def _slice(node: Node) -> Value:
    x = node.expr()
    axis = node.axis("dim", len(x.shape))
    extent = x.shape[axis]
    start, end, step = bounds_of(node, extent)
    if step == 1 and start.value == 0 and provably_equal(end, extent):
        return x
    return op.strided_slice(x, [axis], [start], [end], [step])


@converts("select.int", "select_copy.int")
def _select(node: Node) -> Value:
    x = node.expr()
    axis = node.axis("dim", len(x.shape))
    place = _place(node, x.shape[axis])
    if place.value is not None:
        return op.take(x, relax.const(place.value, "int64"), axis)
    return op.take(x, node.constant(place, "int64"), axis)


def _place(node: Node, extent: Dim) -> Dim:
    """The argument `index`, counted from the front."""
    place = node.dim("index")
    return place + extent if provably_at_least(-1, place) else place


@converts("slice_scatter", "select_scatter")
def _slice_scatter(node: Node) -> Value:
    """The data with other elements in a slice along an axis."""
    x, source = node.expr(), cast_to(node.expr("src"), node.dtype)
    rank = len(x.shape)
    axis = node.axis("dim", rank)
    extent = x.shape[axis]
    if "select" in node.target:
        start = _place(node, extent)
        end, step = start + 1, 1
        source = op.expand_dims(source, [axis])
    else:
        start, end, step = bounds_of(node, extent)
    if step == 1:
        parts = [source]
        if start.value != 0:
            parts.insert(0, op.strided_slice(x, [axis], [0], [start]))
        if not provably_equal(end, extent):
            parts.append(op.strided_slice(x, [axis], [end], [extent]))
        return parts[0] if len(parts) == 1 else op.concat(parts, axis)
    numbers = [start.value, end.value]
    if numbers[0] is None or numbers[1] is None:
        raise node.error("a slice with a step needs known bounds")
    places = node.places(numbers[1])[numbers[0] :: step]
    front = [axis, *(each for each in range(rank) if each != axis)]
    moved = op.scatter_nd(
        transposed(x, front),
        relax.const(places[:, None].copy()),
        transposed(source, front),
    )
    return transposed(moved, [front.index(each) for each in range(rank)])


@converts("diagonal", "diagonal_copy")
def _diagonal(node: Node) -> Value:
    x = node.expr()
    rank, offset = len(x.shape), node.integer("offset")
    rows, columns = node.axis("dim1", rank), node.axis("dim2", rank)
    others = [each for each in range(rank) if each not in (rows, columns)]
    moved = transposed(x, [*others, rows, columns])
    width = x.shape[columns].value
    count = node.dims[-1].value
    if width is None or count is None:
        raise node.error("the extents of both axes must be known numbers")
    flat = op.reshape(moved, [*moved.shape[:-2], x.shape[rows] * width])
    first = offset if offset >= 0 else -offset * width
    places = first + node.places(count) * (width + 1)
    return op.take(flat, relax.const(places), rank - 2)


@converts("as_strided", "as_strided_copy")
def _as_strided(node: Node) -> Value:
    """Elements by their places in memory, where the tensor is in row-major order."""
    x = node.expr()
    if not node.is_contiguous("self"):
        raise node.error("its operand must be contiguous; call .contiguous() before")
    sizes, strides = node.integers("size"), node.integers("stride")
    offset = node.integer("storage_offset") if node.has("storage_offset") else 0
    node.places(int(np.prod(sizes)))
    places = np.full(sizes, offset, np.int64)
    for axis, (size, stride) in enumerate(zip(sizes, strides, strict=True)):
        shape = [1] * len(sizes)
        shape[axis] = size
        places += (np.arange(size) * stride).reshape(shape)
    return op.take(op.flatten(x), relax.const(places), 0)


@converts("unfold", "unfold_copy")
def _unfold(node: Node) -> Value:
    """Windows along an axis, whose elements are along a new last one."""
    x = node.expr()
    rank = len(x.shape)
    if not rank:
        return op.reshape(x, node.dims)
    axis = node.axis("dimension", rank)
    if (count := node.dims[axis].value) is None:
        raise node.error("the number of windows must be a known number")
    size = node.integer("size")
    node.places(count * size)
    places = node.places(count)[:, None] * node.integer("step") + node.places(size)
    windows = op.take(x, relax.const(places), axis)
    order = [each for each in range(rank + 1) if each != axis + 1]
    return transposed(windows, [*order, axis + 1])
