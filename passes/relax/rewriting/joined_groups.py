"""Groups of convolutions of bytes, joined until their outputs fill vectors."""

from __future__ import annotations

from xdsl.dialects.builtin import IntegerAttr, i64

from xdsl_tvm.dialects import relax
from xdsl_tvm.dialects.dtypes import numpy_dtype
from xdsl_tvm.dialects.relax.dense import dense_of
from xdsl_tvm.dialects.relax.types import TensorInfo
from xdsl_tvm.dialects.tir.processor_instructions import BYTES_OF_DOT
from xdsl_tvm.passes.relax.rewriting.insertion import BindingBuilder

_MOST_JOINED = 8
"""Groups that are joined: of all products, the others are with zeros."""


def count_of_joined(groups: int, inputs: int, outputs: int, lanes: int) -> int | None:
    """How many neighbouring groups, with so many channels each, have quads of inputs and
    full vectors of outputs together; None if no few of them have."""
    for count in range(1, _MOST_JOINED + 1):
        if groups % count == 0 and count * outputs % lanes == 0:
            return count if count * inputs % BYTES_OF_DOT == 0 else None
    return None


def join_groups(op: relax.Conv2DOp, count: int) -> None:
    """Let so many neighbouring groups of a convolution `NCHW`, `OIHW` be one.

    The weights of what are inputs of another one of them are zero. Sums of integers are
    the same.
    """
    import numpy as np

    info = TensorInfo.of(op.weight.type)
    assert info is not None, "it was asked for before"
    assert info.shape, "it was asked for before"
    outputs, inputs = (dim.value or 0 for dim in info.shape[:2])
    groups = op.groups.value.data
    builder = BindingBuilder(op)
    own = np.arange(outputs) * groups // outputs % count
    is_own = own[:, None] == np.arange(count * inputs) // inputs
    assert info.dtype is not None, "it was asked for before"
    mask = is_own.astype(numpy_dtype(info.dtype))[:, :, None, None]
    repeated = builder.insert(relax.TileOp(op.weight, [1, count, 1, 1]))
    ones = builder.insert(relax.ConstantOp(dense_of(mask)))
    op.operands[1] = builder.insert(relax.MultiplyOp(repeated, ones))
    op.properties["groups"] = IntegerAttr(groups // count, i64)
