"""Pooling."""

from __future__ import annotations

import re
from itertools import product as combinations

from xdsl_tvm.frontend.torch.node import Node, Results, Value, converts
from xdsl_tvm.frontend.torch.operators.convolution import padded
from xdsl_tvm.relax import const, op
from xdsl_tvm.relax.expr import Expr


def _axes_of(node: Node) -> int:
    """The number of spatial axes, which the operator's name holds."""
    found = re.search(r"(\d)d", node.target)
    assert found is not None
    return int(found.group(1))


def _batched(x: Expr, count: int) -> Expr:
    """Images with a batch, which torch does without."""
    return op.expand_dims(x, [0]) if len(x.shape) == count + 1 else x


def window_of(node: Node, count: int) -> tuple[list[int], list[int], list[int]]:
    """Kernel, strides and padding of a pool."""
    kernel = node.spatial("kernel_size", count)
    has_stride = node.has("stride") and node.items("stride")
    strides = node.spatial("stride", count) if has_stride else kernel
    return kernel, strides, node.spatial("padding", count)


@converts("avg_pool1d", "avg_pool2d", "avg_pool3d")
def _avg_pool(node: Node) -> Value:
    count = _axes_of(node)
    x = _batched(node.expr(), count)
    kernel, strides, pads = window_of(node, count)
    is_ceil, counts_pads = node.flag("ceil_mode"), node.flag("count_include_pad")
    function = (op.nn.avg_pool1d, op.nn.avg_pool2d, op.nn.avg_pool3d)[count - 1]
    dilations = [1] * count
    around = [*pads, *pads]
    if node.has("divisor_override"):
        counts_pads = True
    result = function(x, kernel, strides, around, dilations, is_ceil, counts_pads)
    if node.has("divisor_override"):
        if is_ceil:
            raise node.error("divisor_override with ceil_mode is not converted")
        volume = 1
        for size in kernel:
            volume *= size
        factor = volume / node.integer("divisor_override")
        result = op.multiply(result, node.constant(factor, node.dtype))
    return _fitted(node, result, count)


def _fitted(node: Node, result: Expr, count: int) -> Expr:
    """The result without windows that begin after the data, and as torch's shape."""
    dims = node.dims
    spatial = dims[-count:]
    axes = [
        axis
        for axis, dim in enumerate(spatial, 2)
        if (size := result.shape[axis].value) is not None
        and dim.value is not None
        and size > dim.value
    ]
    if axes:
        ends = [spatial[axis - 2] for axis in axes]
        result = op.strided_slice(result, axes, [0] * len(axes), ends)
    return result if len(dims) == count + 2 else op.squeeze(result, [0])


@converts(
    "max_pool1d",
    "max_pool2d",
    "max_pool3d",
    "max_pool2d_with_indices",
    "max_pool3d_with_indices",
)
def _max_pool(node: Node) -> Results:
    count = _axes_of(node)
    x = _batched(node.expr(), count)
    kernel, strides, pads = window_of(node, count)
    dilations = node.spatial("dilation", count)
    function = (op.nn.max_pool1d, op.nn.max_pool2d, op.nn.max_pool3d)[count - 1]
    is_ceil = node.flag("ceil_mode")
    if "with_indices" in node.target and node.is_used(1):
        return _max_pool_with_indices(node, x, kernel, strides, pads, dilations)
    pooled = function(x, kernel, strides, [*pads, *pads], dilations, is_ceil)
    result = _fitted(node, pooled, count)
    return [result, None] if "with_indices" in node.target else result


def _max_pool_with_indices(
    node: Node,
    x: Expr,
    kernel: list[int],
    strides: list[int],
    pads: list[int],
    dilations: list[int],
) -> Results:
    """The greatest elements and their places, an element of the windows at a time."""
    count = len(kernel)
    spatial = node.sizes(x)[2:]
    sizes = [dim.value for dim in node.dims[-count:]]
    widths, places = [0, 0, 0, 0], node.places(1)
    for axis in range(count):
        size = sizes[axis]
        assert size is not None
        reach = (kernel[axis] - 1) * dilations[axis] + 1
        after = (size - 1) * strides[axis] + reach - spatial[axis] - pads[axis]
        widths += [pads[axis], max(after, 0)]
        # Of the padding no place is ever chosen.
        line = node.places(spatial[axis] + pads[axis] + max(after, 0)) - pads[axis]
        places = places[..., None] * spatial[axis] + line
    wide = node.emit(padded(x, widths, float("-inf")))
    numbers = const(places.reshape([1, 1, *places.shape[1:]]).copy())
    axes = list(range(2, 2 + count))
    best: Expr | None = None
    at: Expr | None = None
    for offsets in combinations(*map(range, kernel)):
        begins = [o * d for o, d in zip(offsets, dilations, strict=True)]
        ends = [
            begin + (size - 1) * stride + 1
            for begin, size, stride in zip(begins, sizes, strides, strict=True)
            if size is not None
        ]
        here, place = (
            node.emit(op.strided_slice(each, axes, begins, ends, strides))
            for each in (wide, numbers)
        )
        if best is None or at is None:
            best, at = here, op.broadcast_to(place, list(here.shape))
            continue
        # NaN is greater than numbers; of equal elements the first counts.
        is_more = op.logical_or(op.greater(here, best), op.isnan(here))
        is_more = node.emit(is_more)
        best = node.emit(op.where(is_more, here, best))
        at = node.emit(op.where(is_more, place, at))
    assert best is not None
    assert at is not None
    if len(node.dims) == count + 1:
        return [op.squeeze(best, [0]), op.squeeze(at, [0])]
    return [best, at]


@converts(
    "adaptive_avg_pool1d",
    "_adaptive_avg_pool2d",
    "adaptive_avg_pool2d",
    "_adaptive_avg_pool3d",
    "adaptive_avg_pool3d",
)
def _adaptive_avg_pool(node: Node) -> Value:
    count = _axes_of(node)
    x = _batched(node.expr(), count)
    sizes = node.spatial("output_size", count)
    function = (
        op.nn.adaptive_avg_pool1d,
        op.nn.adaptive_avg_pool2d,
        op.nn.adaptive_avg_pool3d,
    )[count - 1]
    return _fitted(node, function(x, sizes), count)


@converts("adaptive_max_pool1d", "adaptive_max_pool2d", "adaptive_max_pool3d")
def _adaptive_max_pool(node: Node) -> Results:
    """The greatest elements of windows, one spatial axis after the other."""
    if node.is_used(1):
        raise node.error("the indices of adaptive pools are not converted")
    count = _axes_of(node)
    x = _batched(node.expr(), count)
    for axis in range(2, 2 + count):
        size, wanted = x.shape[axis].value, node.dims[axis - 2 - count].value
        if size is None or wanted is None:
            raise node.error("the spatial dimensions must be known numbers")
        x = node.emit(x)
        parts = [
            op.max(
                op.strided_slice(
                    x,
                    [axis],
                    [index * size // wanted],
                    [-(-(index + 1) * size // wanted)],
                ),
                [axis],
                True,
            )
            for index in range(wanted)
        ]
        x = parts[0] if wanted == 1 else op.concat(parts, axis)
    return [_fitted(node, x, count), None]
