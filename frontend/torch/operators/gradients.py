"""Gradients of pools and convolutions, which exported programs of training hold."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from xdsl_tvm.frontend.torch.node import Node, Results, Value, converts
from xdsl_tvm.frontend.torch.operators.convolution import convolved, padded, transposed
from xdsl_tvm.frontend.torch.operators.pooling import window_of
from xdsl_tvm.relax import const, op
from xdsl_tvm.relax.expr import Expr

Windows = Sequence[tuple[int, int]]
"""The first place of each window of an axis, and the one after its last."""


def _spread(node: Node, x: Expr, axis: int, size: int, windows: Windows) -> Expr:
    """For each of `size` places the sum of the elements whose windows hold it.

    `x` has one element for each window along the axis. No element is multiplied by zero,
    so an infinite one reaches the places of its window alone.
    """
    holders: list[list[int]] = [[] for _ in range(size)]
    for index, (begin, end) in enumerate(windows):
        for place in range(max(begin, 0), min(end, size)):
            holders[place].append(index)
    zero = node.constant(0, x.dtype)
    total: Expr | None = None
    for turn in range(max(map(len, holders), default=0)):
        indices = [held[turn] if turn < len(held) else 0 for held in holders]
        is_held = np.array([turn < len(held) for held in holders])
        part = op.take(x, const(np.array(indices, np.int64)), axis)
        if not is_held.all():
            shape = [1] * len(x.shape)
            shape[axis] = size
            part = op.where(const(is_held.reshape(shape)), part, zero)
        total = part if total is None else op.add(total, part)
    if total is None:
        return op.zeros([*x.shape[:axis], size, *x.shape[axis + 1 :]], x.dtype)
    return total


def _spread_images(node: Node, x: Expr, shares: Expr, windows: Sequence[Windows]) -> Expr:
    """The gradient of a mean over windows of the last two axes, of gradients `x`."""
    rank, sizes = len(node.dims), [dim.value for dim in node.dims[-2:]]
    x = op.multiply(x, shares)
    for axis, size, held in zip((rank - 2, rank - 1), sizes, windows, strict=True):
        if size is None:
            raise node.error("the spatial dimensions must be known numbers")
        x = _spread(node, node.emit(x), axis, size, held)
    return x


@converts("avg_pool2d_backward")
def _avg_pool_backward(node: Node) -> Value:
    grad = node.expr("grad_output")
    kernel, strides, pads = window_of(node, 2)
    counts_pads = node.flag("count_include_pad")
    sizes, counts = node.sizes(node.expr())[-2:], node.sizes(grad)[-2:]
    windows: list[Windows] = []
    extents: list[list[int]] = []
    for axis, size in enumerate(sizes):
        begins = [step * strides[axis] - pads[axis] for step in range(counts[axis])]
        # A window that begins in the padding may end beyond it, where it counts no more.
        held = [(b, min(b + kernel[axis], size + pads[axis])) for b in begins]
        windows.append(held)
        inside = [(max(b, 0), min(e, size)) for b, e in held]
        extents.append([e - b for b, e in (held if counts_pads else inside)])
    volumes = np.outer(*(np.array(each, float) for each in extents))
    if node.has("divisor_override"):
        volumes = np.full_like(volumes, node.integer("divisor_override"))
    shares = const((1 / volumes).astype(_precise(grad.dtype)))
    return _spread_images(node, grad, op.astype(shares, grad.dtype), windows)


@converts("_adaptive_avg_pool2d_backward")
def _adaptive_avg_pool_backward(node: Node) -> Value:
    grad = node.expr("grad_output")
    sizes, counts = node.sizes(node.expr())[-2:], node.sizes(grad)[-2:]
    windows = [
        [(i * size // count, -(-(i + 1) * size // count)) for i in range(count)]
        for size, count in zip(sizes, counts, strict=True)
    ]
    volumes = np.outer(*(np.array([e - b for b, e in held], float) for held in windows))
    shares = const((1 / volumes).astype(_precise(grad.dtype)))
    return _spread_images(node, grad, op.astype(shares, grad.dtype), windows)


def _precise(dtype: str) -> str:
    """A dtype of numpy that constants are computed in."""
    return "float64" if dtype == "float64" else "float32"


@converts("convolution_backward")
def _convolution_backward(node: Node) -> Results:
    """The gradients of the data, of the kernel and of the bias."""
    grad, x = node.expr("grad_output"), node.expr("input")
    weight = node.expr("weight")
    count = len(weight.shape) - 2
    if not 1 <= count <= 3:
        raise node.error(f"convolutions of {count} spatial axes are not converted")
    strides, pads, dilations = (
        node.spatial(name, count) for name in ("stride", "padding", "dilation")
    )
    groups = node.integer("groups")
    is_transposed = node.flag("transposed")
    of_data, of_weight, of_bias = node.items("output_mask")
    results: list[Expr | None] = [None, None, None]
    if of_data and is_transposed:
        results[0] = convolved(grad, weight, strides, pads, dilations, groups)
    elif of_data:
        extents = zip(node.sizes(x)[2:], node.sizes(grad)[2:], strict=True)
        # Of sizes that strides divide with a rest, the transposed one makes the least.
        extra = [
            size - (steps - 1) * strides[i] + 2 * pads[i] - dilations[i] * (width - 1) - 1
            for i, ((size, steps), width) in enumerate(
                zip(extents, node.sizes(weight)[2:], strict=True)
            )
        ]
        results[0] = transposed(
            node, grad, weight, strides, pads, dilations, extra, groups
        )
    if of_weight:
        # A transposed convolution is the gradient of a plain one: the roles are swapped.
        data, outer = (grad, x) if is_transposed else (x, grad)
        results[1] = _of_weight(node, data, outer, strides, pads, dilations, groups)
    if of_bias:
        results[2] = op.sum(grad, [0, *range(2, 2 + count)])
    return results


def _of_weight(
    node: Node,
    x: Expr,
    grad: Expr,
    strides: Sequence[int],
    pads: Sequence[int],
    dilations: Sequence[int],
    groups: int,
) -> Expr:
    """The gradient of the kernel: the data convolved with the gradient of the result.

    Batches are summed over as features are, so that both change places, and strides and
    dilations, too.
    """
    kernel = node.sizes(node.expr("weight"))[2:]
    count = len(kernel)
    batch, channels, *sizes = x.shape
    spatial = list(range(count))
    inner, outer = channels // groups, grad.shape[1]
    x = op.reshape(x, [batch, groups, inner, *sizes])
    x = op.permute_dims(x, [2, 1, 0, *(axis + 3 for axis in spatial)])
    x = op.reshape(x, [inner, batch * groups, *sizes])
    swap = [1, 0, *(axis + 2 for axis in spatial)]
    grad = op.permute_dims(grad, swap)
    found = convolved(x, grad, dilations, pads, strides, groups)
    # Rows of the data that no step of the kernel has read make places after the last.
    cuts = [0] * (2 * count + 4)
    for axis, (size, width) in enumerate(zip(found.shape[2:], kernel, strict=True)):
        assert size.value is not None
        cuts[2 * axis + 5] = width - size.value
    found = op.permute_dims(padded(found, cuts, 0.0), swap)
    return op.reshape(found, [outer, inner, *kernel])
