"""Integer sets: intervals whose ends are trees.

`[min, max]` is the set of all integers `x` with `min <= x <= max`, where either end may
be missing, which makes the set unbounded on that side. Given an environment, sets that
some leaves are known to be in, `int_set` finds for a tree `e` a set such that

    for all values of the leaves that the facts of the analyzer allow, and that are in
    the sets of the environment: `e` is in the set, wherever `e` is defined.

The ends of the result do not mention a leaf of the environment, unless that leaf is there
as the single point that it is. So relaxing the variables of loops gives what an
expression may be over all iterations. Sets only ever grow on the way: the result may hold
more than the values of `e`. Ends divide only by what `e` divides by; so they are defined
where `e` is, but perhaps not where no iteration is executed.

Rules are those of docs/spec/tir-passes-b-arith-and-loops.md §1.9, made sound where they
are not:

- Arithmetic of 32- and 64-bit signed integers is that of the integers. Other integers
  wrap around, and nothing is said of them but where they do not vary.
- A remainder has the sign of the dividend if it is the truncated one; it is bounded on
  both sides unless the dividend is known not to be negative.
- A value made inside of the body of a relaxed loop, such as a loaded one, may be another
  one in each iteration, so it has no more than constant bounds.
- A narrowing cast keeps the ends only where they fit.
- The branches of a lazy choice are used only if they divide by nothing but literals.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING

from xdsl.dialects.builtin import i1
from xdsl.ir import Attribute, Block, BlockArgument

from xdsl_tvm.analysis.arith import smart
from xdsl_tvm.analysis.arith.const_int_bound import type_bound
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
    postorder,
)
from xdsl_tvm.analysis.arith.facts import SWAPPED, ScopedTable
from xdsl_tvm.dialects import tir
from xdsl_tvm.dialects.dtypes import integer_range
from xdsl_tvm.dialects.integers import INF, Bound
from xdsl_tvm.dialects.tir import CmpPredicate
from xdsl_tvm.dialects.tir.types import is_index_type

if TYPE_CHECKING:
    from xdsl_tvm.analysis.arith.analyzer import Analyzer


@dataclass(frozen=True)
class Range:
    """The integers from `min` on, `extent` of them."""

    min: Expr
    extent: Expr


@dataclass(frozen=True)
class IntSet:
    """All integers from `min` to `max`, both included; an end of None is infinite.

    Ends are scalar trees. Where the ends contradict each other for some values of the
    leaves, the set is empty there; `NOTHING` is empty always.
    """

    min: Expr | None
    max: Expr | None
    is_nothing: bool = False

    @property
    def is_everything(self) -> bool:
        return self.min is None and self.max is None and not self.is_nothing

    @property
    def is_bounded(self) -> bool:
        """Whether both ends are there."""
        return self.min is not None and self.max is not None

    @property
    def point(self) -> Expr | None:
        """The one member, where both ends are the same tree."""
        return self.min if self.min is self.max else None

    def is_point(self, node: Expr) -> bool:
        """Whether `node` is the one member."""
        return self.min is node and self.max is node

    def __str__(self) -> str:
        if self.is_nothing:
            return "nothing"
        low = "(-inf" if self.min is None else f"[{self.min}"
        return f"{low}, +inf)" if self.max is None else f"{low}, {self.max}]"


EVERYTHING = IntSet(None, None)
NOTHING = IntSet(None, None, is_nothing=True)
_BOOLEAN = IntSet(Const(0, i1), Const(1, i1))


def single_point(node: Expr) -> IntSet:
    """The set of one number."""
    return IntSet(node, node)


def from_range(found: Range) -> IntSet:
    """The numbers of a range."""
    if smart.literal(found.extent) == 1:
        return single_point(found.min)
    return IntSet(found.min, smart.sub(smart.add(found.min, found.extent), 1))


# ---- operations on sets ----


def _least(a: Expr | None, b: Expr | None) -> Expr | None:
    """The lower of two lower ends."""
    return None if a is None or b is None else smart.minimum(a, b)


def _greatest(a: Expr | None, b: Expr | None) -> Expr | None:
    """The upper of two upper ends."""
    return None if a is None or b is None else smart.maximum(a, b)


def _hull(a: IntSet, b: IntSet) -> IntSet:
    if a.is_nothing or b.is_nothing:
        return b if a.is_nothing else a
    if a == b:
        return a
    return IntSet(_least(a.min, b.min), _greatest(a.max, b.max))


def meet(a: IntSet, b: IntSet) -> IntSet:
    """What is in both, which may be nothing; not simplified."""
    if a.is_nothing or b.is_nothing:
        return NOTHING
    low = b.min if a.min is None else a.min
    if a.min is not None and b.min is not None:
        low = smart.maximum(a.min, b.min)
    high = b.max if a.max is None else a.max
    if a.max is not None and b.max is not None:
        high = smart.minimum(a.max, b.max)
    return IntSet(low, high)


def added(a: IntSet, b: IntSet) -> IntSet:
    """The sums of a member of each set, which are not empty."""
    return IntSet(_both(smart.add, a.min, b.min), _both(smart.add, a.max, b.max))


def simplified(found: IntSet, analyzer: Analyzer) -> IntSet:
    """The set with simplified ends."""
    low = None if found.min is None else analyzer.simplify(found.min)
    if found.min is not None and found.min is found.max:
        return IntSet(low, low)
    high = None if found.max is None else analyzer.simplify(found.max)
    return IntSet(low, high, found.is_nothing)


def union(sets: Iterable[IntSet], analyzer: Analyzer) -> IntSet:
    """The least interval that holds all of the sets; `NOTHING` if there are none."""
    total = NOTHING
    for found in sets:
        total = _hull(total, found)
    return simplified(total, analyzer)


def intersection(sets: Iterable[IntSet], analyzer: Analyzer) -> IntSet:
    """What is in all of the sets; `NOTHING` where that is certainly empty."""
    total = EVERYTHING
    for found in sets:
        total = meet(total, found)
    total = simplified(total, analyzer)
    if total.min is None or total.max is None:
        return total
    empty = smart.lt(total.max, total.min)
    return NOTHING if analyzer.can_prove(empty) else total


def union_lower_bound(sets: Iterable[IntSet], analyzer: Analyzer) -> IntSet:
    """An interval all of whose members are in at least one of the sets.

    It starts from the first set that is not `NOTHING`; later ones join where they
    certainly overlap it or touch it, and are ignored otherwise.
    """
    total = NOTHING
    for found in sets:
        if found.is_nothing:
            continue
        if total.is_nothing:
            total = found
        elif _touches(found, total, analyzer) and _touches(total, found, analyzer):
            total = _hull(total, found)
    return simplified(total, analyzer)


def _touches(a: IntSet, b: IntSet, analyzer: Analyzer) -> bool:
    """Whether `a` certainly starts no later than right after the end of `b`."""
    if a.min is None or b.max is None:
        return True
    return analyzer.can_prove(smart.le(a.min, smart.add(b.max, 1)))


def union_regions(
    regions: Iterable[Sequence[IntSet]], analyzer: Analyzer
) -> list[IntSet]:
    """The unions of sets per dimension; the regions have one rank."""
    return [union(sets, analyzer) for sets in zip(*regions, strict=True)]


def union_regions_lower_bound(
    regions: Iterable[Sequence[IntSet]], analyzer: Analyzer
) -> list[IntSet]:
    """A box inside of the union of boxes.

    Starts from the first box; a later one joins if the two agree in all dimensions but
    one, where they overlap or touch.
    """
    total: list[IntSet] | None = None
    for region in regions:
        if any(found.is_nothing for found in region):
            continue
        if total is None:
            total = list(region)
            continue
        differing = [
            n
            for n, pair in enumerate(zip(total, region, strict=True))
            if pair[0] != pair[1]
        ]
        if len(differing) == 1:
            (n,) = differing
            total[n] = union_lower_bound((total[n], region[n]), analyzer)
    return total or []


def cover_range(found: IntSet, default: Range, analyzer: Analyzer) -> Range:
    """The range of the members, simplified; `default` where the set is unbounded."""
    if found.min is None or found.max is None:
        return default
    if found.point is not None:
        return Range(found.min, smart.const(1, found.min.dtype))
    extent = analyzer.simplify(smart.add(smart.sub(found.max, found.min), 1))
    return Range(found.min, extent)


def matches_range(found: IntSet, expected: Range, analyzer: Analyzer) -> bool:
    """Whether the set certainly has the ends of the range."""
    if found.min is None or found.max is None:
        return False
    ends = from_range(expected)
    assert ends.min is not None
    assert ends.max is not None
    return analyzer.can_prove_equal(found.min, ends.min) and analyzer.can_prove_equal(
        found.max, ends.max
    )


def can_prove_positive(found: IntSet, analyzer: Analyzer) -> bool:
    """Whether all members are certainly greater than zero."""
    return found.min is not None and analyzer.can_prove_greater_equal(found.min, 1)


def can_prove_negative(found: IntSet, analyzer: Analyzer) -> bool:
    """Whether all members are certainly less than zero."""
    return found.max is not None and analyzer.can_prove_less(found.max, 0)


def can_prove_non_negative(found: IntSet, analyzer: Analyzer) -> bool:
    """Whether no member is negative."""
    return found.min is not None and analyzer.can_prove_greater_equal(found.min, 0)


def can_prove_non_positive(found: IntSet, analyzer: Analyzer) -> bool:
    """Whether no member is positive."""
    return found.max is not None and analyzer.can_prove_less(found.max, 1)


# ---- values made in loops ----


def bodies_of(variables: Iterable[Expr]) -> set[Block]:
    """The blocks in which values may depend on one of the variables.

    Those that have the variable as an argument, or that hold the op which makes it.
    """
    blocks: set[Block] = set()
    for variable in variables:
        if isinstance(variable, Value):
            owner = variable.value.owner
            block = owner if isinstance(owner, Block) else owner.parent_block()
            if block is not None:
                blocks.add(block)
    return blocks


def varies(leaf: Expr, bodies: AbstractSet[Block]) -> bool:
    """Whether a leaf is made inside of one of the blocks, each time anew.

    An argument of a block is not: it is a variable, and what it ranges over is known or
    does not matter. Nor is the variable of a shape.
    """
    if not bodies or not isinstance(leaf, Value) or isinstance(leaf.value, BlockArgument):
        return False
    if isinstance(leaf.value.owner, tir.ShapeVarOp):
        return False
    block = leaf.value.owner.parent_block()
    while block is not None and block not in bodies:
        block = block.parent_block()
    return block is not None


# ---- intervals that scopes give ----


class IntervalFacts:
    """Comparisons of leaves with trees, in scopes that end in the order they began."""

    def __init__(self) -> None:
        self._sets: ScopedTable[tuple[IntSet, ...]] = ScopedTable()

    def mark(self) -> int:
        """The present state, for `rewind`."""
        return self._sets.mark()

    def rewind(self, mark: int) -> None:
        """Forget what was added since the mark."""
        self._sets.rewind(mark)

    def about(self, leaf: Expr) -> tuple[IntSet, ...]:
        """The sets that a leaf is in."""
        return self._sets.get(leaf) or ()

    def assume(self, condition: Expr) -> None:
        """Record a comparison that holds; any other condition says nothing here."""
        if not isinstance(condition, Cmp) or not is_index_type(condition.lhs.dtype):
            return
        lhs, rhs = condition.lhs, condition.rhs
        if isinstance(lhs, Value):
            self._add(lhs, compared(condition.predicate, rhs))
        if isinstance(rhs, Value):
            self._add(rhs, compared(SWAPPED[condition.predicate], lhs))

    def _add(self, leaf: Expr, found: IntSet) -> None:
        if not found.is_everything:
            self._sets.set(leaf, (*self.about(leaf), found))


def compared(predicate: CmpPredicate, other: Expr) -> IntSet:
    """The set of all `x` with `x predicate other`."""
    match predicate:
        case CmpPredicate.LT:
            return IntSet(None, smart.sub(other, 1))
        case CmpPredicate.LE:
            return IntSet(None, other)
        case CmpPredicate.GT:
            return IntSet(smart.add(other, 1), None)
        case CmpPredicate.GE:
            return IntSet(other, None)
        case CmpPredicate.EQ:
            return single_point(other)
        case CmpPredicate.NE:
            return EVERYTHING


# ---- sets of trees ----


class IntSetEvaluator:
    """Sets of trees under one environment, which must not change meanwhile.

    Every node is visited once as long as the facts of the analyzer stay what they are.
    """

    def __init__(self, analyzer: Analyzer, env: Mapping[Expr, IntSet]) -> None:
        self._analyzer = analyzer
        self._env = env
        self._known: dict[Expr, IntSet] = {}
        self._bodies = bodies_of(k for k, found in env.items() if not found.is_point(k))

    def __call__(self, root: Expr) -> IntSet:
        """The set of a tree; its ends are not simplified."""
        for leaf in self._unrelaxed(root):
            self._known[leaf] = self._relaxed(leaf)
        return fold(root, self._set, self._known)

    def of_range(self, found: Range) -> IntSet:
        """The set of all numbers of a range, whose ends may vary."""
        if self._analyzer.can_prove_equal(found.extent, smart.const(1, found.min.dtype)):
            return self(found.min)
        # The two may share variables, which cancel here but not in the ends.
        end = self._analyzer.simplify(smart.sub(smart.add(found.min, found.extent), 1))
        low, high = self(found.min), self(end)
        if low.is_nothing or high.is_nothing:
            return NOTHING
        return IntSet(low.min, high.max)

    # ---- the environment ----

    def _given(self, leaf: Expr) -> IntSet:
        """What is known of a leaf of the environment, in terms of other leaves."""
        found = self._env[leaf]
        if found.is_point(leaf):
            return found
        for fact in self._analyzer.intervals_of(leaf):
            found = meet(found, fact)
        return found

    def _unrelaxed(self, root: Expr) -> list[Expr]:
        """The leaves of the environment that the tree needs, each after its ends."""
        order: list[Expr] = []
        seen: set[Expr] = set()
        stack = [(leaf, False) for leaf in self._leaves(root)]
        while stack:
            leaf, done = stack.pop()
            if done:
                order.append(leaf)
            elif leaf not in seen and leaf not in self._known:
                seen.add(leaf)
                stack.append((leaf, True))
                found = self._given(leaf)
                for end in (found.min, found.max):
                    if end is not None and not found.is_point(leaf):
                        stack += [(other, False) for other in self._leaves(end)]
        return order

    def _leaves(self, *roots: Expr) -> list[Expr]:
        return [node for node in postorder(*roots) if node in self._env]

    def _relaxed(self, leaf: Expr) -> IntSet:
        """The set of a leaf whose ends have been relaxed.

        An end that needs a leaf which in turn needs this one is given up.
        """
        found = self._given(leaf)
        if found.is_nothing or found.is_point(leaf):
            return found
        waiting = {
            other: EVERYTHING
            for end in (found.min, found.max)
            if end is not None
            for other in self._leaves(end)
            if other not in self._known
        }
        known = {**self._known, **waiting} if waiting else self._known
        low = None if found.min is None else fold(found.min, self._set, known)
        high = None if found.max is None else fold(found.max, self._set, known)
        if low is not None and high is not None and (low.is_nothing or high.is_nothing):
            return NOTHING
        return IntSet(
            None if low is None else low.min, None if high is None else high.max
        )

    # ---- nodes ----

    def _set(self, node: Expr, operands: list[IntSet]) -> IntSet:
        if any(operand.is_nothing for operand in operands):
            return NOTHING
        if not operands:
            return self._leaf(node)
        if not tir.is_vector(node.dtype) and all(
            found.is_point(operand)
            for found, operand in zip(operands, node.operands, strict=True)
        ):
            return single_point(node)
        match node:
            case Cmp() | Not() | And() | Or():
                return _BOOLEAN
            case Broadcast() | Call(name="likely"):
                return operands[0]
            case Select():
                return _hull(operands[1], operands[2])
            case IfThenElse() if always_defined(operands[1], operands[2]):
                return _hull(operands[1], operands[2])
            case Cast(value=value):
                return self._cast(node, value.dtype, operands[0])
            case _:
                return self._arithmetic(node, operands)

    def _leaf(self, node: Expr) -> IntSet:
        if tir.is_vector(node.dtype):
            return self._bounded(node)
        if varies(node, self._bodies):
            return self._bounded(node)
        return single_point(node)

    def _bounded(self, node: Expr) -> IntSet:
        """The constants that a value is between, where they say more than its type."""
        element = tir.element_of(node.dtype)
        bound = self._analyzer.const_int_bound(node)
        if not is_index_type(element) or bound.contains(type_bound(element)):
            return EVERYTHING
        return IntSet(_end(bound.min, element), _end(bound.max, element))

    def _cast(self, node: Cast, source: Attribute, value: IntSet) -> IntSet:
        target, source = tir.element_of(node.dtype), tir.element_of(source)
        if not (tir.is_integer(target) and tir.is_integer(source)):
            return EVERYTHING
        if tir.is_bool(target):
            return _BOOLEAN
        low, high = integer_range(target)
        inside = Bound(low, high)
        least, greatest = integer_range(source)
        if not inside.contains(Bound(least, greatest)):
            ends = [self._analyzer.const_int_bound(end) for end in _ends(value)]
            if len(ends) < 2 or not all(inside.contains(end) for end in ends):
                return EVERYTHING
        return _map_ends(value, lambda end: smart.cast(target, end))

    def _arithmetic(self, node: Expr, operands: list[IntSet]) -> IntSet:
        element = tir.element_of(node.dtype)
        if not is_index_type(element):
            return EVERYTHING
        if isinstance(node, Ramp):
            return self._ramp(node, *operands)
        if not isinstance(node, Binary):
            return EVERYTHING
        a, b = operands
        if a.point is not None and b.point is not None:
            return single_point(smart.binary(type(node), a.point, b.point))
        match node:
            case Add():
                return added(a, b)
            case Sub():
                return IntSet(
                    _both(smart.sub, a.min, b.max), _both(smart.sub, a.max, b.min)
                )
            case Min():
                return IntSet(_least(a.min, b.min), _lower(a.max, b.max))
            case Max():
                return IntSet(_upper(a.min, b.min), _greatest(a.max, b.max))
            case Mul():
                return self._product(a, b)
            case _ if b.point is None or smart.literal(b.point) == 0:
                return EVERYTHING
            case Div():
                return self._scaled(a, b.point, smart.truncdiv)
            case FloorDiv():
                return self._scaled(a, b.point, smart.floordiv)
            case Mod():
                return self._truncated_remainder(a, b.point)
            case FloorMod():
                return self._floor_remainder(a, b.point)
            case _:
                return EVERYTHING

    def _ramp(self, node: Ramp, base: IntSet, stride: IntSet) -> IntSet:
        step = None if stride.point is None else smart.literal(stride.point)
        if not isinstance(step, int):
            return EVERYTHING
        if step == 0:
            return base
        if tir.is_scalable(node.dtype):
            return IntSet(base.min, None) if step > 0 else IntSet(None, base.max)
        reach = step * (tir.lanes_of(node.dtype) - 1)
        low, high = base.min, base.max
        if high is not None and reach > 0:
            high = smart.add(high, reach)
        elif low is not None and reach < 0:
            low = smart.add(low, reach)
        return IntSet(low, high)

    def _product(self, a: IntSet, b: IntSet) -> IntSet:
        if b.point is not None:
            return self._scaled(a, b.point, smart.mul)
        if a.point is not None:
            return self._scaled(b, a.point, smart.mul)
        corners = [smart.mul(x, y) for x, y in product(_ends(a), _ends(b))]
        numbers = [smart.literal(corner) for corner in corners]
        if len(corners) < 4 or None in numbers:
            return EVERYTHING
        order = sorted(corners, key=lambda corner: smart.literal(corner) or 0)
        return IntSet(order[0], order[-1])

    def _scaled(self, a: IntSet, by: Expr, scale: Callable[[Expr, Expr], Expr]) -> IntSet:
        """The set times a point, or over one: monotone in `a`, up or down by the sign."""
        number = smart.literal(by)
        if number == 1:
            return a
        if number == 0:
            return single_point(by)
        if self._analyzer.can_prove_greater_equal(by, 0):
            return _map_ends(a, lambda end: scale(end, by))
        if self._analyzer.can_prove_less(by, 0):
            return _map_ends(IntSet(a.max, a.min), lambda end: scale(end, by))
        if a.min is None or a.max is None:
            return EVERYTHING
        low, high, positive = scale(a.min, by), scale(a.max, by), smart.ge(by, 0)
        return IntSet(
            smart.select(positive, low, high), smart.select(positive, high, low)
        )

    def _truncated_remainder(self, a: IntSet, by: Expr) -> IntSet:
        most = self._largest_remainder(by)
        if can_prove_non_negative(a, self._analyzer):
            return IntSet(smart.const(0, by.dtype), self._nearer(a.max, most))
        return IntSet(smart.sub(smart.const(0, by.dtype), most), most)

    def _floor_remainder(self, a: IntSet, by: Expr) -> IntSet:
        most = self._largest_remainder(by)
        zero = smart.const(0, by.dtype)
        if not self._analyzer.can_prove_greater_equal(by, 0):
            if self._analyzer.can_prove_less(by, 0):
                return IntSet(smart.add(by, 1), zero)
            return IntSet(smart.sub(zero, most), most)
        if a.min is not None and a.max is not None and isinstance(by, Const):
            first, last = (smart.floordiv(end, by) for end in (a.min, a.max))
            if self._analyzer.can_prove_equal(first, last):
                start = smart.mul(self._analyzer.simplify(first), by)
                return _map_ends(a, lambda end: smart.sub(end, start))
        if can_prove_non_negative(a, self._analyzer):
            return IntSet(zero, self._nearer(a.max, most))
        return IntSet(zero, most)

    def _nearer(self, end: Expr | None, most: Expr) -> Expr:
        """An upper end where it is known to be the lower one, else `most`."""
        if end is None or not self._analyzer.can_prove(smart.lt(end, most)):
            return most
        return end

    def _largest_remainder(self, by: Expr) -> Expr:
        """`abs(by) - 1`."""
        if self._analyzer.can_prove_greater_equal(by, 0):
            return smart.sub(by, 1)
        negated = smart.sub(smart.const(0, by.dtype), by)
        if self._analyzer.can_prove_less(by, 0):
            return smart.sub(negated, 1)
        return smart.sub(smart.select(smart.ge(by, 0), by, negated), 1)


def _both(
    kind: Callable[[Expr, Expr], Expr], a: Expr | None, b: Expr | None
) -> Expr | None:
    return None if a is None or b is None else kind(a, b)


def _lower(a: Expr | None, b: Expr | None) -> Expr | None:
    """The lower of two upper ends."""
    if a is None or b is None:
        return b if a is None else a
    return smart.minimum(a, b)


def _upper(a: Expr | None, b: Expr | None) -> Expr | None:
    """The upper of two lower ends."""
    if a is None or b is None:
        return b if a is None else a
    return smart.maximum(a, b)


def _end(limit: float, dtype: Attribute) -> Expr | None:
    if limit in (INF, -INF) or not smart.fits(int(limit), dtype):
        return None
    return Const(int(limit), dtype)


def _ends(found: IntSet) -> list[Expr]:
    return [end for end in (found.min, found.max) if end is not None]


def _map_ends(found: IntSet, function: Callable[[Expr], Expr]) -> IntSet:
    low = None if found.min is None else function(found.min)
    if found.min is not None and found.min is found.max:
        return IntSet(low, low)
    return IntSet(low, None if found.max is None else function(found.max))


_DIVISIONS = (Div, Mod, FloorDiv, FloorMod)


def always_defined(*sets: IntSet) -> bool:
    """Whether the ends divide by nothing but literals other than zero."""
    roots = [end for found in sets for end in _ends(found)]
    return not any(
        isinstance(node, _DIVISIONS) and not smart.literal(node.rhs)
        for node in postorder(*roots)
    )


def int_set(root: Expr, env: Mapping[Expr, IntSet], analyzer: Analyzer) -> IntSet:
    """A set that holds the tree for all leaves in the sets of `env`; simplified ends.

    Leaves that are not in `env` stay as they are in the ends. A vector is in the set with
    all its lanes.
    """
    return simplified(IntSetEvaluator(analyzer, env)(root), analyzer)
