"""Evaluation of the operators that move elements (spec relax-ops.md §6, §8)."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from xdsl_tvm.dialects import relax
from xdsl_tvm.interpreters._relax_numbers import Evaluation, integers
from xdsl_tvm.interpreters._relax_values import Array, ShapeValue
from xdsl_tvm.interpreters.errors import ArgumentError


def _permute_dims(op: relax.PermuteDimsOp, data: Array) -> Array:
    return np.transpose(data, None if op.axes is None else integers(op.axes))


def _reshape(op: relax.ReshapeOp, data: Array, shape: ShapeValue) -> Array:
    if math.prod(shape) != data.size:
        raise ArgumentError(
            f"{data.size} elements cannot have the shape {list(shape)}, "
            f"of {math.prod(shape)}"
        )
    return data.reshape(shape)


TABLE: Mapping[str, Evaluation] = {
    relax.PermuteDimsOp.name: _permute_dims,
    relax.ReshapeOp.name: _reshape,
}
