"""One node of a program, as its converter reads it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias, cast

import numpy as np

from xdsl_tvm import relax
from xdsl_tvm.dialects.relax.symbolic import Dim, DimLike
from xdsl_tvm.frontend.torch.errors import TorchError
from xdsl_tvm.frontend.torch.graph import GraphNode, TensorMeta
from xdsl_tvm.relax import op
from xdsl_tvm.relax.expr import Expr

MOST_PLACES = 1 << 24
"""The most indices that a converter makes constants of."""

Value: TypeAlias = "Expr | Dim"
"""A tensor of the program, or an integer that sizes are made of."""

Results: TypeAlias = "Value | Sequence[Value | None]"
"""What a node makes: one value, or one for each result, None where it has none."""


class Emitter(Protocol):
    """What converters ask of the conversion of the graph."""

    def emit(self, expr: Expr) -> Expr:
        """The value, computed once."""
        ...

    def declared(self, expr: Expr, dims: Sequence[DimLike]) -> Expr:
        """The value under dimensions that are checked when the program runs."""
        ...

    def defined(self, vector: Expr, name: str) -> Dim:
        """The one element of a vector of `int64` as a symbol of this name."""
        ...

    def is_used(self, name: str, index: int) -> bool:
        """Whether a result of a node is used."""
        ...

    def is_contiguous(self, argument: object) -> bool:
        """Whether torch has a tensor's elements in row-major order, without gaps."""
        ...

    def random_state(self) -> tuple[Expr, int]:
        """The state of random numbers, and how many calls the program made before."""
        ...

    def is_complex(self, argument: object) -> bool:
        """Whether an argument is a tensor of complex numbers."""
        ...


