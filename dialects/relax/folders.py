"""Folders of operators that are the identity (xDSL's `canonicalize` applies them).

An operator that copies folds only where no memory of operand or result is written: the
copy would be the written tensor else.
"""

from __future__ import annotations

from xdsl.ir import Attribute, OpResult, SSAValue

from xdsl_tvm.dialects.relax.sharing import may_be_written
from xdsl_tvm.dialects.relax.types import TensorInfo
from xdsl_tvm.dialects.tir.folders import is_injective_cast

FoldedTensor = tuple[SSAValue] | None
"""The value that an operator is equal to, or None."""


def fold_to(source: SSAValue, result: OpResult) -> FoldedTensor:
    """`source` for a result that has its elements; None where memory may be written, or
    where the types are not the same."""
    if source.type != result.type or may_be_written(source, result):
        return None
    return (source,)


def has_known_shape(value: SSAValue) -> bool:
    """Whether all dimensions are numbers or symbols: equal types are equal shapes."""
    info = TensorInfo.of(value.type)
    return info is not None and info.shape is not None


def dtype_of(value: SSAValue) -> Attribute | None:
    """The dtype of a tensor, None where it is unknown."""
    info = TensorInfo.of(value.type)
    return None if info is None else info.dtype


def is_cast_back(source: SSAValue, middle: SSAValue) -> bool:
    """Whether the dtype of `middle` keeps apart all values of that of `source`."""
    before, between = dtype_of(source), dtype_of(middle)
    return (
        before is not None and between is not None and is_injective_cast(before, between)
    )
