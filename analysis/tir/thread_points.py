"""Elements that threads access, in all combinations of values of variables.

Expressions are evaluated by numpy, for all combinations at once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from xdsl.ir import SSAValue

from xdsl_tvm.analysis.arith.expr import (
    Add,
    And,
    Call,
    Cast,
    Cmp,
    Const,
    Expr,
    FloorDiv,
    FloorMod,
    Max,
    Min,
    Mul,
    Not,
    Or,
    Select,
    Sub,
    Value,
    postorder,
)
from xdsl_tvm.analysis.arith.polynomial import Polynomial
from xdsl_tvm.dialects import tir
from xdsl_tvm.dialects.dtypes import integer_range
from xdsl_tvm.dialects.tir import CmpPredicate
from xdsl_tvm.dialects.tir.types import is_integer_type

Columns = Mapping[SSAValue, Any]
"""Variables, each with its value in every combination."""


@dataclass
class Points:
    """Elements that are accessed, column by column, and the threads that do so."""

    element: list[Any]
    thread: Any


def are_apart(one: Points, other: Points) -> bool:
    """Whether every element that both access belongs to a single thread of both."""
    count = len(one.thread)
    if count == 0 or len(other.thread) == 0:
        return True
    columns = [
        np.concatenate(pair) for pair in zip(one.element, other.element, strict=True)
    ]
    thread = np.concatenate((one.thread, other.thread))
    group = np.zeros(len(thread), np.int64)
    for column in columns:
        _, numbers = np.unique(column, return_inverse=True)
        _, group = np.unique(
            group * (int(numbers.max()) + 1) + numbers.reshape(-1), return_inverse=True
        )
        group = group.reshape(-1)
    size = int(group.max()) + 1
    ends: list[Any] = []
    for part in (slice(None, count), slice(count, None)):
        low = np.full(size, np.iinfo(np.int64).max)
        high = np.full(size, -1, np.int64)
        np.minimum.at(low, group[part], thread[part])
        np.maximum.at(high, group[part], thread[part])
        ends.append((low, high))
    (low, high), (other_low, other_high) = ends
    both = (high >= 0) & (other_high >= 0)
    same = (low == high) & (other_low == other_high) & (low == other_low)
    return bool(np.all(same[both]))


def polynomial_values(index: Polynomial, columns: Columns) -> Any:
    """The value of a polynomial in all combinations of its variables.

    None where `evaluate` has none for an atom.
    """
    total: Any = np.int64(0)
    for monomial, factor in index.terms.items():
        product: Any = np.int64(factor)
        for atom in monomial:
            value = evaluate(atom, columns)
            if value is None:
                return None
            product = product * value
        total = total + product
    return total


def evaluate(root: Expr, columns: Columns) -> Any:
    """The value of an integer expression in all combinations of its variables.

    None where a variable, a type or an operation in it is unknown.
    """
    known: dict[Expr, Any] = {}
    for node in postorder(root):
        operands = [known[operand] for operand in node.operands]
        value = None
        if is_integer_type(node.dtype) and not any(o is None for o in operands):
            value = _node_value(node, operands, columns)
            if value is not None:
                low, high = integer_range(node.dtype)
                if high >= 1 << 63 or np.any(value < low) or np.any(value > high):
                    value = None
        known[node] = value
    return known[root]


def _node_value(node: Expr, operands: list[Any], columns: Columns) -> Any:
    match node:
        case Const():
            value = int(node.value)
            return np.int64(value) if abs(value) < 1 << 62 else None
        case Value():
            return columns.get(node.value)
        case Cast():
            return operands[0]
        case FloorDiv() | FloorMod():
            if not np.all(operands[1]):
                return None
            divide = np.floor_divide if isinstance(node, FloorDiv) else np.mod
            return divide(*operands)
        case Cmp():
            return _COMPARISONS[node.predicate](*operands).astype(np.int64)
        case Not():
            return 1 - operands[0] if tir.is_bool(node.dtype) else None
        case Select():
            return _CHOOSE(operands[0] != 0, operands[1], operands[2])
        case Call():
            name = node.name
            if name in ("likely", "tvm_thread_invariant"):
                return operands[0]
            if name.startswith("shift") and not _shifts(operands[1]):
                return None
            return _CALLS[name](*operands) if name in _CALLS else None
        case _:
            function = _ARITHMETIC.get(type(node))
            return None if function is None else function(*operands)


def _shifts(amount: Any) -> bool:
    return bool(np.all((amount >= 0) & (amount < 31)))


_CHOOSE: Any = np.where
_COMPARISONS: dict[CmpPredicate, Any] = {
    CmpPredicate.LT: np.less,
    CmpPredicate.LE: np.less_equal,
    CmpPredicate.GT: np.greater,
    CmpPredicate.GE: np.greater_equal,
    CmpPredicate.EQ: np.equal,
    CmpPredicate.NE: np.not_equal,
}
_ARITHMETIC: dict[type[Expr], Any] = {
    Add: np.add,
    Sub: np.subtract,
    Mul: np.multiply,
    Min: np.minimum,
    Max: np.maximum,
    And: np.bitwise_and,
    Or: np.bitwise_or,
}
_CALLS: dict[str, Any] = {
    "bitwise_and": np.bitwise_and,
    "bitwise_or": np.bitwise_or,
    "bitwise_xor": np.bitwise_xor,
    "shift_left": np.left_shift,
    "shift_right": np.right_shift,
}
