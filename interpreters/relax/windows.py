"""Evaluation of convolutions and poolings (docs/spec/relax-ops.md §11)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from math import prod
from typing import Any

import numpy as np
from xdsl.dialects.builtin import StringAttr

from xdsl_tvm.dialects import relax
from xdsl_tvm.dialects.relax.convolution import ConvolutionOp, ConvolutionTransposeOp
from xdsl_tvm.dialects.relax.layout import Layout
from xdsl_tvm.dialects.relax.pooling import AdaptiveAvgPoolOp, PoolOp
from xdsl_tvm.dialects.relax.window import SPATIAL
from xdsl_tvm.interpreters.data.numbers import number
from xdsl_tvm.interpreters.relax.numbers import (
    Evaluation,
    cast_array,
    dtype_of,
    integers,
    is_float_array,
    rounded,
    truncated_divide,
    wide,
)
from xdsl_tvm.interpreters.relax.values import Array

Padding = Sequence[tuple[int, int]]


def to_plain(array: Array, layout: Layout, letters: str) -> Array:
    """A tensor with its dimensions in the order of the letters, blocks joined."""
    places = {name: place for place, (name, _) in enumerate(layout.axes)}
    order: list[int] = []
    shape: list[int] = []
    for letter in letters:
        parts = [places[name] for name in (letter, letter.lower()) if name in places]
        order += parts
        shape.append(prod(array.shape[part] for part in parts))
    return array.transpose(order).reshape(shape)


def from_plain(array: Array, layout: Layout, letters: str) -> Array:
    """The other way round; a block that is not full is filled up with zeros."""
    blocks = {name.upper(): size for name, size in layout.axes if size}
    fill = [(0, -n % blocks.get(x, 1)) for x, n in zip(letters, array.shape, strict=True)]
    array = np.pad(array, fill)
    names: list[str] = []
    shape: list[int] = []
    for letter, extent in zip(letters, array.shape, strict=True):
        names.append(letter)
        shape.append(extent // blocks.get(letter, 1))
        if letter in blocks:
            names.append(letter.lower())
            shape.append(blocks[letter])
    return array.reshape(shape).transpose([names.index(name) for name, _ in layout.axes])


def _layouts(
    op: str, layout: StringAttr, out_layout: StringAttr | None, letters: str
) -> tuple[Layout, Layout]:
    given = Layout.parse(op, layout.data, letters)
    if out_layout is None:
        return given, given
    return given, Layout.parse(op, out_layout.data, letters)


def _windows(
    array: Array,
    sizes: Sequence[int],
    strides: Sequence[int],
    dilation: Sequence[int],
    counts: Sequence[int],
) -> Iterator[tuple[tuple[int, ...], Array]]:
    """For each place in a window its element of all windows, as spatial dimensions."""
    for place in product(*map(range, sizes)):
        bounds = zip(place, strides, dilation, counts, strict=True)
        slices = [
            slice(at * step, at * step + max(0, count - 1) * stride + (count > 0), stride)
            for at, stride, step, count in bounds
        ]
        yield place, array[(slice(None), slice(None), *slices)]


def _counts(
    extents: Sequence[int],
    sizes: Sequence[int],
    strides: Sequence[int],
    dilation: Sequence[int],
    ceil_mode: bool = False,
) -> list[int]:
    """How many windows fit each padded extent."""
    return [
        max(0, (n - (k - 1) * d - 1 + (s - 1 if ceil_mode else 0)) // s + 1)
        for n, k, s, d in zip(extents, sizes, strides, dilation, strict=True)
    ]


def _pad(array: Array, padding: Padding, value: Any = 0) -> Array:
    return np.pad(array, [(0, 0), (0, 0), *padding], constant_values=value)


def _products(windows: Array, weight: Array) -> Array:
    """Sums over channels: windows [n, c, …] and weight [o, c] make [n, o, …]."""
    return np.moveaxis(np.tensordot(weight, windows, (1, 1)), 0, 1)


def _convolve(op: ConvolutionOp, data: Array, weight: Array) -> Array:
    strides, dilation = op.window_strides, op.window_dilation
    data = _pad(data, op.window_padding)
    sizes = weight.shape[2:]
    counts = _counts(data.shape[2:], sizes, strides, dilation)
    parts: list[Array] = []
    groups = op.groups.value.data
    for x, w in zip(np.split(data, groups, 1), np.split(weight, groups, 0), strict=True):
        part = np.zeros((x.shape[0], w.shape[0], *counts), data.dtype)
        for place, found in _windows(x, sizes, strides, dilation, counts):
            part += _products(found, w[(slice(None), slice(None), *place)])
        parts.append(part)
    return np.concatenate(parts, 1)


def _spread(op: ConvolutionTransposeOp, data: Array, weight: Array) -> Array:
    strides, dilation = op.window_strides, op.window_dilation
    sizes, counts = weight.shape[2:], data.shape[2:]
    extents = [
        (n - 1) * s + (k - 1) * d + 1 + more
        for n, k, s, d, more in zip(
            counts, sizes, strides, dilation, op.window_output_padding, strict=True
        )
    ]
    parts: list[Array] = []
    groups = op.groups.value.data
    for x, w in zip(np.split(data, groups, 1), np.split(weight, groups, 0), strict=True):
        part = np.zeros((x.shape[0], w.shape[1], *extents), data.dtype)
        for place, found in _windows(part, sizes, strides, dilation, counts):
            found += _products(x, w[(slice(None), slice(None), *place)].T)
        parts.append(part)
    inside = [
        slice(before, extent - behind)
        for (before, behind), extent in zip(op.window_padding, extents, strict=True)
    ]
    return np.concatenate(parts, 1)[(slice(None), slice(None), *inside)]


def _convolution(
    op: ConvolutionOp | ConvolutionTransposeOp, data: Array, weight: Array
) -> Array:
    dtype = op.out_dtype or dtype_of(op.data, data)
    letters = SPATIAL[op.SPATIAL_RANK]
    plain, out = _layouts(op.name, op.data_layout, op.out_layout, "NC" + letters)
    kernel = Layout.parse(op.name, op.kernel_layout.data, op.KERNEL + letters)
    x = to_plain(wide(cast_array(data, dtype)), plain, "NC" + letters)
    w = to_plain(wide(cast_array(weight, dtype)), kernel, op.KERNEL + letters)
    found = _convolve(op, x, w) if isinstance(op, ConvolutionOp) else _spread(op, x, w)
    return rounded(from_plain(found, out, "NC" + letters), dtype)


def _pool(op: PoolOp, data: Array, greatest: bool) -> Array:
    dtype = dtype_of(op.data, data)
    letters = "NC" + SPATIAL[op.SPATIAL_RANK]
    plain, out = _layouts(op.name, op.layout, op.out_layout, letters)
    x = to_plain(wide(data), plain, letters)
    lowest = -np.inf if number(dtype).is_float else number(dtype).low
    over = _Pooling(op, x)
    found = over.reduce(np.maximum, x, lowest, lowest) if greatest else over.mean(x)
    return rounded(from_plain(found, out, letters), dtype)


class _Pooling:
    """The windows of a pooling on data in plain layout."""

    def __init__(self, op: PoolOp, data: Array) -> None:
        self._sizes, self._strides = op.window_size, op.window_strides
        self._dilation, self._padding = op.window_dilation, op.window_padding
        self._includes_padding = op.count_include_pad is not None
        extents = [
            n + sum(pad) for n, pad in zip(data.shape[2:], self._padding, strict=True)
        ]
        windows = (self._sizes, self._strides, self._dilation)
        self._counts = _counts(extents, *windows, op.ceil_mode is not None)
        # Windows may reach past the padding when their number is rounded up.
        self._more = [
            (0, max(0, (count - 1) * s + (k - 1) * d + 1 - n))
            for count, k, s, d, n in zip(self._counts, *windows, extents, strict=True)
        ]

    def reduce(self, combine: Any, data: Array, inside: Any, beyond: Any) -> Array:
        """Combine the elements of each window, with `inside` for the padding."""
        padded = _pad(_pad(data, self._padding, inside), self._more, beyond)
        windows = _windows(
            padded, self._sizes, self._strides, self._dilation, self._counts
        )
        _, found = next(windows)
        found = found.copy()
        for _, other in windows:
            found = combine(found, other)
        return found

    def mean(self, data: Array) -> Array:
        """The mean of each window, over the elements that count."""
        ones = np.ones_like(data)
        count = self.reduce(np.add, ones, 1 if self._includes_padding else 0, 0)
        count = np.maximum(count, 1)
        sums = self.reduce(np.add, data, 0, 0)
        return sums / count if is_float_array(data) else truncated_divide(sums, count)


def _max_pool(op: PoolOp, data: Array) -> Array:
    return _pool(op, data, greatest=True)


def _avg_pool(op: PoolOp, data: Array) -> Array:
    return _pool(op, data, greatest=False)


def _adaptive_avg_pool(op: AdaptiveAvgPoolOp, data: Array) -> Array:
    letters = "NC" + SPATIAL[op.SPATIAL_RANK]
    plain, out = _layouts(op.name, op.layout, op.out_layout, letters)
    x = to_plain(wide(data), plain, letters)
    sizes = list(x.shape[2:])
    if op.output_size is not None:
        given = integers(op.output_size)
        sizes = given * len(sizes) if len(given) == 1 else given
    count = np.ones((), x.dtype)
    for axis, size in enumerate(sizes, start=2):
        extent = x.shape[axis]
        bounds = [(i * extent // size, -(-(i + 1) * extent // size)) for i in range(size)]
        parts = [np.take(x, range(*b), axis).sum(axis, dtype=x.dtype) for b in bounds]
        x = np.stack(parts, axis)
        lengths = np.array([end - begin for begin, end in bounds], x.dtype)
        count = np.multiply.outer(count, lengths)
    found = x / count if is_float_array(x) else truncated_divide(x, count)
    return rounded(from_plain(found, out, letters), dtype_of(op.data, data))


TABLE: Mapping[str, Evaluation] = {
    relax.AdaptiveAvgPool1DOp.name: _adaptive_avg_pool,
    relax.AdaptiveAvgPool2DOp.name: _adaptive_avg_pool,
    relax.AdaptiveAvgPool3DOp.name: _adaptive_avg_pool,
    relax.AvgPool1DOp.name: _avg_pool,
    relax.AvgPool2DOp.name: _avg_pool,
    relax.AvgPool3DOp.name: _avg_pool,
    relax.Conv1DOp.name: _convolution,
    relax.Conv1DTransposeOp.name: _convolution,
    relax.Conv2DOp.name: _convolution,
    relax.Conv2DTransposeOp.name: _convolution,
    relax.Conv3DOp.name: _convolution,
    relax.MaxPool1DOp.name: _max_pool,
    relax.MaxPool2DOp.name: _max_pool,
    relax.MaxPool3DOp.name: _max_pool,
}
