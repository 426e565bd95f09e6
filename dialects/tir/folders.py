"""Folders of the expression ops: the rules of `folding`, on values.

xDSL's `canonicalize` and embedders reach them through `HasFolderInterface`. Only what is
computed exactly folds (`fold_binary_exactly`). Of vectors, the lanes fold where they are
one constant and the result is an operand.
"""

from __future__ import annotations

from xdsl.dialect_interfaces.constant_materialization import (
    ConstantMaterializationInterface,
)
from xdsl.dialects.builtin import Float32Type, Float64Type
from xdsl.ir import Attribute, Operation, SSAValue, TypedAttribute

from xdsl_tvm.dialects.tir.constants import ConstOp, constant_attr
from xdsl_tvm.dialects.tir.folding import (
    Folded,
    Side,
    fold_binary_exactly,
    fold_cast_exactly,
    fold_same,
)
from xdsl_tvm.dialects.tir.types import (
    element_of,
    is_custom,
    is_float,
    is_integer_type,
    is_scalar,
    is_uint,
)
from xdsl_tvm.dialects.tir.vectors import literal_of

FoldedValue = tuple[SSAValue | Attribute] | None
"""A value or a constant of the one result, or None where nothing folds."""

_WIDER_FLOATS: dict[str, tuple[str, ...]] = {
    "f16": ("f32", "f64"),
    "bf16": ("f32", "f64"),
    "f32": ("f64",),
}
"""The float types that hold all numbers of another one."""


class TIRConstants(ConstantMaterializationInterface):
    """Makes `tir.const` ops of what the ops of the dialect fold to."""

    def materialize_constant(self, value: Attribute, type: Attribute) -> Operation | None:
        """A constant of the scalar type `type`; None for vectors, which need two ops."""
        if not isinstance(value, TypedAttribute) or value.get_type() != type:
            return None
        return ConstOp(value) if is_scalar(type) else None


def fold_values(
    op: str, lhs: SSAValue, rhs: SSAValue, result_type: Attribute
) -> FoldedValue:
    """What the op of two values folds to; `op` is a name as `fold_binary` takes it."""
    dtype = element_of(lhs.type)
    if is_custom(dtype):
        return None
    folded = fold_same(op, dtype) if lhs is rhs else None
    if folded is None:
        folded = fold_binary_exactly(op, dtype, literal_of(lhs), literal_of(rhs))
    match folded:
        case Side.LHS:
            return (lhs,)
        case Side.RHS:
            return (rhs,)
        case _:
            return folded_literal(folded, result_type)


def folded_literal(value: Folded, dtype: Attribute) -> FoldedValue:
    """A number as the constant of a type; None where that is a vector or no constant."""
    if value is None or isinstance(value, Side) or not is_scalar(dtype):
        return None
    return (constant_attr(value, dtype),)


def fold_cast_value(value: SSAValue, target: Attribute) -> FoldedValue:
    """What the conversion of a value to the dtype `target` folds to.

    A conversion to the same dtype folds, one of a constant, and one back from a dtype
    that has kept the value.
    """
    if value.type == target:
        return (value,)
    # The class is not imported, since its module imports this one.
    inner = value.owner
    if isinstance(inner, Operation) and inner.name == "tir.cast":
        (source,) = inner.operands
        if source.type == target and is_injective_cast(target, value.type):
            return (source,)
    number = literal_of(value)
    if number is None or not is_scalar(target):
        return None
    folded = fold_cast_exactly(target, number)
    if folded is None:
        return None
    constant = constant_attr(folded, target)
    if isinstance(target, Float32Type | Float64Type) or not is_float(target):
        return (constant,)
    # How code rounds to the narrow types is left to it.
    return (constant,) if ConstOp(constant).literal == folded else None


def is_injective_cast(source: Attribute, target: Attribute) -> bool:
    """Whether a conversion keeps apart the values of `source`, so that one back to it is
    the identity: integers of at least its width, and floats that hold its numbers."""
    lane, other = element_of(source), element_of(target)
    if is_integer_type(lane) and is_integer_type(other):
        return other.width.data >= lane.width.data
    return str(other) in _WIDER_FLOATS.get(str(lane), ())


def keeps_number(source: Attribute, target: Attribute) -> bool:
    """Whether a conversion keeps each number of `source` as it is."""
    lane, other = element_of(source), element_of(target)
    if not (is_integer_type(lane) and is_integer_type(other)):
        return is_injective_cast(source, target)
    if is_uint(lane) or lane.width.data == 1:
        # Bools are 0 and 1.
        return other.width.data > lane.width.data or (
            is_uint(other) and other.width.data == lane.width.data
        )
    return not is_uint(other) and other.width.data >= lane.width.data
