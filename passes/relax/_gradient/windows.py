"""Gradients of convolutions and pooling, whose results are made of windows.

The derivative by the data is a transposed convolution. Pooling is written as one, over
images of a channel each: by it every window gives back what it got.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from xdsl.dialects.builtin import AnyFloat, FloatAttr
from xdsl.ir import SSAValue

from xdsl_tvm.dialects import relax
from xdsl_tvm.dialects.relax.pooling import PoolOp
from xdsl_tvm.dialects.relax.symbolic import Dim
from xdsl_tvm.passes.relax._gradient.builder import (
    Adjoint,
    GradientBuilder,
    rule,
    unsupported,
)


@dataclass
class _Windows:
    """The windows over height and width."""

    sizes: Sequence[int]
    strides: Sequence[int]
    dilation: Sequence[int]
    padding: list[int]
    """At the begin of both, then at their ends, as far as windows reach."""
    rest: list[int]
    """The elements at the ends that no window reaches."""

    @staticmethod
    def of(
        b: GradientBuilder,
        op: relax.Conv2DOp | PoolOp,
        sizes: Sequence[int],
    ) -> _Windows:
        """Those of an operator, whose height and width must be numbers."""
        strides, dilation = op.window_strides, op.window_dilation
        begins, ends = zip(*op.window_padding, strict=True)
        padding, rest = [*begins, *ends], list[int]()
        for axis in range(2):
            extent = b.extent(op.data, 2 + axis, op)
            count = b.extent(op.result, 2 + axis, op)
            reach = (count - 1) * strides[axis] + dilation[axis] * (sizes[axis] - 1) + 1
            left = extent + begins[axis] + ends[axis] - reach
            # With ceil_mode windows reach over the end.
            padding[2 + axis] -= min(left, 0)
            rest.append(max(left, 0))
        return _Windows(sizes, strides, dilation, padding, rest)

    def back(
        self, b: GradientBuilder, g: SSAValue, weight: SSAValue, groups: int = 1
    ) -> SSAValue:
        """What the elements get of the windows that they are in."""
        return b.insert(
            relax.Conv2DTransposeOp(
                g, weight, self.strides, self.padding, self.rest, self.dilation, groups
            )
        )

    def forth(self, b: GradientBuilder, data: SSAValue, weight: SSAValue) -> SSAValue:
        """The sums of the windows, weighted."""
        return b.insert(
            relax.Conv2DOp(data, weight, self.strides, self.padding, self.dilation)
        )


@rule(relax.Conv2DOp)
def conv2d(b: GradientBuilder, op: relax.Conv2DOp, g: SSAValue) -> Sequence[Adjoint]:
    layouts = {op.data_layout.data}
    if op.out_layout is not None:
        layouts.add(op.out_layout.data)
    if layouts != {"NCHW"} or op.kernel_layout.data != "OIHW":
        unsupported(op, "only the layouts NCHW and OIHW have a gradient; convert them")
    if op.out_dtype is not None and op.out_dtype != b.dtype(op.data):
        unsupported(op, "an out_dtype other than that of the operands has no gradient")
    windows = _Windows.of(b, op, [b.extent(op.weight, axis, op) for axis in (2, 3)])
    data = windows.back(b, g, op.weight, op.groups.value.data)
    return [data, _by_weight(b, op, windows, g)]


def _by_weight(
    b: GradientBuilder, op: relax.Conv2DOp, windows: _Windows, g: SSAValue
) -> SSAValue:
    """A convolution of the data by what its result gets, with batch as channels."""
    groups = op.groups.value.data
    images, _, *extents = b.dims(op.data)
    outputs, inputs, *sizes = b.dims(op.weight)
    if groups == 1:
        data = b.permute(op.data, [1, 0, 2, 3])
        kernel = b.permute(g, [1, 0, 2, 3])
    else:
        counts = b.dims(g)[2:]
        parts = b.reshape(op.data, [images, groups, inputs, *extents])
        parts = b.permute(parts, [2, 1, 0, 3, 4])
        data = b.reshape(parts, [inputs, images * groups, *extents])
        kernel = b.permute(g, [1, 0, 2, 3])
        kernel = b.reshape(kernel, [outputs, images, *counts])
    found = b.insert(
        relax.Conv2DOp(
            data, kernel, windows.dilation, windows.padding, windows.strides, groups
        )
    )
    for axis, size in enumerate(sizes, start=2):
        # Elements that no window reaches make it larger.
        number = size.value
        assert number is not None, "checked"
        if b.extent(found, axis, op) > number:
            parts = b.insert(relax.SplitOp(found, [number], axis))
            found = b.insert(relax.GetItemOp(parts, 0))
    return b.permute(found, [1, 0, 2, 3])


def _pooling(b: GradientBuilder, op: PoolOp) -> tuple[_Windows, list[Dim], list[Dim]]:
    """The windows; the shapes of data and result as images of one channel."""
    layouts = {op.layout.data}
    if op.out_layout is not None:
        layouts.add(op.out_layout.data)
    if layouts != {"NCHW"}:
        unsupported(op, "only the layout NCHW has a gradient; convert it")
    windows = _Windows.of(b, op, op.window_size)
    images, channels, *extents = b.dims(op.data)
    batch, one = images * channels, Dim.constant(1)
    counts = b.dims(op.result)[2:]
    return windows, [batch, one, *extents], [batch, one, *counts]


@rule(relax.AvgPool2DOp)
def avg_pool2d(
    b: GradientBuilder, op: relax.AvgPool2DOp, g: SSAValue
) -> Sequence[Adjoint]:
    """Every element gets its share of each mean that it is in."""
    windows, data, result = _pooling(b, op)
    one = [Dim.constant(1)] * 2
    ones = b.insert(relax.OnesOp(b.shape([*one, *data[2:]]), b.dtype(g)))
    weight = b.array(np.ones((1, 1, *windows.sizes)), g)
    pool = relax.AvgPool2DOp(
        ones,
        op.window_size,
        op.window_strides,
        [
            *(begin for begin, _ in op.window_padding),
            *(end for _, end in op.window_padding),
        ],
        op.window_dilation,
        op.ceil_mode is not None,
        op.count_include_pad is not None,
    )
    means = b.insert(pool)
    valid = windows.forth(b, ones, weight)
    # A window in the padding alone has no elements, and a mean of 0.
    count = b.insert(relax.MaximumOp(valid, b.number(1.0, g)))
    shares = b.multiply(b.reshape(g, result), b.divide(means, count))
    return [b.reshape(windows.back(b, shares, weight), b.dims(op.data))]


@rule(relax.MaxPool2DOp)
def max_pool2d(
    b: GradientBuilder, op: relax.MaxPool2DOp, g: SSAValue
) -> Sequence[Adjoint]:
    """The first of the greatest elements of a window gets all."""
    windows, data, result = _pooling(b, op)
    dtype = b.dtype(g)
    if not isinstance(dtype, AnyFloat):
        unsupported(op, f"data must hold floats, not {dtype}")
    size = windows.sizes[0] * windows.sizes[1]
    weight = b.array(np.eye(size).reshape(size, 1, *windows.sizes), g)
    elements = windows.forth(b, b.reshape(op.data, data), weight)
    one = [Dim.constant(1)] * 2
    ones = b.insert(relax.OnesOp(b.shape([*one, *data[2:]]), dtype))
    inside = windows.forth(b, ones, weight)
    lowest = b.number(-np.inf, g)
    half = b.number(0.5, g)
    elements = b.where_less(half, inside, elements, lowest)
    first = b.insert(relax.ArgmaxOp(elements, 1))
    on, off = (b.insert(relax.PrimValueOp(FloatAttr(each, dtype))) for each in (1.0, 0.0))
    chosen = b.insert(relax.OneHotOp(first, on, off, size, 1))
    shares = b.multiply(chosen, b.reshape(g, result))
    return [b.reshape(windows.back(b, shares, weight), b.dims(op.data))]
