"""Convolutions, plain and transposed, of one to three spatial axes."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl_tvm.frontend.torch.node import Node, Value, converts
from xdsl_tvm.relax import op
from xdsl_tvm.relax.expr import Expr


@converts("convolution", "_convolution")
def _convolution(node: Node) -> Value:
    x, weight, bias = node.expr("input"), node.expr("weight"), node.optional("bias")
    count = len(weight.shape) - 2
    if not 1 <= count <= 3:
        raise node.error(f"convolutions of {count} spatial axes are not converted")
    strides, pads, dilations, extra = (
        node.spatial(name, count)
        for name in ("stride", "padding", "dilation", "output_padding")
    )
    groups = node.integer("groups")
    if node.flag("transposed"):
        result = transposed(node, x, weight, strides, pads, dilations, extra, groups)
    else:
        result = convolved(x, weight, strides, pads, dilations, groups)
    if bias is None:
        return result
    return op.add(result, op.reshape(bias, [1, bias.shape[0], *[1] * count]))


def convolved(
    x: Expr,
    weight: Expr,
    strides: Sequence[int],
    pads: Sequence[int],
    dilations: Sequence[int],
    groups: int,
) -> Expr:
    """A convolution of one to three spatial axes."""
    function = (op.nn.conv1d, op.nn.conv2d, op.nn.conv3d)[len(strides) - 1]
    return function(x, weight, strides, [*pads, *pads], dilations, groups)


def transposed(
    node: Node,
    x: Expr,
    weight: Expr,
    strides: Sequence[int],
    pads: Sequence[int],
    dilations: Sequence[int],
    extra: Sequence[int],
    groups: int,
) -> Expr:
    """A transposed convolution of one to three spatial axes.

    `extra` is how much longer each axis of the result is than the least.
    """
    if len(strides) == 3:
        return _transposed(node, x, weight, strides, pads, dilations, extra, groups)
    function = (op.nn.conv1d_transpose, op.nn.conv2d_transpose)[len(strides) - 1]
    return function(x, weight, strides, [*pads, *pads], extra, dilations, groups)


def _transposed(
    node: Node,
    x: Expr,
    weight: Expr,
    strides: Sequence[int],
    pads: Sequence[int],
    dilations: Sequence[int],
    extra: Sequence[int],
    groups: int,
) -> Expr:
    """As its definition, since Relax has transposed convolutions of two axes at most.

    The elements with zeros between them are convolved with the kernel turned around.
    """
    inner, outer, *kernel = node.sizes(weight)
    weight = op.reshape(weight, [groups, inner // groups, outer, *kernel])
    weight = op.permute_dims(weight, [0, 2, 1, 3, 4, 5])
    weight = op.reshape(weight, [groups * outer, inner // groups, *kernel])
    widths = [0] * 10
    for index, axis in enumerate(range(2, 5)):
        weight = op.flip(weight, axis)
        x = node.emit(_spread(x, axis, strides[index]))
        reach = (kernel[index] - 1) * dilations[index] - pads[index]
        widths[2 * axis : 2 * axis + 2] = [reach, reach + extra[index]]
    x = padded(x, widths, 0.0)
    return op.nn.conv3d(x, weight, 1, 0, dilations, groups)


def _spread(x: Expr, axis: int, stride: int) -> Expr:
    """The elements with stride - 1 zeros between neighbours along an axis."""
    if stride == 1:
        return x
    shape = list(x.shape)
    rows = op.expand_dims(x, [axis + 1])
    widths = [0] * (2 * len(shape) + 2)
    widths[2 * axis + 3] = stride - 1
    wide = [*shape[:axis], shape[axis] * stride, *shape[axis + 1 :]]
    joined = op.reshape(op.nn.pad(rows, widths), wide)
    return op.strided_slice(joined, [axis], [0], [wide[axis] - (stride - 1)])


def padded(x: Expr, widths: Sequence[int], value: float) -> Expr:
    """The elements with others around them; a negative width cuts elements off.

    `widths` are those before and after each axis.
    """
    axes = [axis for axis in range(len(x.shape)) if min(widths[2 * axis :][:2]) < 0]
    if axes:
        starts = [max(-widths[2 * axis], 0) for axis in axes]
        ends = [x.shape[axis] - max(-widths[2 * axis + 1], 0) for axis in axes]
        x = op.strided_slice(x, axes, starts, ends)
    wide = [max(width, 0) for width in widths]
    return op.nn.pad(x, wide, "constant", value) if any(wide) else x
