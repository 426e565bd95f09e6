"""Evaluation of products and neural network operators.

docs/spec/relax-ops.md §7, §11.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from xdsl_tvm.dialects import relax
from xdsl_tvm.interpreters.errors import ArgumentError
from xdsl_tvm.interpreters.relax.numbers import (
    Evaluation,
    attribute_of,
    cast_array,
    dtype_of,
    rounded,
    wide,
)
from xdsl_tvm.interpreters.relax.reductions import mean, variance
from xdsl_tvm.interpreters.relax.values import Array


def _matmul(op: relax.MatmulOp, lhs: Array, rhs: Array) -> Array:
    dtype = op.out_dtype or dtype_of(op.lhs, lhs)
    if op.out_dtype is not None:
        lhs, rhs = cast_array(lhs, dtype), cast_array(rhs, dtype)
    try:
        return rounded(np.matmul(wide(lhs), wide(rhs)), dtype)
    except ValueError:
        raise ArgumentError(
            f"shapes {list(lhs.shape)} and {list(rhs.shape)} cannot be multiplied"
        ) from None


def _einsum(op: relax.EinsumOp, tensors: tuple[Array, ...]) -> Array:
    found = np.einsum(op.subscripts.data, *(wide(tensor) for tensor in tensors))
    types = op.tensors.type
    assert isinstance(types, relax.TupleType), "verified"
    info = relax.TensorInfo.of(types.fields.data[0])
    known = None if info is None else info.dtype
    return rounded(found, known or attribute_of(tensors[0].dtype))


def softmax(values: Array, axis: int) -> Array:
    """Exponentials divided by their sum along an axis."""
    if values.shape[axis] == 0:
        return values
    powers = np.exp(values - values.max(axis=axis, keepdims=True))
    return powers / powers.sum(axis=axis, keepdims=True)


def _softmax(op: relax.SoftmaxOp, data: Array) -> Array:
    return rounded(softmax(wide(data), op.axis.value.data), dtype_of(op.data, data))


def _layer_norm(op: relax.LayerNormOp, data: Array, gamma: Array, beta: Array) -> Array:
    axes = tuple(int(axis) % data.ndim for axis in op.axes.get_values())
    values = wide(data)
    found = values - mean(values, axes, True)
    found = found / np.sqrt(variance(values, axes, True) + op.epsilon.value.data)
    if op.no_scale is None:
        found = found * along(gamma, axes, data)
    if op.no_center is None:
        found = found + along(beta, axes, data)
    return rounded(found, dtype_of(op.data, data))


def along(values: Array, axes: tuple[int, ...], data: Array) -> Any:
    """Values of the shape of `axes`, to combine with all of the data."""
    order = np.argsort(axes)
    shape = [data.shape[axis] if axis in axes else 1 for axis in range(data.ndim)]
    moved = wide(values).transpose(order)
    if list(moved.shape) != [data.shape[axis] for axis in sorted(axes)]:
        raise ArgumentError(
            f"shape {list(values.shape)} does not fit axes {list(axes)} of "
            f"{list(data.shape)}"
        )
    return moved.reshape(shape)


TABLE: Mapping[str, Evaluation] = {
    relax.EinsumOp.name: _einsum,
    relax.MatmulOp.name: _matmul,
    relax.SoftmaxOp.name: _softmax,
    relax.LayerNormOp.name: _layer_norm,
}
