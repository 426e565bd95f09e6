"""Operators that choose elements by indices, sort and search."""

from __future__ import annotations

import numpy as np

from xdsl_tvm import relax
from xdsl_tvm.dialects.relax.symbolic import Dim
from xdsl_tvm.frontend.onnx.node import Node, converts
from xdsl_tvm.frontend.onnx.values import Known, Value
from xdsl_tvm.relax import op
from xdsl_tvm.relax.expr import Expr


def _from_front(node: Node, index: int, extent: int | None, axis: int = 0) -> Expr:
    """Indices where negative ones, that count from the end, count from the front."""
    value = node.value(index)
    if isinstance(value, Known) and not value.is_symbolic:
        array = value.array.astype(np.int64)
        if extent is not None:
            if ((array < -extent) | (array >= extent)).any():
                raise node.error(f"an index is out of range for extent {extent}")
            return relax.const(np.where(array < 0, array + extent, array))
        if (array >= 0).all():
            return relax.const(array)
    indices = op.astype(node.expr(index), "int64")
    if extent is None:
        shape = op.shape_to_tensor(op.shape_of(node.expr(0)))
        size = op.take(shape, relax.const(axis, "int64"), axis=0)
    else:
        size = relax.const(extent, "int64")
    is_negative = op.less(indices, relax.const(0, "int64"))
    return op.where(is_negative, op.add(indices, size), indices)


@converts("Gather")
def _gather(node: Node) -> Value:
    axis = node.axis(node.int_of("axis", 0))
    extent = node.shape()[axis].value
    return op.take(node.expr(), _from_front(node, 1, extent, axis), axis)


@converts("GatherElements")
def _gather_elements(node: Node) -> Value:
    axis = node.axis(node.int_of("axis", 0))
    extent = node.shape()[axis].value
    return op.gather_elements(node.expr(), _from_front(node, 1, extent, axis), axis)


def _nd_from_front(node: Node, first: int) -> Expr:
    """Indices whose last axis holds a place in the axes from `first` on."""
    sizes = node.shape()
    count = node.sizes(1)[-1]
    extents = [dim.value for dim in sizes[first : first + count]]
    indices = op.astype(node.expr(1), "int64")
    known = [extent for extent in extents if extent is not None]
    if len(known) < len(extents):
        return indices
    size = relax.const(np.array(known, np.int64))
    is_negative = op.less(indices, relax.const(0, "int64"))
    return op.where(is_negative, op.add(indices, size), indices)


@converts("GatherND")
def _gather_nd(node: Node) -> Value:
    batch = node.int_of("batch_dims", 0)
    return op.gather_nd(node.expr(), _nd_from_front(node, batch), batch)


_REDUCTIONS = {"none": "update", "add": "add", "mul": "mul", "max": "max", "min": "min"}


def _reduction(node: Node) -> str:
    kind = node.str_of("reduction", "none")
    if kind not in _REDUCTIONS:
        raise node.error(f"reduction must be one of {', '.join(_REDUCTIONS)}, not {kind}")
    return _REDUCTIONS[kind]


@converts("Scatter", "ScatterElements")
def _scatter_elements(node: Node) -> Value:
    axis = node.axis(node.int_of("axis", 0))
    indices = _from_front(node, 1, node.shape()[axis].value, axis)
    return op.scatter_elements(node.expr(), indices, node.expr(2), axis, _reduction(node))


@converts("ScatterND")
def _scatter_nd(node: Node) -> Value:
    return op.scatter_nd(
        node.expr(), _nd_from_front(node, 0), node.expr(2), _reduction(node)
    )


@converts("TopK")
def _top_k(node: Node) -> list[Value]:
    k = node.int_of("k") if node.opset < 10 else node.integer(1)
    axis = node.axis(node.int_of("axis", -1))
    largest = bool(node.int_of("largest", 1))
    both = node.emit(
        op.topk(node.expr(), k, axis, "both", largest=largest, dtype="int64")
    )
    return [both[0], both[1]]


@converts("Unique", since=11)
def _unique(node: Node) -> list[Value | None]:
    # How many elements differ is known to the running program only.
    x, shape = node.expr(), list[Dim | None](node.shape())
    flags = [relax.PrimValue(each) for each in (True, True, True, True)]
    if not node.is_set("axis"):
        axis = 0
        both = node.emit(op.unique(op.reshape(x, [-1]), *flags))
        shape = [None]
    else:
        axis = node.axis(node.int_of("axis"))
        both = node.emit(op.unique(x, *flags, relax.PrimValue(axis)))
        shape[axis] = None
    found = node.graphs.declared(both[0], shape)
    first, inverse, counts = (
        node.graphs.declared(both[index], [None]) for index in (1, 2, 3)
    )
    if not node.int_of("sorted", 1):
        order = node.emit(op.argsort(first, 0, False, "int64"))
        rank = op.argsort(order, 0, False, "int64")
        found = node.graphs.declared(op.take(found, order, axis), shape)
        first, counts, inverse = (
            node.graphs.declared(op.take(*each, 0), [None])
            for each in ((first, order), (counts, order), (node.emit(rank), inverse))
        )
    return [found, first, inverse, counts]


@converts("NonZero")
def _non_zero(node: Node) -> Value:
    # The number of elements is known to the running program only; of a scalar there are
    # no indices, unlike numpy's.
    return node.graphs.declared(op.nonzero(node.expr()), [node.rank(), None])


@converts("ReverseSequence")
def _reverse_sequence(node: Node) -> Value:
    time, batch = node.int_of("time_axis", 0), node.int_of("batch_axis", 1)
    sizes = node.sizes()
    if {time, batch} != {0, 1}:
        raise node.error("time_axis and batch_axis must be 0 and 1")
    lengths = op.astype(node.expr(1), "int64")
    lengths = op.expand_dims(lengths, [time])
    places_shape = [1, 1]
    places_shape[time] = sizes[time]
    places = relax.const(node.places(sizes[time]).reshape(places_shape))
    last = op.subtract(lengths, relax.const(1, "int64"))
    back = op.where(op.less(places, lengths), op.subtract(last, places), places)
    spread = list(range(2, len(sizes)))
    index = op.broadcast_to(op.expand_dims(back, spread) if spread else back, list(sizes))
    return op.gather_elements(node.expr(), index, time)


@converts("Compress")
def _compress(node: Node) -> Value:
    chosen = np.flatnonzero(node.array(1))
    x = node.expr()
    if not node.is_set("axis"):
        return op.take(op.flatten(x), relax.const(chosen), 0)
    return op.take(x, relax.const(chosen), node.axis(node.int_of("axis")))
