"""What stands for the values of a Relax function below `relax`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

from xdsl.ir import Attribute, SSAValue

from xdsl_tvm.dialects.relax.symbolic import Dim
from xdsl_tvm.dialects.relax.types import TupleType


@dataclass(eq=False)
class Memory:
    """Memory that the function has allocated, and the values that still name it."""

    base: SSAValue
    """What was allocated, and is to be released."""
    names: set[SSAValue] = field(default_factory=set[SSAValue])


@dataclass(frozen=True)
class Tensor:
    """Memory and the extents that it has at run time, which are always known.

    The memref has as many elements as the extents say, in whatever shape. Memory that
    the function has not allocated, such as a parameter's, has no `memory`; `at_start`
    says whether the tensor begins where its memory does.
    """

    memref: SSAValue
    dims: tuple[Dim, ...]
    dtype: Attribute
    memory: Memory | None = None
    at_start: bool = True
    is_constant: bool = False


@dataclass(frozen=True)
class Cells:
    """Where a function puts address and extents of a result that it has made.

    `memref` is of `i64`; a dimension that is None is known after the call only.
    """

    memref: SSAValue
    dims: tuple[Dim | None, ...]
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


@dataclass(frozen=True)
class Storage:
    """Raw memory of so many bytes; without `memory` the place of a result alone."""

    size: Dim
    memory: Memory | None
    result: SSAValue | None = None
    """The tensor on it that is a result of the function, if the memory is that of one."""


@dataclass(frozen=True)
class Closure:
    """A function of the module, and its last arguments."""

    callee: str
    captured: tuple[Value, ...]


@dataclass(frozen=True)
class Object:
    """A value of the runtime, an `i64` that stands for it while a call lasts."""

    value: SSAValue


Leaf: TypeAlias = Tensor | Scalar | Shape | Storage | Closure | Object
Value: TypeAlias = "Leaf | tuple[Value, ...]"
"""A value of a Relax function; a tuple is that of its fields."""
Path: TypeAlias = tuple[int, ...]
"""Which field of a tuple, of which tuple in it, and so on."""


def leaves(value: Value) -> Iterator[Leaf]:
    """The values in a tuple and in tuples in it, from left to right."""
    if isinstance(value, tuple):
        for part in value:
            yield from leaves(part)
    else:
        yield value


def memories(value: Value) -> Iterator[Memory]:
    """The allocated memory that a value is on, with repetitions."""
    for leaf in leaves(value):
        if isinstance(leaf, Tensor | Storage) and leaf.memory is not None:
            yield leaf.memory
        elif isinstance(leaf, Closure):
            yield from memories(leaf.captured)


def kind(value: Value) -> str:
    """What a value is, for messages."""
    return type(value).__name__.lower()


def rebuild(type_: Attribute, parts: Iterator[Leaf]) -> Value:
    """A value of a type, from what `leaves` gives."""
    if isinstance(type_, TupleType):
        return tuple(rebuild(part, parts) for part in type_.fields.data)
    return next(parts)
