"""Random expression trees, and their values on every point of small ranges.

`evaluate` computes a tree for all points at once, one row per point; a vector has its
lanes along the second axis. A value is undefined where TIR leaves it so: a division by
zero, a shift amount outside of the width. Untaken branches of lazy choices are not
evaluated. Sums of 32- and 64-bit integers are those of the integers, as the analyzer has
them; others wrap around.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from xdsl.dialects.builtin import (
    Float16Type,
    Float32Type,
    Float64Type,
    IntegerType,
    Signedness,
    i1,
    i32,
    i64,
)
from xdsl.ir import Attribute, Block

from xdsl_tvm.analysis.arith import smart
from xdsl_tvm.analysis.arith.expr import (
    Add,
    And,
    Binary,
    Broadcast,
    Call,
    Cast,
    Cmp,
    Const,
    Div,
    Expr,
    FloorDiv,
    FloorMod,
    IfThenElse,
    Max,
    Min,
    Mod,
    Mul,
    Not,
    Or,
    Ramp,
    Select,
    Sub,
    Value,
    fold,
)
from xdsl_tvm.dialects import tir
from xdsl_tvm.dialects.dtypes import integer_range
from xdsl_tvm.dialects.tir import CmpPredicate
from xdsl_tvm.dialects.tir.types import is_index_type

i8 = IntegerType(8)
ui8 = IntegerType(8, Signedness.UNSIGNED)
Array = np.ndarray[Any, np.dtype[Any]]
_FLOATS: dict[type[Attribute], type[np.floating[Any]]] = {
    Float16Type: np.float16,
    Float32Type: np.float32,
    Float64Type: np.float64,
}
_COMPARISONS: dict[CmpPredicate, Callable[[Array, Array], Array]] = {
    CmpPredicate.EQ: np.equal,
    CmpPredicate.NE: np.not_equal,
    CmpPredicate.LT: np.less,
    CmpPredicate.LE: np.less_equal,
    CmpPredicate.GT: np.greater,
    CmpPredicate.GE: np.greater_equal,
}


@dataclass(frozen=True)
class Values:
    """A number for every point, and whether it is defined there."""

    numbers: Array
    defined: Array


def _trunc_div(a: Array, b: Array) -> Array:
    quotient = np.abs(a) // np.abs(b)
    return np.where((a < 0) == (b < 0), quotient, -quotient)


_BINARY: dict[type[Expr], Callable[[Array, Array], Array]] = {
    Add: np.add,
    Sub: np.subtract,
    Mul: np.multiply,
    Div: _trunc_div,
    Mod: lambda a, b: a - _trunc_div(a, b) * b,
    FloorDiv: np.floor_divide,
    FloorMod: np.mod,
    Min: np.minimum,
    Max: np.maximum,
    And: np.bitwise_and,
    Or: np.bitwise_or,
}
_BITWISE: dict[str, Callable[[Array, Array], Array]] = {
    "bitwise_and": np.bitwise_and,
    "bitwise_or": np.bitwise_or,
    "bitwise_xor": np.bitwise_xor,
    "shift_left": np.left_shift,
    "shift_right": np.right_shift,
}
_DIVISIONS = (Div, Mod, FloorDiv, FloorMod)


def _converted(numbers: Array, dtype: Attribute) -> Array:
    """The numbers in the type: cut to its bits, or rounded."""
    element = tir.element_of(dtype)
    kind = _FLOATS.get(type(element))
    if kind is not None:
        return numbers.astype(kind)
    low, high = integer_range(element)
    if high >= 1 << 62:
        return numbers.astype(np.int64)
    return (numbers.astype(np.int64) - low) % (high - low + 1) + low


def _arithmetic(numbers: Array, dtype: Attribute) -> Array:
    if is_index_type(tir.element_of(dtype)) or not tir.is_integer(dtype):
        return numbers
    return _converted(numbers, dtype)


def _rows(values: Array, like: Array) -> Array:
    return values[:, None] if values.ndim < like.ndim else values


def _choice(node: Expr, parts: list[Values]) -> Values:
    condition, true, false = parts
    chosen = _rows(condition.numbers, true.numbers) != 0
    numbers = np.where(chosen, true.numbers, false.numbers)
    if isinstance(node, IfThenElse):
        taken = np.where(condition.numbers != 0, true.defined, false.defined)
        return Values(numbers, condition.defined & taken)
    return Values(numbers, condition.defined & true.defined & false.defined)


def _called(node: Call, parts: list[Values], defined: Array) -> Values:
    numbers = [part.numbers for part in parts]
    if node.name == "likely":
        return parts[0]
    if node.name == "bitwise_not":
        return Values(_converted(~numbers[0], node.dtype), defined)
    if node.name.startswith("shift"):
        assert tir.is_integer_type(node.dtype)
        inside = (numbers[1] >= 0) & (numbers[1] < node.dtype.width.data)
        defined = defined & inside
        numbers[1] = np.where(inside, numbers[1], 0)
    found = _BITWISE[node.name](numbers[0], numbers[1])
    return Values(_converted(found, node.dtype), defined)


def _evaluated(node: Expr, parts: list[Values], points: int) -> Values:
    defined = np.ones(points, dtype=bool)
    for part in parts:
        defined = defined & part.defined
    numbers = [part.numbers for part in parts]
    match node:
        case Const(value=value):
            return Values(
                _converted(np.full(points, value), node.dtype)
                if tir.is_float(node.dtype)
                else np.full(points, value, dtype=np.int64),
                defined,
            )
        case Binary():
            left, right = numbers
            if isinstance(node, _DIVISIONS) and tir.is_integer(node.dtype):
                zero = right == 0
                defined = defined & ~(zero.any(axis=1) if zero.ndim > 1 else zero)
                right = np.where(zero, 1, right)
            found = _BINARY[type(node)](left, right)
            return Values(_arithmetic(found, node.dtype), defined)
        case Cmp(predicate=predicate):
            return Values(_COMPARISONS[predicate](*numbers).astype(np.int64), defined)
        case Not():
            return Values(1 - numbers[0], defined)
        case Select() | IfThenElse():
            return _choice(node, parts)
        case Cast(dtype=dtype):
            source = numbers[0]
            if dtype == i1:
                return Values((source != 0).astype(np.int64), defined)
            whole = np.trunc(source) if source.dtype.kind == "f" else source
            return Values(_converted(whole, dtype), defined)
        case Broadcast(dtype=dtype):
            return Values(np.repeat(numbers[0][:, None], tir.lanes_of(dtype), 1), defined)
        case Ramp(dtype=dtype):
            steps = np.arange(tir.lanes_of(dtype))
            found = numbers[0][:, None] + numbers[1][:, None] * steps
            return Values(_arithmetic(found, dtype), defined)
        case Call():
            return _called(node, parts, defined)
        case _:
            raise ValueError(f"no value for {node}")


def evaluate(root: Expr, leaves: Mapping[Expr, Array]) -> Values:
    """The value of the tree at every point; `leaves` has a number of each per point."""
    points = len(next(iter(leaves.values()))) if leaves else 1
    known = {
        leaf: Values(numbers, np.ones(points, dtype=bool))
        for leaf, numbers in leaves.items()
    }
    with np.errstate(all="ignore"):
        return fold(root, lambda node, parts: _evaluated(node, parts, points), known)


def grid(ranges: Mapping[Expr, Sequence[int]]) -> dict[Expr, Array]:
    """Every combination of the numbers that the leaves may be."""
    axes = np.meshgrid(
        *(np.array(r, dtype=np.int64) for r in ranges.values()), indexing="ij"
    )
    return {leaf: axis.ravel() for leaf, axis in zip(ranges, axes, strict=True)}


def leaves_of(*dtypes: Attribute) -> list[Expr]:
    """New leaves of these types."""
    return [Value(argument) for argument in Block(arg_types=dtypes).args]


_ARITHMETIC = (Add, Add, Sub, Sub, Mul, Mul, Div, Mod, FloorDiv, FloorMod, Min, Max)
_CALLS = ("bitwise_and", "bitwise_or", "bitwise_xor", "shift_left", "shift_right")


class Trees:
    """Makes random trees over leaves, all operators and signs among them.

    With `index_only`, trees have what index arithmetic has: one type, no bits, no casts.
    """

    def __init__(
        self, leaves: Sequence[Expr], seed: int, *, index_only: bool = False
    ) -> None:
        self.leaves = leaves
        self.random = random.Random(seed)
        self.index_only = index_only

    def integer(self, size: int, dtype: Attribute = i32) -> Expr:
        """A tree of an integer type with about `size` nodes."""
        pick = self.random.random()
        if size <= 1:
            return self._leaf(dtype)
        if pick < 0.08:
            condition = self.condition(size // 3)
            parts = self.integer(size // 3, dtype), self.integer(size // 3, dtype)
            lazy = self.random.random() < 0.3
            return (IfThenElse if lazy else Select)(condition, *parts)
        if not self.index_only:
            if pick < 0.16:
                name = self.random.choice(_CALLS)
                left = self.integer(size // 2, dtype)
                if name.startswith("shift"):
                    amount = Const(self.random.randrange(0, 4), dtype)
                    return Call(name, [left, amount], dtype)
                return Call(name, [left, self.integer(size // 2, dtype)], dtype)
            if pick < 0.24:
                source = self.random.choice((i8, ui8, i32, i64))
                return smart.cast(dtype, self.integer(size - 1, source))
        kind = self.random.choice(_ARITHMETIC)
        left = self.random.randrange(1, size)
        right = self.integer(size - left, dtype)
        if kind in _DIVISIONS and self.random.random() < 0.7:
            right = self._divisor(dtype)
        return kind(self.integer(left, dtype), right)

    def condition(self, size: int) -> Expr:
        """A tree of type `i1`."""
        pick = self.random.random()
        if size >= 4 and pick < 0.4:
            left, right = self.condition(size // 2), self.condition(size // 2)
            kind = self.random.choice((And, Or))
            return Not(left) if pick < 0.1 else kind(left, right)
        predicate = self.random.choice(list(CmpPredicate))
        half = max(size // 2, 1)
        return Cmp(predicate, self.integer(half), self.integer(half))

    def _divisor(self, dtype: Attribute) -> Expr:
        number = self.random.choice((1, 2, 2, 3, 4, 4, 5, 8, 12, -1, -2, -3, -4))
        return Const(abs(number) if tir.is_uint(dtype) else number, dtype)

    def _leaf(self, dtype: Attribute) -> Expr:
        if self.random.random() < 0.6:
            fitting = [leaf for leaf in self.leaves if leaf.dtype == dtype]
            if fitting:
                return self.random.choice(fitting)
        number = self.random.randrange(-6, 13)
        return Const(abs(number) if tir.is_uint(dtype) else number, dtype)


# ---- trees as Python expressions ----


@dataclass(frozen=True, eq=False)
class Symbol:
    """A tree, with Python's operators: `//` and `%` round down; nothing is simplified."""

    node: Expr

    def __add__(self, other: Operand) -> Symbol:
        return _pair(Add, self, other)

    def __radd__(self, other: int) -> Symbol:
        return _pair(Add, other, self)

    def __sub__(self, other: Operand) -> Symbol:
        return _pair(Sub, self, other)

    def __rsub__(self, other: int) -> Symbol:
        return _pair(Sub, other, self)

    def __mul__(self, other: Operand) -> Symbol:
        return _pair(Mul, self, other)

    def __rmul__(self, other: int) -> Symbol:
        return _pair(Mul, other, self)

    def __floordiv__(self, other: Operand) -> Symbol:
        return _pair(FloorDiv, self, other)

    def __mod__(self, other: Operand) -> Symbol:
        return _pair(FloorMod, self, other)

    def __neg__(self) -> Symbol:
        return self * -1

    def __lt__(self, other: Operand) -> Symbol:
        return comparison(CmpPredicate.LT, self, other)

    def __le__(self, other: Operand) -> Symbol:
        return comparison(CmpPredicate.LE, self, other)

    def __gt__(self, other: Operand) -> Symbol:
        return comparison(CmpPredicate.GT, self, other)

    def __ge__(self, other: Operand) -> Symbol:
        return comparison(CmpPredicate.GE, self, other)

    def __and__(self, other: Symbol) -> Symbol:
        return _pair(And, self, other)

    def __or__(self, other: Symbol) -> Symbol:
        return _pair(Or, self, other)

    def __invert__(self) -> Symbol:
        return Symbol(Not(self.node))

    def to(self, dtype: Attribute) -> Symbol:
        """The cast to another type."""
        return Symbol(Cast(dtype, self.node))


