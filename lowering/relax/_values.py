"""What stands for the values of a Relax function below `relax`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

from xdsl.ir import Attribute, SSAValue

from xdsl_tvm.dialects.relax.symbolic import Dim
from xdsl_tvm.dialects.relax.types import TupleType


@dataclass(frozen=True)
class Tensor:
    """Memory and the extents that it has at run time, which are always known."""

    memref: SSAValue
    dims: tuple[Dim, ...]
    dtype: Attribute


@dataclass(frozen=True)
class Scalar:
    """A number; `dim` says its value, where it is known."""

    value: SSAValue
    dtype: Attribute
    dim: Dim | None = None


@dataclass(frozen=True)
class Shape:
    """A shape, of which nothing is in memory."""

    dims: tuple[Dim, ...]


Leaf: TypeAlias = Tensor | Scalar | Shape
Value: TypeAlias = "Leaf | tuple[Value, ...]"
"""A value of a Relax function; a tuple is that of its fields."""
Path: TypeAlias = tuple[int, ...]
"""Which field of a tuple, of which tuple in it, and so on."""


def leaves(value: Value) -> Iterator[Leaf]:
    """The values in a tuple and in tuples in it, from left to right."""
    if isinstance(value, tuple):
        for field in value:
            yield from leaves(field)
    else:
        yield value


def rebuild(type_: Attribute, parts: Iterator[Leaf]) -> Value:
    """A value of a type, from what `leaves` gives."""
    if isinstance(type_, TupleType):
        return tuple(rebuild(field, parts) for field in type_.fields.data)
    return next(parts)
