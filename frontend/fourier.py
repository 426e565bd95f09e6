"""Fourier transforms, as products with the matrices of the transforms."""

from __future__ import annotations

import numpy as np

from xdsl_tvm import relax
from xdsl_tvm.relax import op
from xdsl_tvm.relax.expr import Expr

_LONGEST = 1 << 12
"""The longest transform, whose matrix has the square of it as its size."""


def transformed(
    x: Expr,
    axis: int,
    length: int,
    *,
    inverse: bool,
    one_sided: bool,
    scale: float | None = None,
) -> Expr:
    """The Fourier transform along an axis; the last axis holds real and imaginary parts.

    Real numbers have a last axis of one. `one_sided` is a transform between real numbers
    and the half of their frequencies: a result, or of an inverse the operand. The result
    is multiplied by `scale`, which is 1 / length of an inverse and 1 otherwise.

    Raises ValueError for transforms that are too long.
    """
    if length > _LONGEST:
        raise ValueError(f"a length of {length} is larger than {_LONGEST}")
    rank, dtype = len(x.shape), x.dtype
    extent = x.shape[axis].value
    assert extent is not None
    parts = x.shape[-1].value
    half = length // 2 + 1
    rows = columns = length
    if one_sided and inverse:
        rows = half
    elif one_sided:
        columns = half
    # Products are reduced first, so that angles are exact.
    turns = np.outer(np.arange(rows), np.arange(columns)) % length
    angles = turns * (2 * np.pi / length)
    cosines = np.cos(angles)
    sines = np.sin(angles) if inverse else -np.sin(angles)
    if one_sided and inverse:
        frequency = np.arange(half)
        both = np.where((frequency == 0) | (frequency * 2 == length), 1, 2)
        cosines, sines = (both[:, None] * part for part in (cosines, sines))
    if scale is None:
        scale = 1 / length if inverse else 1.0
    kept = min(extent, rows)
    if extent > kept:
        x = op.strided_slice(x, [axis], [0], [kept])
    last = [index for index in range(rank - 1) if index != axis]
    moved = op.permute_dims(x, [rank - 1, *last, axis])
    real = op.take(moved, relax.const(0, "int64"), 0)
    by_cosines, by_sines = (
        relax.const((part[:kept] * scale).astype(dtype)) for part in (cosines, sines)
    )
    if parts == 1:
        outputs = [op.matmul(real, by_cosines), op.matmul(real, by_sines)]
    else:
        imaginary = op.take(moved, relax.const(1, "int64"), 0)
        outputs = [
            op.subtract(op.matmul(real, by_cosines), op.matmul(imaginary, by_sines)),
            op.add(op.matmul(real, by_sines), op.matmul(imaginary, by_cosines)),
        ]
    if inverse and one_sided:
        outputs = outputs[:1]
    spread = [op.expand_dims(each, [0]) for each in outputs]
    joined = spread[0] if len(spread) == 1 else op.concat(spread, 0)
    now = [rank - 1, *last, axis]
    return op.permute_dims(joined, [now.index(index) for index in range(rank)])
