"""Evaluation of images of another size and of changes of layout.

docs/spec/relax-ops.md §8, §12.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from xdsl_tvm.dialects import relax
from xdsl_tvm.dialects.relax.layout import Layout
from xdsl_tvm.interpreters.errors import ArgumentError
from xdsl_tvm.interpreters.relax.numbers import (
    Evaluation,
    cast_array,
    dtype_of,
    is_float_array,
    wide,
)
from xdsl_tvm.interpreters.relax.values import Array, ShapeValue

_single = np.float32


def _coordinates(
    mode: str, old: int, new: int, start: float, end: float
) -> np.ndarray[Any, np.dtype[np.float32]]:
    """Where the new image's indices are in the old one, in single precision."""
    x, half = np.arange(new, dtype=_single), _single(0.5)
    scale = _single(old) / _single(new)
    match mode:
        case "half_pixel":
            return (x + half) * scale - half
        case "align_corners":
            return x * (_single(old - 1) / _single(new - 1))
        case "asymmetric":
            return x * scale
        case "pytorch_half_pixel":
            return (x + half) * scale - half if new > 1 else np.zeros(1, _single)
        case "tf_half_pixel_for_nn":
            return (x + half) * scale
        case "tf_crop_and_resize":
            last = _single(old - 1)
            if new == 1:
                return np.array([_single(0.5 * (start + end)) * last], _single)
            step = last * _single(end - start) / _single(new - 1)
            return last * _single(start) + x * step
        case _:
            raise ArgumentError(f'coordinate transformation "{mode}" is not evaluated')


def _nearest(at: Array, rounding: str) -> Array:
    half, epsilon = _single(0.5), _single(1e-5)
    match rounding:
        case "round":
            return np.copysign(np.floor(np.abs(at) + half), at)
        case "round_prefer_floor":
            return np.ceil(at - half)
        case "round_prefer_ceil":
            return np.floor(at + half)
        case "floor":
            return np.floor(at + epsilon)
        case "ceil":
            return np.ceil(at - epsilon)
        case _:
            raise ArgumentError(f'rounding "{rounding}" is not evaluated')


def _weights(op: relax.Resize2DOp, at: Array, old: int) -> Array:
    """How much each old index counts for each new one: a matrix."""
    first = np.floor(at)
    t = (at - first).astype(np.float64)
    method = op.method.data
    if method == "nearest_neighbor":
        first, near = _nearest(at, op.rounding_method.data), {0: np.ones_like(t)}
    elif method == "linear":
        near = {0: 1 - t, 1: t}
    elif method == "cubic":
        near = _cubic(t, op.cubic_alpha.value.data)
    else:
        raise ArgumentError(f'method "{method}" is not evaluated')
    found = np.zeros((len(at), old))
    rows = np.arange(len(at))
    for offset, weight in near.items():
        index = first.astype(np.int64) + offset
        is_outside = (index < 0) | (index >= old)
        if method == "cubic" and op.cubic_exclude.value.data:
            weight = np.where(is_outside, 0, weight)
        np.add.at(found, (rows, np.clip(index, 0, old - 1)), weight)
    if method == "cubic" and op.cubic_exclude.value.data:
        found /= found.sum(axis=1, keepdims=True)
    return found


def _cubic(t: Array, alpha: float) -> dict[int, Array]:
    """Weights by distance, of the convolution kernel with slope `alpha`."""

    def kernel(d: Array) -> Array:
        near = (alpha + 2) * d**3 - (alpha + 3) * d**2 + 1
        far = alpha * (d**3 - 5 * d**2 + 8 * d - 4)
        return np.where(d <= 1, near, np.where(d < 2, far, 0))

    return {offset: kernel(np.abs(offset - t)) for offset in (-1, 0, 1, 2)}


def _resize2d(op: relax.Resize2DOp, data: Array, size: ShapeValue) -> Array:
    letters = [name for name, _ in Layout.parse(op.name, op.layout.data, "NCHW").axes]
    if "h" in letters or "w" in letters:
        raise ArgumentError(f'layout "{op.layout.data}" is not evaluated')
    roi = [value.value.data for value in op.roi.data]
    mode = op.coordinate_transformation_mode.data
    dtype = op.out_dtype or dtype_of(op.data, data)
    found = wide(data) if is_float_array(data) else data.astype(np.float64)
    outside: list[Array] = []
    for side, letter in enumerate("HW"):
        axis, new = letters.index(letter), size[side]
        at = _coordinates(mode, data.shape[axis], new, roi[side], roi[side + 2])
        matrix = _weights(op, at, data.shape[axis])
        found = np.moveaxis(np.moveaxis(found, axis, -1) @ matrix.T, -1, axis)
        shape = [new if i == axis else 1 for i in range(data.ndim)]
        outside.append(((at < 0) | (at > data.shape[axis] - 1)).reshape(shape))
    if mode == "tf_crop_and_resize":
        value = op.extrapolation_value.value.data
        found = np.where(outside[0] | outside[1], value, found)
    return cast_array(found, dtype)


def _layout_transform(op: relax.LayoutTransformOp, data: Array, *pad: Any) -> Array:
    shape = op.index_map.map_shape(data.shape)
    if math.prod(data.shape) == 0:
        return np.zeros(shape, data.dtype)
    found = np.full(shape, pad[0] if pad else 0).astype(data.dtype)
    grid = np.ogrid[tuple(slice(extent) for extent in data.shape)]
    found[op.index_map.evaluated(grid)] = data
    return found


TABLE: Mapping[str, Evaluation] = {
    relax.LayoutTransformOp.name: _layout_transform,
    relax.Resize2DOp.name: _resize2d,
}
