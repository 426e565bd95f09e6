"""Convolutions, of any number of spatial axes that Relax has."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl_tvm.frontend.onnx.node import Node, converts
from xdsl_tvm.frontend.onnx.values import Value
from xdsl_tvm.relax import op
from xdsl_tvm.relax.expr import Expr

_COUNTS = range(1, 4)
"""Numbers of spatial axes that Relax has convolutions of."""


def spatial_pads(
    node: Node,
    sizes: Sequence[int | None],
    kernel: Sequence[int],
    strides: Sequence[int],
    dilations: Sequence[int],
) -> list[int]:
    """The padding before all spatial axes, then after them, as `auto_pad` says."""
    count = len(kernel)
    mode = node.str_of("auto_pad", "NOTSET")
    if mode == "NOTSET":
        pads = node.ints_of("pads", [0] * 2 * count)
        if len(pads) != 2 * count:
            raise node.error(f"pads must have {2 * count} elements, not {len(pads)}")
        return pads
    if mode == "VALID":
        return [0] * 2 * count
    if mode not in ("SAME_UPPER", "SAME_LOWER"):
        raise node.error(f"auto_pad {mode} is not converted")
    before: list[int] = []
    after: list[int] = []
    for size, extent, stride, dilation in zip(
        sizes, kernel, strides, dilations, strict=True
    ):
        if size is None:
            raise node.error(
                f"auto_pad {mode} needs numbers as spatial dimensions; give the model's "
                "inputs their shapes with shape_dict"
            )
        reach = (extent - 1) * dilation + 1
        total = max((-(-size // stride) - 1) * stride + reach - size, 0)
        small, large = total // 2, total - total // 2
        before.append(small if mode == "SAME_UPPER" else large)
        after.append(large if mode == "SAME_UPPER" else small)
    return [*before, *after]


def spatial(node: Node, index: int = 0) -> list[int | None]:
    """The spatial dimensions of an input."""
    return [dim.value for dim in node.shape(index)[2:]]


def positive(node: Node, name: str, count: int) -> list[int]:
    """An attribute of one positive integer for each spatial axis."""
    values = node.ints_of(name, [1] * count)
    if len(values) != count or any(value < 1 for value in values):
        raise node.error(f"{name} must be {count} positive integers, not {values}")
    return values


@converts("Conv")
def _conv(node: Node) -> Value:
    return convolved(node, node.expr(0), node.expr(1), node.optional(2))


def convolved(
    node: Node,
    data: Expr,
    weight: Expr,
    bias: Expr | None,
    weight_index: int = 1,
    *,
    padding: float = 0,
    out_dtype: str | None = None,
) -> Expr:
    """The convolution of a node, of data and weights made of its inputs.

    What is around the data is `padding`. Sums are in `out_dtype`, by default the dtype of
    the operands.
    """
    count = node.rank() - 2
    if count not in _COUNTS:
        raise node.error(f"convolutions of {count} spatial axes are not converted")
    kernel = list(node.sizes(weight_index)[2:])
    strides, dilations = (
        positive(node, name, count) for name in ("strides", "dilations")
    )
    pads = spatial_pads(node, spatial(node), kernel, strides, dilations)
    function = (op.nn.conv1d, op.nn.conv2d, op.nn.conv3d)[count - 1]
    groups = node.int_of("group", 1)
    if padding and any(pads):
        around = [0] * 4 + [
            width
            for pair in zip(pads[:count], pads[count:], strict=True)
            for width in pair
        ]
        data = op.nn.pad(data, around, pad_value=padding)
        pads = [0] * len(pads)
    result = function(data, weight, strides, pads, dilations, groups, out_dtype=out_dtype)
    return result if bias is None else _with_bias(result, bias, count)


def _with_bias(result: Expr, bias: Expr, count: int) -> Expr:
    return op.add(result, op.expand_dims(bias, list(range(1, count + 1))))


@converts("ConvTranspose")
def _conv_transpose(node: Node) -> Value:
    """As its definition: zeros between the elements, then a convolution with the kernel
    turned around, since Relax has transposed convolutions of two axes at most."""
    count = node.rank() - 2
    if count not in _COUNTS:
        raise node.error(f"convolutions of {count} spatial axes are not converted")
    kernel = list(node.sizes(1)[2:])
    strides, dilations = (
        positive(node, name, count) for name in ("strides", "dilations")
    )
    extra = node.ints_of("output_padding", [0] * count)
    pads = _transposed_pads(node, kernel, strides, dilations, extra)
    data, weight, groups = node.expr(0), node.expr(1), node.int_of("group", 1)
    shape = list(node.shape(1))
    if groups > 1:
        # From [I, O / groups] to [groups, I / groups, O / groups].
        weight = op.reshape(weight, [groups, shape[0] // groups, *shape[1:]])
        spatial_axes = list(range(3, 3 + count))
        weight = op.permute_dims(weight, [0, 2, 1, *spatial_axes])
        weight = op.reshape(weight, [shape[1] * groups, shape[0] // groups, *shape[2:]])
    else:
        weight = op.permute_dims(weight, [1, 0, *range(2, 2 + count)])
    for axis in range(2, 2 + count):
        weight = op.flip(weight, axis)
    data = _with_zeros_between(node, data, strides)
    crops: list[tuple[int, int, int]] = []
    widths: list[tuple[int, int]] = []
    for index in range(count):
        reach = (kernel[index] - 1) * dilations[index]
        low = reach - pads[index]
        high = reach - pads[index + count] + extra[index]
        widths.append((max(low, 0), max(high, 0)))
        if low < 0 or high < 0:
            crops.append((2 + index, max(-low, 0), max(-high, 0)))
    if crops:
        shape_now = data.shape
        data = op.strided_slice(
            data,
            [axis for axis, _, _ in crops],
            [low for _, low, _ in crops],
            [shape_now[axis] - high for axis, _, high in crops],
        )
    around = [low for low, _ in widths] + [high for _, high in widths]
    function = (op.nn.conv1d, op.nn.conv2d, op.nn.conv3d)[count - 1]
    result = function(data, weight, [1] * count, around, dilations, groups)
    bias = node.optional(2)
    return result if bias is None else _with_bias(result, bias, count)


def _transposed_pads(
    node: Node,
    kernel: Sequence[int],
    strides: Sequence[int],
    dilations: Sequence[int],
    extra: Sequence[int],
) -> list[int]:
    count = len(kernel)
    mode = node.str_of("auto_pad", "NOTSET")
    sizes = node.ints_of("output_shape", [])
    if not sizes and mode in ("NOTSET", "VALID"):
        return node.ints_of("pads", [0] * 2 * count)
    extents = node.sizes()[2:]
    sizes = sizes[-count:] or [e * s for e, s in zip(extents, strides, strict=True)]
    before: list[int] = []
    after: list[int] = []
    for index in range(count):
        reach = (kernel[index] - 1) * dilations[index] + 1
        whole = strides[index] * (extents[index] - 1) + extra[index] + reach
        total = whole - sizes[index]
        small, large = total // 2, total - total // 2
        before.append(small if mode == "SAME_UPPER" else large)
        after.append(large if mode == "SAME_UPPER" else small)
    return [*before, *after]


def _with_zeros_between(node: Node, data: Expr, strides: Sequence[int]) -> Expr:
    """The data with stride - 1 zeros between neighbours, along each spatial axis."""
    for axis, stride in enumerate(strides, 2):
        if stride == 1:
            continue
        shape = list(data.shape)
        wide = op.expand_dims(data, [axis + 1])
        zeros = op.zeros([*shape[: axis + 1], stride - 1, *shape[axis + 1 :]], data.dtype)
        joined = op.concat([wide, zeros], axis + 1)
        whole = list(shape)
        whole[axis] = shape[axis] * stride
        flat = op.reshape(joined, whole)
        data = node.emit(
            op.strided_slice(flat, [axis], [0], [whole[axis] - (stride - 1)])
        )
    return data