@dataclass(frozen=True)
class Node:
    """The operator, its arguments, and what torch knows of the result.

    Methods raise TorchError for what the node has not.
    """

    source: GraphNode
    arguments: Mapping[str, object]
    """Values instead of references."""
    emitter: Emitter

    @property
    def target(self) -> str:
        """The operator and its overload."""
        return self.source.target

    def error(self, message: str) -> TorchError:
        """The error that names the node and its operator."""
        return TorchError(f"{self.source}: {message}")

    # ---- the result ----

    @property
    def result(self) -> TensorMeta:
        """What torch knows of the result, the first of several."""
        result = self.source.result
        if isinstance(result, Sequence):
            result = result[0] if result else None
        if not isinstance(result, TensorMeta):
            raise self.error("its result is no tensor")
        return result

    @property
    def dims(self) -> list[Dim]:
        """The dimensions of the result."""
        return list(self.result.dims)

    @property
    def dtype(self) -> str:
        """The dtype of the result."""
        return self.result.dtype

    @property
    def metas(self) -> list[TensorMeta]:
        """What torch knows of the results, all of them tensors."""
        result = self.source.result
        found = result if isinstance(result, Sequence) else [result]
        return [each for each in found if isinstance(each, TensorMeta)]

    def is_used(self, index: int) -> bool:
        """Whether one of several results is used."""
        return self.emitter.is_used(self.source.name, index)

    def random_state(self) -> tuple[Expr, int]:
        """The state of random numbers, and how many calls the program made before.

        The state is a vector of uint32: the low and the high word of the seed, and how
        many calls there were before the program runs.
        """
        return self.emitter.random_state()

    # ---- arguments ----

    def has(self, name: str) -> bool:
        """Whether an argument is given and is not None."""
        return self.arguments.get(name) is not None

    def argument(self, name: str) -> object:
        """An argument that is not None."""
        value = self.arguments.get(name)
        if value is None:
            raise self.error(f"argument '{name}' is missing")
        return value

    def expr(self, name: str = "self") -> Expr:
        """An argument that is a tensor."""
        value = self.argument(name)
        if not isinstance(value, Expr):
            raise self.error(f"argument '{name}' must be a tensor, not {value!r}")
        return value

    def optional(self, name: str) -> Expr | None:
        """An argument that is a tensor or None."""
        return self.expr(name) if self.has(name) else None

    def is_contiguous(self, name: str) -> bool:
        """Whether torch has a tensor's elements in row-major order, without gaps."""
        return self.emitter.is_contiguous(self.source.arguments[name])

    def is_complex(self, name: str) -> bool:
        """Whether an argument is a tensor of complex numbers, by parts."""
        return self.emitter.is_complex(self.source.arguments[name])

    def exprs(self, name: str) -> list[Expr]:
        """An argument that is a list of tensors."""
        found = self.items(name)
        result = [value for value in found if isinstance(value, Expr)]
        if len(result) < len(found):
            raise self.error(f"argument '{name}' must hold tensors only")
        return result

    def items(self, name: str) -> list[object]:
        """An argument that is a list."""
        value = self.argument(name)
        if not isinstance(value, list | tuple):
            raise self.error(f"argument '{name}' must be a list, not {value!r}")
        return list(cast("Sequence[object]", value))

    def operand(self, name: str, dtype: str) -> Expr:
        """An argument that is a tensor or a number, as a tensor of a dtype."""
        value = self.argument(name)
        if isinstance(value, Expr):
            return cast_to(value, dtype)
        return self.constant(self.scalar(name), dtype)

    def scalar(self, name: str) -> Dim | float:
        """An argument that is a number, which may be symbolic."""
        value = self.argument(name)
        if not isinstance(value, Dim | int | float):
            raise self.error(f"argument '{name}' must be a number, not {value!r}")
        return value

    def number(self, name: str) -> float:
        """An argument that is a known number."""
        value = self.scalar(name)
        if isinstance(value, Dim):
            return float(self._known(name, value))
        return value

    def dim(self, name: str) -> Dim:
        """An argument that is an integer, which may be symbolic."""
        return self._dim(name, self.argument(name))

    def dims_of(self, name: str) -> list[Dim]:
        """An argument that is a list of integers, which may be symbolic."""
        return [self._dim(name, each) for each in self.items(name)]

    def integer(self, name: str) -> int:
        """An argument that is a known integer."""
        return self._known(name, self.dim(name))

    def integers(self, name: str) -> list[int]:
        """An argument that is a list of known integers; no elements for None."""
        if not self.has(name):
            return []
        return [self._known(name, dim) for dim in self.dims_of(name)]

    def spatial(self, name: str, count: int) -> list[int]:
        """One known integer for each of some axes, of which one may stand for all."""
        found = self.integers(name)
        if len(found) == 1:
            return found * count
        if len(found) != count:
            raise self.error(f"argument '{name}' must have {count} integers, not {found}")
        return found

    def flag(self, name: str) -> bool:
        """An argument that is a truth value; None is false."""
        return bool(self.arguments.get(name))

    def text(self, name: str) -> str:
        """An argument that is text."""
        value = self.argument(name)
        if not isinstance(value, str):
            raise self.error(f"argument '{name}' must be text, not {value!r}")
        return value

    def axis(self, name: str, rank: int) -> int:
        """An argument that is an axis, counted from the front."""
        return self.from_front(self.integer(name), rank)

    def axes(self, name: str, rank: int) -> list[int]:
        """An argument that is a list of axes, counted from the front."""
        return [self.from_front(axis, rank) for axis in self.integers(name)]

    def from_front(self, axis: int, rank: int) -> int:
        """An axis counted from the front."""
        # A tensor without axes is one of one element along axis 0.
        size = max(rank, 1)
        if not -size <= axis < size:
            raise self.error(f"axis {axis} is out of range for rank {rank}")
        return axis % size

    def sizes(self, x: Expr) -> list[int]:
        """The dimensions of a tensor, which must be numbers."""
        found = [dim.value for dim in x.shape]
        numbers = [size for size in found if size is not None]
        if len(numbers) < len(found):
            shown = ", ".join(map(str, x.shape))
            raise self.error(
                f"its dimensions must be numbers, not [{shown}]; export the program "
                "without dynamic shapes for them"
            )
        return numbers

    def places(self, extent: int) -> np.ndarray[Any, np.dtype[np.int64]]:
        """The integers below an extent, for constants of the program."""
        if extent > MOST_PLACES:
            raise self.error(f"it needs {extent} indices, more than {MOST_PLACES}")
        return np.arange(extent, dtype=np.int64)

    def _dim(self, name: str, value: object) -> Dim:
        if isinstance(value, Dim):
            return value
        if not isinstance(value, int):
            raise self.error(f"argument '{name}' must be an integer, not {value!r}")
        return Dim.constant(int(value))

    def _known(self, name: str, dim: Dim) -> int:
        if dim.value is None:
            raise self.error(
                f"argument '{name}' must be a known number, not {dim}; export the "
                "program without dynamic shapes for it"
            )
        return dim.value

    # ---- expressions ----

    def emit(self, expr: Expr) -> Expr:
        """The value, computed once, for what uses it several times."""
        return self.emitter.emit(expr)

    def declared(self, expr: Expr, dims: Sequence[DimLike]) -> Expr:
        """The value under dimensions that are checked when the program runs."""
        return self.emitter.declared(expr, dims)

    def defined(self, vector: Expr, name: str) -> Dim:
        """The one element of a vector of `int64` as a symbol of this name."""
        return self.emitter.defined(vector, name)

    def constant(self, value: Dim | float, dtype: str) -> Expr:
        """A tensor of rank 0."""
        if isinstance(value, Dim):
            if value.value is None:
                vector = op.shape_to_tensor(relax.ShapeExpr([value]))
                return cast_to(op.reshape(vector, []), dtype)
            value = value.value
        if dtype == "bool":
            return relax.const(np.asarray(bool(value)))
        if "float" not in dtype:
            value = int(value)
        return relax.const(np.asarray(value), dtype)


def cast_to(x: Expr, dtype: str) -> Expr:
    """The elements in a dtype, as torch converts them."""
    if x.dtype == dtype:
        return x
    if dtype == "bool":
        return op.not_equal(x, relax.const(np.asarray(0), x.dtype))
    return op.astype(x, dtype)


Converter: TypeAlias = "Callable[[Node], Results]"

CONVERTERS: dict[str, Converter] = {}
"""The converters by operators with their overloads."""


COMPLEX: dict[str, Converter] = {}
"""The converters of what has complex numbers among its arguments or as its result."""


def converts_complex(*targets: str) -> Callable[[Converter], Converter]:
    """Puts a converter of complex numbers into its table, by names without `aten.`."""
    return _registering(COMPLEX, targets)


def converts(*targets: str) -> Callable[[Converter], Converter]:
    """Puts a converter into the table, by names without `aten.`.

    `add.Tensor` is an overload; a name without a dot is the overload `default`.
    """
    return _registering(CONVERTERS, targets)


def _registering(
    table: dict[str, Converter], targets: Sequence[str]
) -> Callable[[Converter], Converter]:
    def register(converter: Converter) -> Converter:
        for target in targets:
            name = target if "." in target else f"{target}.default"
            table[f"aten.{name}"] = converter
        return converter

    return register
