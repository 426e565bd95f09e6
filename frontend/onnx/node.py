"""One node of a graph, as its converter reads it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias, cast

import numpy as np
from onnx import GraphProto, TensorProto

from xdsl_tvm import relax
from xdsl_tvm.dialects.relax import TensorInfo
from xdsl_tvm.dialects.relax.symbolic import Dim, DimLike
from xdsl_tvm.frontend.onnx.dtypes import dtype_name_of
from xdsl_tvm.frontend.onnx.errors import OnnxError
from xdsl_tvm.frontend.onnx.values import Array, Known, Value
from xdsl_tvm.relax.expr import Expr

MOST_PLACES = 1 << 24
"""The longest list of numbers that a converter makes: a short file may ask for any."""

Results: TypeAlias = "Value | Sequence[Value | None]"
"""What a node makes: one value, or one for each output."""


class Graphs(Protocol):
    """What converts the graphs that nodes hold."""

    def emit(self, expr: Expr) -> Expr:
        """The value, computed once."""
        ...

    def declared(self, expr: Expr, dims: Sequence[DimLike | None]) -> Expr:
        """The value of dimensions, where None is one that nothing else has."""
        ...

    def branch(self, condition: Expr, then: GraphProto, other: GraphProto) -> Results:
        """The outputs of one of two graphs."""
        ...

    def inlined(self, graph: GraphProto, inputs: Sequence[Value]) -> Sequence[Value]:
        """The outputs of a graph, computed where the node is."""
        ...

    def is_known(self, graph: GraphProto, inputs: Sequence[Value | None]) -> bool:
        """Whether the first output of a graph, the body of a loop, is always known."""
        ...

    def repeated(
        self, where: str, graph: GraphProto, repetition: Repetition
    ) -> tuple[list[Expr], list[Expr]]:
        """What a loop over a graph carries at its end, and what it collects."""
        ...


@dataclass(frozen=True)
class Repetition:
    """How a graph is repeated, as often as the running program finds out.

    The values are those before the first iteration. `inputs` makes the inputs of the
    graph of the number of the iteration, of what is carried and of what is captured.
    """

    count: Expr | None
    """The number of iterations, an `int64` of rank 0; None where it has no limit."""
    condition: Expr | None
    """Whether there is an iteration; None where the graph has no condition."""
    carried: Sequence[Expr]
    captured: Sequence[Expr]
    inputs: Callable[[Expr, Sequence[Expr], Sequence[Expr]], Sequence[Value]]


@dataclass(frozen=True)
class Node:
    """The operator, the attributes with their defaults, and the values of the inputs.

    Methods raise OnnxError for what the node has not.
    """

    op_type: str
    name: str
    opset: int
    inputs: Sequence[Value | None]
    attributes: Mapping[str, object]
    outputs: Sequence[str]
    graphs: Graphs

    def error(self, message: str) -> OnnxError:
        """The error that names the node and its operator."""
        return OnnxError(f"node '{self.name}' ({self.op_type}): {message}")

    # ---- inputs ----

    def has(self, index: int) -> bool:
        """Whether an input is given, which may be optional."""
        return index < len(self.inputs) and self.inputs[index] is not None

    def value(self, index: int = 0) -> Value:
        """An input."""
        if not self.has(index):
            raise self.error(f"input {index} is missing")
        return cast("Value", self.inputs[index])

    def expr(self, index: int = 0) -> Expr:
        """An input as an expression."""
        value = self.value(index)
        return value.expr() if isinstance(value, Known) else value

    def exprs(self) -> list[Expr]:
        """All inputs as expressions."""
        return [self.expr(index) for index in range(len(self.inputs))]

    def optional(self, index: int) -> Expr | None:
        """An input that may be missing."""
        return self.expr(index) if self.has(index) else None

    def dtype(self, index: int = 0) -> str:
        """TVM's name of an input's dtype."""
        value = self.value(index)
        return value.dtype

    def shape(self, index: int = 0) -> tuple[Dim, ...]:
        """The dimensions of an input, which may be symbolic."""
        value = self.value(index)
        if isinstance(value, Known):
            return tuple(map(Dim.of, value.array.shape))
        info = TensorInfo.of(value.struct_info)
        if info is None or info.shape is None:
            raise self.error(
                f"the shape of input {index} is not known when the model is converted; "
                "give the model's inputs their shapes with shape_dict"
            )
        return info.shape

    def sizes(self, index: int = 0) -> tuple[int, ...]:
        """The dimensions of an input, which must be numbers."""
        found = [dim.value for dim in self.shape(index)]
        numbers = tuple(size for size in found if size is not None)
        if len(numbers) < len(found):
            shown = ", ".join(map(str, self.shape(index)))
            raise self.error(
                f"the dimensions of input {index} must be numbers, not [{shown}]; give "
                "the model's inputs their shapes with shape_dict"
            )
        return numbers

    def rank(self, index: int = 0) -> int:
        """The number of dimensions of an input."""
        value = self.value(index)
        if isinstance(value, Known):
            return value.array.ndim
        info = TensorInfo.of(value.struct_info)
        if info is None or info.rank is None:
            raise self.error(f"the rank of input {index} is not known")
        return info.rank

    # ---- inputs whose elements the program must know ----

    def known(self, index: int) -> Known:
        """An input whose elements are known."""
        value = self.value(index)
        if not isinstance(value, Known):
            raise self.error(
                f"input {index} must be known when the model is converted; make it an "
                "initializer, or the result of nodes on shapes and initializers"
            )
        return value

    def array(self, index: int) -> Array:
        """The elements of an input, numbers."""
        found = self.known(index)
        if found.is_symbolic:
            raise self.error(
                f"input {index} must be numbers, not {found.array.tolist()}; give the "
                "model's inputs their shapes with shape_dict"
            )
        return found.array

    def integers(self, index: int) -> list[int]:
        """The elements of an input, integers."""
        return [int(element) for element in self.array(index).ravel()]

    def integer(self, index: int) -> int:
        """The one element of an input."""
        elements = self.integers(index)
        if len(elements) != 1:
            raise self.error(f"input {index} must have 1 element, not {len(elements)}")
        return elements[0]

    def number(self, index: int) -> float:
        """The one element of an input, a float."""
        array = self.array(index)
        if array.size != 1:
            raise self.error(f"input {index} must have 1 element, not {array.size}")
        return float(array.reshape(-1).astype(np.float64)[0])

    def dims(self, index: int) -> list[Dim]:
        """The elements of an input, dimensions or integers."""
        return [Dim.of(element) for element in self.known(index).array.ravel().tolist()]

    def axis(self, axis: int, rank: int | None = None) -> int:
        """An axis counted from the front."""
        rank = self.rank() if rank is None else rank
        if not -rank <= axis < rank:
            raise self.error(f"axis {axis} is out of range for rank {rank}")
        return axis % rank

    def places(self, extent: int) -> Array:
        """The integers below an extent, for constants of the program."""
        if extent > MOST_PLACES:
            raise self.error(f"an extent of {extent} is larger than {MOST_PLACES}")
        return np.arange(extent, dtype=np.int64)

    # ---- attributes ----

    def int_of(self, name: str, default: int | None = None) -> int:
        """An attribute that is an integer."""
        return cast("int", self._attribute(name, int, default))

    def float_of(self, name: str, default: float | None = None) -> float:
        """An attribute that is a float."""
        return cast("float", self._attribute(name, float, default))

    def str_of(self, name: str, default: str | None = None) -> str:
        """An attribute that is text."""
        return cast("str", self._attribute(name, str, default))

    def ints_of(self, name: str, default: Sequence[int] | None = None) -> list[int]:
        """An attribute that is a list of integers."""
        return list(cast("Sequence[int]", self._attribute(name, list, default)))

    def floats_of(self, name: str, default: Sequence[float] | None = None) -> list[float]:
        """An attribute that is a list of floats."""
        return list(cast("Sequence[float]", self._attribute(name, list, default)))

    def strs_of(self, name: str, default: Sequence[str] | None = None) -> list[str]:
        """An attribute that is a list of texts."""
        return list(cast("Sequence[str]", self._attribute(name, list, default)))

    def graph_of(self, name: str) -> GraphProto:
        """An attribute that is a graph."""
        return cast("GraphProto", self._attribute(name, GraphProto, None))

    def tensor_of(self, name: str) -> TensorProto:
        """An attribute that is a tensor."""
        return cast("TensorProto", self._attribute(name, TensorProto, None))

    def dtype_of(self, name: str) -> str:
        """An attribute that is an element type, as TVM's name."""
        try:
            return dtype_name_of(self.int_of(name), f"attribute '{name}'")
        except OnnxError as error:
            raise self.error(str(error)) from None

    def is_set(self, name: str) -> bool:
        """Whether an attribute is given or has a default."""
        return name in self.attributes

    def _attribute(self, name: str, kind: type[Any], default: object) -> object:
        value = self.attributes.get(name, default)
        if value is None:
            raise self.error(f"attribute '{name}' is missing")
        if not isinstance(value, _SEQUENCES if kind is list else (kind,)):
            raise self.error(f"attribute '{name}' must be {kind.__name__}, not {value!r}")
        return value

    # ---- results ----

    def emit(self, expr: Expr) -> Expr:
        """The value, computed once, for what uses it several times."""
        return self.graphs.emit(expr)

    def scalar(self, number: float, index: int = 0) -> Expr:
        """A constant of rank 0 of the dtype of an input."""
        return relax.const(np.asarray(number), self.dtype(index))


_SEQUENCES = (list, tuple, range)

Converter: TypeAlias = "Callable[[Node], Results]"

CONVERTERS: dict[str, list[tuple[int, Converter]]] = {}
"""Operators by name, each with the opsets that its converters begin with, descending."""


def converts(*names: str, since: int = 1) -> Callable[[Converter], Converter]:
    """Puts a converter into the table, for the opsets from `since` on."""

    def register(converter: Converter) -> Converter:
        for name in names:
            versions = CONVERTERS.setdefault(name, [])
            versions.append((since, converter))
            versions.sort(key=lambda version: -version[0])
        return converter

    return register


def converter_of(op_type: str, opset: int) -> Converter | None:
    """The converter of an operator in an opset, None where there is none."""
    for since, converter in CONVERTERS.get(op_type, ()):
        if opset >= since:
            return converter
    return None
