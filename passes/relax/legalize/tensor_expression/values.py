"""What a `TensorProgram` is written with: expressions, tensors, numbers and reducers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from xdsl.ir import Attribute, SSAValue

from xdsl_tvm.dialects import tir
from xdsl_tvm.dialects.dtypes import integer_range

if TYPE_CHECKING:
    from xdsl_tvm.passes.relax.legalize.tensor_expression.program import TensorProgram

Dim: TypeAlias = "int | Expr"
"""An extent: a number, or an `i64` value of the function."""


@dataclass(frozen=True)
class Expr:
    """A value of the function being built; its operators append ops to the program."""

    program: TensorProgram
    value: SSAValue

    @property
    def dtype(self) -> Attribute:
        """The type of the value."""
        return self.value.type

    def _binary(self, kind: type[tir.BinaryOp], other: Expr | float) -> Expr:
        operands = [self.value, self._operand(other).value]
        return self.program.emit(
            kind.create(operands=operands, result_types=[self.dtype])
        )

    def _operand(self, other: Expr | float) -> Expr:
        if isinstance(other, Expr):
            return other
        return self.program.constant(other, self.dtype)

    def __add__(self, other: Expr | float) -> Expr:
        return self._binary(tir.AddOp, other)

    def __sub__(self, other: Expr | float) -> Expr:
        return self._binary(tir.SubOp, other)

    def __mul__(self, other: Expr | float) -> Expr:
        return self._binary(tir.MulOp, other)

    def __truediv__(self, other: Expr | float) -> Expr:
        return self._binary(tir.DivOp, other)

    def __floordiv__(self, other: Expr | float) -> Expr:
        return self._binary(tir.FloorDivOp, other)

    def __mod__(self, other: Expr | float) -> Expr:
        return self._binary(tir.FloorModOp, other)

    def remainder(self, other: Expr | float) -> Expr:
        """`tir.mod`, which has the sign of this value, unlike `%`."""
        return self._binary(tir.ModOp, other)

    def maximum(self, other: Expr | float) -> Expr:
        """`tir.max` with `other`."""
        return self._binary(tir.MaxOp, other)

    def minimum(self, other: Expr | float) -> Expr:
        """`tir.min` with `other`."""
        return self._binary(tir.MinOp, other)

    def _compare(self, predicate: tir.CmpPredicate, other: Expr | float) -> Expr:
        return self.program.compare(predicate, self, self._operand(other))

    def __lt__(self, other: Expr | float) -> Expr:
        return self._compare(tir.CmpPredicate.LT, other)

    def __le__(self, other: Expr | float) -> Expr:
        return self._compare(tir.CmpPredicate.LE, other)

    def __gt__(self, other: Expr | float) -> Expr:
        return self._compare(tir.CmpPredicate.GT, other)

    def __ge__(self, other: Expr | float) -> Expr:
        return self._compare(tir.CmpPredicate.GE, other)

    def equals(self, other: Expr | float) -> Expr:
        """`tir.cmp eq` with `other`: not `==`, which compares expressions themselves."""
        return self._compare(tir.CmpPredicate.EQ, other)

    def __and__(self, other: Expr) -> Expr:
        return self._binary(tir.AndOp, other)

    def __or__(self, other: Expr) -> Expr:
        return self._binary(tir.OrOp, other)

    def __invert__(self) -> Expr:
        return self.program.emit(tir.NotOp(self.value))

    def call(
        self, intrinsic: str, *others: Expr | float, dtype: Attribute | None = None
    ) -> Expr:
        """The builtin of that name on this value and others; `dtype` is the result's."""
        operands = [self, *map(self._operand, others)]
        return self.program.emit(
            tir.CallOp(intrinsic, [each.value for each in operands], dtype or self.dtype)
        )

    def cast(self, dtype: Attribute) -> Expr:
        """The value converted to `dtype`, itself where it has that type."""
        if dtype == self.dtype:
            return self
        operands = [self.value]
        return self.program.emit(
            tir.CastOp.create(operands=operands, result_types=[dtype])
        )


@dataclass(frozen=True)
class Tensor:
    """A tensor of the program: a buffer, its shape and its element type."""

    program: TensorProgram
    buffer: SSAValue
    shape: tuple[Dim, ...]
    dtype: Attribute

    def __getitem__(self, indices: Expr | tuple[Expr, ...]) -> Expr:
        """The element at `indices`, read where the expression is."""
        if isinstance(indices, Expr):
            indices = (indices,)
        return self.program.load(self, [index.value for index in indices])


@dataclass(frozen=True)
class Scalar:
    """A number that is where a tensor of rank 0 could."""

    program: TensorProgram
    value: float | Expr
    dtype: Attribute
    shape: tuple[Dim, ...] = ()

    def __getitem__(self, indices: tuple[Expr, ...]) -> Expr:
        """The number, in its dtype."""
        return self.of(self.dtype)

    def of(self, dtype: Attribute) -> Expr:
        """The number, converted to `dtype`."""
        if isinstance(self.value, Expr):
            return self.value.cast(self.dtype).cast(dtype)
        if isinstance(self.value, int) or not tir.is_integer_type(dtype):
            return self.program.constant(self.value, dtype)
        return self.program.constant(self.value, self.dtype).cast(dtype)


Slice: TypeAlias = "tuple[Tensor, Sequence[Expr | None]]"
"""Elements of a tensor: an index per dimension, None for all of the dimension."""

Operand: TypeAlias = Tensor | Scalar
"""What an operator reads elements from."""

Element: TypeAlias = Callable[..., Expr]
"""An element expression: the indices in, the value out."""


@dataclass(frozen=True)
class Reducer:
    """A commutative combination and its identity."""

    combine: Callable[[Expr, Expr], Expr]
    identity: Callable[[Attribute], float]
    """The neutral element, by dtype."""


def lowest(dtype: Attribute) -> float:
    """The least value of a scalar dtype: minus infinity, or the least integer."""
    if not tir.is_integer_type(dtype):
        return float("-inf")
    return integer_range(dtype)[0]


def highest(dtype: Attribute) -> float:
    """The greatest value of a scalar dtype: infinity, or the greatest integer."""
    if not tir.is_integer_type(dtype):
        return float("inf")
    return integer_range(dtype)[1]


SUM = Reducer(lambda accumulator, x: accumulator + x, lambda _: 0)
PRODUCT = Reducer(lambda accumulator, x: accumulator * x, lambda _: 1)
MIN = Reducer(lambda accumulator, x: accumulator.minimum(x), highest)
MAX = Reducer(lambda accumulator, x: accumulator.maximum(x), lowest)
