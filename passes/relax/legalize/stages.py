"""Stages that several operators are made of."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import cast

from xdsl.dialects.builtin import (
    BFloat16Type,
    DenseArrayBase,
    Float16Type,
    IntegerType,
    f32,
)
from xdsl.ir import Attribute

from xdsl_tvm.passes.relax.legalize.tensor_expression import (
    Dim,
    Expr,
    Operand,
    Tensor,
    TensorProgram,
)


def broadcast_indices(
    program: TensorProgram,
    tensor: Operand,
    indices: Sequence[Expr],
    shape: Sequence[Dim],
) -> tuple[Expr, ...]:
    """The element of `tensor` that numpy's broadcasting reads at `indices`.

    `shape` is that of the result: where it is 1 as well, the index is 0 by itself.
    """
    lead = len(indices) - len(tensor.shape)
    pairs = zip(tensor.shape, shape[lead:], indices[lead:], strict=True)
    return tuple(
        program.extent(0) if dim == 1 and size != 1 else index
        for dim, size, index in pairs
    )


def elementwise(
    program: TensorProgram, name: str, x: Tensor, function: Callable[[Expr], Expr]
) -> Tensor:
    """`function` of each element."""
    return program.compute(name, x.shape, x.dtype, lambda *indices: function(x[indices]))


def wide(value: Expr) -> Expr:
    """A half-precision value in single precision, any other as it is."""
    return value.cast(accumulator_type(value.dtype))


def accumulator_type(dtype: Attribute) -> Attribute:
    """What sums over `dtype` are held in: `f32` for 16-bit floats, else `dtype`."""
    return f32 if isinstance(dtype, Float16Type | BFloat16Type) else dtype


def normal_axes(axes: DenseArrayBase[IntegerType], rank: int) -> list[int]:
    """The axes of a property, counted from the front."""
    return [axis % rank for axis in cast(Sequence[int], axes.get_values())]


def unflatten(
    program: TensorProgram, flat: Expr, shape: Sequence[Dim]
) -> tuple[Expr, ...]:
    """The index of the element with number `flat` in row-major order."""
    indices: list[Expr] = []
    for dim in reversed(shape[1:]):
        extent = program.extent(dim)
        indices.append(flat % extent)
        flat = flat // extent
    return (*([flat] if shape else []), *reversed(indices))
