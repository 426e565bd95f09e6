"""Maximum pooling with the places of the maxima, and what takes them back."""

from __future__ import annotations

import math
from itertools import product as combinations

import numpy as np

from xdsl_tvm import relax
from xdsl_tvm.frontend.onnx.node import Node, converts
from xdsl_tvm.frontend.onnx.operators.convolution import positive
from xdsl_tvm.frontend.onnx.operators.pooling import pooled, window
from xdsl_tvm.frontend.onnx.values import Value
from xdsl_tvm.relax import op
from xdsl_tvm.relax.expr import Expr


@converts("MaxPool")
def _max_pool(node: Node) -> Value | list[Value]:
    result = pooled(node, "max", node.expr(), False)
    if len(node.outputs) < 2 or not node.outputs[1]:
        return result
    result = node.emit(result)
    return [result, _places_of_maxima(node, [dim.value or 0 for dim in result.shape[2:]])]


def _places_of_maxima(node: Node, outer: list[int]) -> Expr:
    """Where in the whole tensor the first maximum of each window is, int64.

    The elements of the windows are compared one after the other, by the places that the
    kernel has.
    """
    sizes = node.sizes()
    kernel, strides, pads, dilations = window(node)
    count = len(kernel)
    order = list(range(count))
    if node.int_of("storage_order", 0):
        order.reverse()
    factors = [0] * count
    factor = 1
    for axis in reversed(order):
        factors[axis] = factor
        factor *= sizes[2 + axis]
    plane = np.zeros([1] * count, np.int64)
    for axis, size in enumerate(sizes[2:]):
        shape = [1] * count
        shape[axis] = size
        plane = plane + (node.places(size) * factors[axis]).reshape(shape)
    images = node.places(sizes[0] * sizes[1]) * math.prod(sizes[2:])
    whole = images.reshape([*sizes[:2], *[1] * count])
    starts = [
        node.places(extent) * stride - pad
        for extent, stride, pad in zip(outer, strides, pads[:count], strict=True)
    ]
    data = node.expr()
    best: Expr | None = None
    found: Expr = relax.const(np.int64(0))
    seen: Expr = relax.const(np.bool_(False))
    for offsets in combinations(*map(range, kernel)):
        element = data
        inside = np.ones([1] * count, np.bool_)
        place = plane
        for axis, (start, offset) in enumerate(zip(starts, offsets, strict=True)):
            at = start + offset * dilations[axis]
            valid = (at >= 0) & (at < sizes[2 + axis])
            at = at.clip(0, sizes[2 + axis] - 1)
            shape = [1] * count
            shape[axis] = len(at)
            inside = inside & valid.reshape(shape)
            place = np.take(place, at, axis)
            element = op.take(element, relax.const(at), 2 + axis)
        element = node.emit(element)
        here = relax.const(whole + place)
        usable = relax.const(inside)
        if best is None:
            # Of a window that begins in the padding any element is better.
            seen = op.broadcast_to(usable, element.shape)
            best, found = element, op.broadcast_to(here, element.shape)
            continue
        wins = op.logical_or(op.greater(element, best), op.logical_not(seen))
        wins = node.emit(op.logical_and(usable, wins))
        best = node.emit(op.where(wins, element, best))
        found = node.emit(op.where(wins, here, found))
        seen = node.emit(op.logical_or(seen, usable))
    return found


@converts("MaxUnpool", since=9)
def _max_unpool(node: Node) -> Value:
    """Zeros, but for the elements at their places."""
    kernel = node.ints_of("kernel_shape")
    count = len(kernel)
    strides = positive(node, "strides", count)
    pads = node.ints_of("pads", [0] * 2 * count)
    sizes = node.sizes()
    if count != len(sizes) - 2 or len(pads) != 2 * count:
        raise node.error(f"kernel_shape and pads must be those of {len(sizes) - 2} axes")
    inner = [*sizes[:2]]
    for axis in range(count):
        around = pads[axis] + pads[axis + count]
        inner.append((sizes[2 + axis] - 1) * strides[axis] - around + kernel[axis])
    if any(size < 0 for size in inner):
        raise node.error(f"the output would have the shape {inner}")
    flat = op.zeros([math.prod(inner)], node.dtype())
    indices = op.reshape(op.astype(node.expr(1), "int64"), [-1])
    filled = op.scatter_elements(flat, indices, op.reshape(node.expr(), [-1]), 0)
    result = op.reshape(filled, inner)
    if not node.has(2):
        return result
    whole = node.integers(2)
    if len(whole) != len(inner) or any(w < i for w, i in zip(whole, inner, strict=False)):
        raise node.error(f"output_shape {whole} is smaller than {inner}")
    after = [w - i for w, i in zip(whole, inner, strict=True)]
    return op.nn.pad(result, [each for extra in after for each in (0, extra)])