Operand = Symbol | int


def symbols(*dtypes: Attribute) -> list[Symbol]:
    """New leaves of these types."""
    return [Symbol(leaf) for leaf in leaves_of(*dtypes)]


def _nodes(lhs: Operand, rhs: Operand) -> tuple[Expr, Expr]:
    return smart.matched(*(x.node if isinstance(x, Symbol) else x for x in (lhs, rhs)))


def _pair(kind: type[Binary], lhs: Operand, rhs: Operand) -> Symbol:
    return Symbol(kind(*_nodes(lhs, rhs)))


def comparison(predicate: CmpPredicate, lhs: Operand, rhs: Operand) -> Symbol:
    return Symbol(Cmp(predicate, *_nodes(lhs, rhs)))


def equal(lhs: Operand, rhs: Operand) -> Symbol:
    return comparison(CmpPredicate.EQ, lhs, rhs)


def td(lhs: Operand, rhs: Operand) -> Symbol:
    """The quotient rounded toward zero."""
    return _pair(Div, lhs, rhs)


def tm(lhs: Operand, rhs: Operand) -> Symbol:
    """The remainder of `td`."""
    return _pair(Mod, lhs, rhs)


def least(lhs: Operand, rhs: Operand) -> Symbol:
    return _pair(Min, lhs, rhs)


def greatest(lhs: Operand, rhs: Operand) -> Symbol:
    return _pair(Max, lhs, rhs)


def choice(
    condition: Symbol, lhs: Operand, rhs: Operand, *, lazy: bool = False
) -> Symbol:
    """The eager or the lazy choice."""
    kind = IfThenElse if lazy else Select
    return Symbol(kind(condition.node, *_nodes(lhs, rhs)))
