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
"""Most groups that are joined: of so many products of a joined group, one is of its own
weights, and the others are with zeros."""


def count_of_joined(groups: int, inputs: int, outputs: int, lanes: int) -> int | None:
    """The least number of neighbouring groups whose outputs fill vectors together.

    None if there is none of at most 8, or if their inputs are not quads. A group has
    `inputs` and `outputs` channels.
    """
    for count in range(1, _MOST_JOINED + 1):
        if groups % count == 0 and count * outputs % lanes == 0:
            return count if count * inputs % BYTES_OF_DOT == 0 else None
    return None


def join_groups(op: relax.Conv2DOp, count: int) -> None:
    """Replace each `count` neighbouring groups of a convolution `NCHW`, `OIHW` by one.

    Weights between the outputs of one of them and the inputs of another are zero, so that
    sums of integers are the same.
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
