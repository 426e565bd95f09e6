"""Images of other sizes, and elements around images."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from xdsl_tvm import relax
from xdsl_tvm.frontend.torch.node import Node, Value, converts
from xdsl_tvm.frontend.torch.operators.convolution import padded
from xdsl_tvm.relax import op


@converts("constant_pad_nd")
def _constant_pad(node: Node) -> Value:
    x, widths = node.expr(), _widths(node, "pad")
    if "float" in x.dtype:
        return padded(x, widths, node.number("value"))
    # The value is a float of Relax: integers are moved by it.
    value = node.integer("value") if x.dtype != "bool" else int(node.flag("value"))
    if not value:
        return padded(x, widths, 0.0)
    inside = padded(op.ones(list(x.shape), "bool"), widths, 0.0)
    return op.where(inside, padded(x, widths, 0.0), node.constant(value, x.dtype))


def _widths(node: Node, name: str) -> list[int]:
    """The elements before and after each axis; torch names the last axis first."""
    given, rank = node.integers(name), len(node.expr().shape)
    result = [0] * (2 * rank)
    for index in range(len(given) // 2):
        axis = rank - 1 - index
        result[2 * axis : 2 * axis + 2] = given[2 * index : 2 * index + 2]
    return result


@converts(
    "reflection_pad1d",
    "reflection_pad2d",
    "reflection_pad3d",
    "replication_pad1d",
    "replication_pad2d",
    "replication_pad3d",
)
def _mirror_pad(node: Node) -> Value:
    x, widths = node.expr(), _widths(node, "padding")
    for axis, dim in enumerate(x.shape):
        before, after = widths[2 * axis : 2 * axis + 2]
        if not before and not after:
            continue
        if (size := dim.value) is None:
            raise node.error("the padded dimensions must be known numbers")
        places = node.places(before + size + after) - before
        if "reflection" in node.target:
            places = np.abs(places)
            places = np.where(places >= size, 2 * (size - 1) - places, places)
        else:
            places = np.clip(places, 0, size - 1)
        x = op.take(x, relax.const(places), axis)
    return x


# ---- resizing ----


@converts(
    "upsample_nearest2d.vec",
    "upsample_bilinear2d.vec",
    "upsample_bicubic2d.vec",
    "upsample_nearest2d.default",
)
def _upsample(node: Node) -> Value:
    x = node.expr("input" if "input" in node.arguments else "self")
    sizes = node.sizes(x)[2:]
    wanted = [dim.value for dim in node.dims[2:]]
    if None in wanted:
        raise node.error("the new size must be known numbers")
    for size, new, scale in zip(sizes, wanted, _scales(node), strict=False):
        if scale is not None and new is not None and not math.isclose(size * scale, new):
            raise node.error(
                f"a scale of {scale} makes no whole size of {size}; give the size, or "
                "recompute_scale_factor=True"
            )
    if "nearest" in node.target:
        return op.image.resize2d(
            x, wanted, (0.0,) * 4, "NCHW", "nearest_neighbor", "asymmetric", "floor"
        )
    mode = "align_corners" if node.flag("align_corners") else "half_pixel"
    if "bilinear" in node.target:
        return op.image.resize2d(x, wanted, (0.0,) * 4, "NCHW", "linear", mode, "")
    return op.image.resize2d(x, wanted, (0.0,) * 4, "NCHW", "cubic", mode, "", -0.75)


def _scales(node: Node) -> Sequence[float | None]:
    """The factors of the two axes, where the call says them."""
    if node.has("scale_factors"):
        given = node.items("scale_factors")
    else:
        given = [node.arguments.get(name) for name in ("scales_h", "scales_w")]
    return [float(each) if isinstance(each, int | float) else None for each in given]


@converts("pixel_shuffle")
def _pixel_shuffle(node: Node) -> Value:
    """Channels as places of larger images."""
    x, factor = node.expr(), node.integer("upscale_factor")
    *batch, channels, height, width = x.shape
    rank = len(batch)
    outer = channels // (factor * factor)
    parts = op.reshape(x, [*batch, outer, factor, factor, height, width])
    order = [*range(rank), *(rank + each for each in (0, 3, 1, 4, 2))]
    return op.reshape(op.permute_dims(parts, order), node.dims)


@converts("col2im")
def _col2im(node: Node) -> Value:
    """Blocks of images added up where they were."""
    x = node.expr()
    image, kernel, dilations, pads, strides = (
        node.spatial(name, 2)
        for name in ("output_size", "kernel_size", "dilation", "padding", "stride")
    )
    shape = node.sizes(x)
    length, volume = shape[-1], kernel[0] * kernel[1]
    batch, channels = math.prod(shape[:-2]), shape[-2] // volume
    wide = [size + 2 * pad for size, pad in zip(image, pads, strict=True)]
    steps = [
        (wide[i] - dilations[i] * (kernel[i] - 1) - 1) // strides[i] + 1 for i in (0, 1)
    ]
    node.places(volume * length)
    rows, columns = (
        np.arange(kernel[i])[:, None] * dilations[i] + np.arange(steps[i]) * strides[i]
        for i in (0, 1)
    )
    places = rows[:, None, :, None] * wide[1] + columns[None, :, None, :]
    flat = np.ascontiguousarray(places.reshape(-1, 1))
    data = op.reshape(x, [batch * channels, volume * length])
    updates = op.permute_dims(data, [1, 0])
    zeros = op.zeros([wide[0] * wide[1], batch * channels], x.dtype)
    added = op.scatter_nd(zeros, relax.const(flat), updates, "add")
    images = op.reshape(
        op.permute_dims(added, [1, 0]), [*shape[:-2], channels, wide[0], wide[1]]
    )
    axes = [len(shape) - 1, len(shape)]
    ends = [pad + size for pad, size in zip(pads, image, strict=True)]
    return op.strided_slice(images, axes, pads, ends)
