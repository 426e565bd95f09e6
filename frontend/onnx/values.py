"""What a name of a graph means while it is converted.

A value is an expression of Relax, or `Known`: its elements are numbers, or dimensions
of the graph's inputs, that later nodes may need as numbers, as Reshape needs its shape.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, cast

import numpy as np
import numpy.typing as npt

from xdsl_tvm import relax
from xdsl_tvm.dialects.relax.symbolic import Dim

Array: TypeAlias = "npt.NDArray[Any]"


@dataclass(frozen=True, eq=False)
class Known:
    """A tensor whose elements are known; of dtype object, they are `Dim` or int."""

    array: Array

    @property
    def dtype(self) -> str:
        """TVM's name of the dtype; dimensions are `int64`."""
        return "int64" if self.array.dtype == object else self.array.dtype.name

    @property
    def is_symbolic(self) -> bool:
        """Whether elements are dimensions."""
        return self.array.dtype == object

    def expr(self) -> relax.Expr:
        """The value in the program."""
        if not self.is_symbolic:
            return relax.const(self.array)
        elements: list[Dim | int] = self.array.ravel().tolist()
        vector = relax.op.shape_to_tensor(relax.ShapeExpr(elements))
        if self.array.ndim == 1:
            return vector
        return relax.op.reshape(vector, list(self.array.shape))


Value: TypeAlias = "relax.Expr | Known"


def as_expr(value: Value) -> relax.Expr:
    """The value as an expression."""
    return value.expr() if isinstance(value, Known) else value


def known(elements: object, dtype: str = "int64") -> Known:
    """A value of known elements; of dimensions where one of them is symbolic."""
    array = np.empty((), object)
    if isinstance(elements, list | tuple):
        items = cast("Sequence[object]", elements)
        array = np.empty(len(items), object)
        array[:] = items
    else:
        array[()] = elements
    return settled(array, dtype)


def settled(array: Array, dtype: str = "int64") -> Known:
    """The value of an array, whose dimensions become numbers where all of them are."""
    if array.dtype != object:
        return Known(array)
    numbers = np.empty(array.shape, object)
    for index, element in np.ndenumerate(array):
        number = element.value if isinstance(element, Dim) else element
        if number is None:
            return Known(array)
        numbers[index] = number
    return Known(numbers.astype(dtype))
