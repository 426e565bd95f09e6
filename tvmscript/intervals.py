"""Symbolic intervals of index expressions whose variables have ranges.

An interval is the least and the greatest value; None stands for all integers. Bounds are
found operation by operation, so they hold but need not be tight (spec tvmscript.md §9).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from xdsl_tvm.analysis import expr as tree
from xdsl_tvm.analysis import smart
from xdsl_tvm.analysis.polynomial import Polynomial, polynomial
from xdsl_tvm.dialects import tir
from xdsl_tvm.dialects.tir.types import (
    bits_of_lane,
    element_of,
    is_index_type,
    is_scalable,
    lanes_of,
)


@dataclass(frozen=True)
class Interval:
    """The integers from `low` to `high`, both included."""

    low: tree.Expr
    high: tree.Expr

    @property
    def is_point(self) -> bool:
        """Whether both ends are one tree."""
        return self.low is self.high

    @property
    def extent(self) -> tree.Expr:
        """How many integers there are, simplified."""
        length = polynomial(self.high) - polynomial(self.low) + Polynomial.constant(1)
        return length.to_expr(self.low.dtype)


Ranges = Mapping[tree.Expr, Interval | None]
"""What leaves range over; those that are missing have one value."""


def point(value: tree.Expr) -> Interval:
    """The interval of one value."""
    return Interval(value, value)


def known_difference(lhs: tree.Expr, rhs: tree.Expr) -> int | None:
    """`lhs - rhs` where it is a constant."""
    return (polynomial(lhs) - polynomial(rhs)).as_constant


def minimum(lhs: tree.Expr, rhs: tree.Expr) -> tree.Expr:
    """The smaller one, without a node where it is known which."""
    distance = known_difference(lhs, rhs)
    if distance is None:
        return smart.minimum(lhs, rhs)
    return lhs if distance <= 0 else rhs


def maximum(lhs: tree.Expr, rhs: tree.Expr) -> tree.Expr:
    """The greater one, without a node where it is known which."""
    distance = known_difference(lhs, rhs)
    if distance is None:
        return smart.maximum(lhs, rhs)
    return lhs if distance >= 0 else rhs


def hull(first: Interval | None, second: Interval | None) -> Interval | None:
    """The least interval around both."""
    if first is None or second is None:
        return None
    if first == second:
        return first
    return Interval(minimum(first.low, second.low), maximum(first.high, second.high))


def interval_of(root: tree.Expr, ranges: Ranges) -> Interval | None:
    """The values that an index may have; of a vector, those of its lanes."""

    def visit(node: tree.Expr, parts: list[Interval | None]) -> Interval | None:
        if node in ranges:
            return ranges[node]
        if not all(part is not None and part.is_point for part in parts):
            return _combined(node, parts)
        return _of_points(node)

    return tree.fold(root, visit)


def _of_points(node: tree.Expr) -> Interval | None:
    """The interval of a node that depends on no range."""
    if isinstance(node, tree.Broadcast):
        return point(node.value)
    if isinstance(node, tree.Ramp):
        return _of_ramp(node, point(node.base), point(node.stride))
    return point(node) if not tir.is_vector(node.dtype) else None


def _combined(node: tree.Expr, parts: list[Interval | None]) -> Interval | None:
    if None in parts or not is_index_type(element_of(node.dtype)):
        return None
    known = [part for part in parts if part is not None]
    if isinstance(node, tree.Ramp):
        return _of_ramp(node, known[0], known[1])
    if isinstance(node, tree.Broadcast):
        return known[0]
    rule = _RULES.get(type(node))
    return None if rule is None or tir.is_vector(node.dtype) else rule(node, *known)


def _of_ramp(node: tree.Ramp, base: Interval, stride: Interval) -> Interval | None:
    if is_scalable(node.dtype) or not isinstance(stride.low, tree.Const):
        return None
    if not stride.is_point:
        return None
    reach = smart.mul(stride.low, tree.Const(lanes_of(node.dtype) - 1, node.base.dtype))
    last = Interval(smart.add(base.low, reach), smart.add(base.high, reach))
    return hull(base, last)


def _sum(node: tree.Expr, lhs: Interval, rhs: Interval) -> Interval:
    return Interval(smart.add(lhs.low, rhs.low), smart.add(lhs.high, rhs.high))


def _difference(node: tree.Expr, lhs: Interval, rhs: Interval) -> Interval:
    return Interval(smart.sub(lhs.low, rhs.high), smart.sub(lhs.high, rhs.low))


def _product(node: tree.Expr, lhs: Interval, rhs: Interval) -> Interval | None:
    ranged, factor = (lhs, rhs) if rhs.is_point else (rhs, lhs)
    if not isinstance(factor.low, tree.Const) or not factor.is_point:
        return None
    ends = [smart.mul(end, factor.low) for end in (ranged.low, ranged.high)]
    return Interval(*(ends if factor.low.value >= 0 else reversed(ends)))


def _divisor(interval: Interval) -> tree.Const | None:
    """A divisor that is a positive constant."""
    divisor = interval.low
    if not interval.is_point or not isinstance(divisor, tree.Const):
        return None
    return divisor if divisor.value > 0 else None


def _quotient(node: tree.Expr, lhs: Interval, rhs: Interval) -> Interval | None:
    divisor = _divisor(rhs)
    if divisor is None:
        return None
    divide = smart.floordiv if isinstance(node, tree.FloorDiv) else smart.truncdiv
    return Interval(divide(lhs.low, divisor), divide(lhs.high, divisor))


def _remainder(node: tree.Expr, lhs: Interval, rhs: Interval) -> Interval | None:
    divisor = _divisor(rhs)
    if divisor is None:
        return None
    bounds = _as_constants(lhs)
    size = int(divisor.value)
    if bounds is not None and bounds[0] // size == bounds[1] // size:
        return _constants(bounds[0] % size, bounds[1] % size, node)
    return _constants(0, size - 1, node)


def _truncated_remainder(
    node: tree.Expr, lhs: Interval, rhs: Interval
) -> Interval | None:
    bounds = _as_constants(lhs)
    if bounds is None or bounds[0] < 0:
        return None
    return _remainder(node, lhs, rhs)


def _constants(low: int, high: int, like: tree.Expr) -> Interval:
    return Interval(tree.Const(low, like.dtype), tree.Const(high, like.dtype))


def _as_constants(interval: Interval) -> tuple[int, int] | None:
    low, high = interval.low, interval.high
    if not isinstance(low, tree.Const) or not isinstance(high, tree.Const):
        return None
    return int(low.value), int(high.value)


def _smaller(node: tree.Expr, lhs: Interval, rhs: Interval) -> Interval:
    return Interval(minimum(lhs.low, rhs.low), minimum(lhs.high, rhs.high))


def _greater(node: tree.Expr, lhs: Interval, rhs: Interval) -> Interval:
    return Interval(maximum(lhs.low, rhs.low), maximum(lhs.high, rhs.high))


def _chosen(
    node: tree.Expr, condition: Interval, lhs: Interval, rhs: Interval
) -> Interval | None:
    return hull(lhs, rhs)


def _converted(node: tree.Expr, value: Interval) -> Interval | None:
    source = value.low.dtype
    if not is_index_type(source) or bits_of_lane(node.dtype) < bits_of_lane(source):
        return None
    return Interval(smart.cast(node.dtype, value.low), smart.cast(node.dtype, value.high))


_RULES: Mapping[type[tree.Expr], Callable[..., Interval | None]] = {
    tree.Add: _sum,
    tree.Sub: _difference,
    tree.Mul: _product,
    tree.FloorDiv: _quotient,
    tree.Div: _quotient,
    tree.FloorMod: _remainder,
    tree.Mod: _truncated_remainder,
    tree.Min: _smaller,
    tree.Max: _greater,
    tree.Select: _chosen,
    tree.Cast: _converted,
}


# ---- conditions ----

_FLIPPED = {
    tir.CmpPredicate.LT: tir.CmpPredicate.GE,
    tir.CmpPredicate.LE: tir.CmpPredicate.GT,
    tir.CmpPredicate.GT: tir.CmpPredicate.LE,
    tir.CmpPredicate.GE: tir.CmpPredicate.LT,
    tir.CmpPredicate.EQ: tir.CmpPredicate.NE,
    tir.CmpPredicate.NE: tir.CmpPredicate.EQ,
}


def tightened(condition: tree.Expr, holds: bool, ranges: Ranges) -> Ranges:
    """The leaves that range less where a condition holds, or does not.

    Looks at the comparisons that must hold then and are linear in a leaf.
    """
    found: dict[tree.Expr, Interval | None] = {}
    for predicate, lhs, rhs in _comparisons(condition, holds):
        for leaf, bounds in _solved(predicate, lhs, rhs, ranges):
            found[leaf] = _intersection(found.get(leaf, ranges[leaf]), bounds)
    return found


def _comparisons(
    condition: tree.Expr, holds: bool
) -> Iterator[tuple[tir.CmpPredicate, tree.Expr, tree.Expr]]:
    stack = [(condition, holds)]
    while stack:
        node, positive = stack.pop()
        match node:
            case tree.And(lhs, rhs) if positive:
                stack += [(rhs, True), (lhs, True)]
            case tree.Or(lhs, rhs) if not positive:
                stack += [(rhs, False), (lhs, False)]
            case tree.Not(value):
                stack.append((value, not positive))
            case tree.Call("likely", (value,)):
                stack.append((value, positive))
            case tree.Cmp(predicate, lhs, rhs):
                yield predicate if positive else _FLIPPED[predicate], lhs, rhs
            case _:
                pass


Bounds = tuple[tree.Expr | None, tree.Expr | None]
"""A least and a greatest value, None where there is none."""


def _solved(
    predicate: tir.CmpPredicate, lhs: tree.Expr, rhs: tree.Expr, ranges: Ranges
) -> Iterator[tuple[tree.Expr, Bounds]]:
    """Bounds of ranged leaves that a comparison of integers implies."""
    if not tir.is_integer_type(lhs.dtype) or predicate is tir.CmpPredicate.NE:
        return
    difference = polynomial(lhs) - polynomial(rhs)
    for monomial, factor in difference.terms.items():
        if len(monomial) != 1 or ranges.get(monomial[0]) is None:
            continue
        (leaf,) = monomial
        rest = Polynomial({m: -c for m, c in difference.terms.items() if m != monomial})
        if any(leaf in tree.postorder(atom) for m in rest.terms for atom in m):
            continue
        others = interval_of(rest.to_expr(leaf.dtype), ranges)
        if others is not None:
            yield leaf, _bounds(predicate, factor, others, leaf)


def _bounds(
    predicate: tir.CmpPredicate, factor: int, others: Interval, leaf: tree.Expr
) -> Bounds:
    """Bounds of the leaf from `factor * leaf <predicate> others`."""
    below = predicate in (tir.CmpPredicate.LT, tir.CmpPredicate.LE)
    above = predicate in (tir.CmpPredicate.GT, tir.CmpPredicate.GE)
    strict = 1 if predicate in (tir.CmpPredicate.LT, tir.CmpPredicate.GT) else 0
    size = tree.Const(abs(factor), leaf.dtype)
    most: tree.Expr | None = None
    least: tree.Expr | None = None
    if not above:
        most = smart.sub(others.high, strict)
    if not below:
        least = smart.add(others.low, strict)
    if factor < 0:
        zero = tree.Const(0, leaf.dtype)
        most, least = (
            None if least is None else smart.sub(zero, least),
            None if most is None else smart.sub(zero, most),
        )
    if least is not None and size.value != 1:
        # Rounded up, which is adding one less than the divisor and rounding down.
        least = smart.add(least, int(size.value) - 1)
    return (
        None if least is None else smart.floordiv(least, size),
        None if most is None else smart.floordiv(most, size),
    )


def _intersection(known: Interval | None, bounds: Bounds) -> Interval | None:
    if known is None:
        return None
    least, most = bounds
    low = known.low if least is None else maximum(known.low, least)
    high = known.high if most is None else minimum(known.high, most)
    distance = known_difference(high, low)
    # Code that is never reached accesses nothing; the wider range does no harm.
    return known if distance is not None and distance < 0 else Interval(low, high)
