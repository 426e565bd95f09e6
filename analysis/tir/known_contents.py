"""Statements about elements of buffers, and how they change where loops end.

The parts that `control_flow` is made of: what it knows (`Known`), what ops touch
(`Touch`), and the equations between indices and axes (`Space`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from itertools import count, islice, product
from typing import TypeAlias

from xdsl.ir import Attribute, Block, Operation, SSAValue

from xdsl_tvm.analysis.arith import smart
from xdsl_tvm.analysis.arith.analyzer import Analyzer, Range
from xdsl_tvm.analysis.arith.expr import (
    Broadcast,
    Cmp,
    Const,
    Expr,
    Ramp,
    Value,
    leaf_values,
    substitute,
    view,
)
from xdsl_tvm.analysis.arith.facts import negated
from xdsl_tvm.analysis.arith.linear_equation import detect_linear_equation, mentions
from xdsl_tvm.dialects import tir
from xdsl_tvm.dialects.tir import CmpPredicate
from xdsl_tvm.dialects.tir.types import is_index_type

MAX_BOUNDS = 4
"""Lower and upper bounds of a variable that are compared when it ends."""
MAX_ALTERNATIVES = 4
"""Disjunctions whose cases are told apart where an element is outside of a hole."""
MAX_HOLES = 6
"""Holes in one statement; with more, it is dropped."""

Region: TypeAlias = tuple[Expr, ...]
"""Conditions on the axes of a buffer, all of which hold for the elements in question."""

_serials = count()


@dataclass(frozen=True, slots=True)
class Touch:
    """Elements that are read or written, perhaps more than really are.

    All elements where there are no conditions.
    """

    axes: tuple[Value, ...]
    where: Region


@dataclass(frozen=True, slots=True)
class Known:
    """A statement about the elements for which `where` holds and no hole does."""

    axes: tuple[Value, ...]
    """A variable for each dimension, with the dtype of the indices."""
    where: Region
    value: Expr | None
    """What the elements hold; None says that they are overwritten before a read."""
    source: Operation
    """The store, or `assume`, that it comes from."""
    holes: tuple[Region, ...] = ()
    serial: int = field(default_factory=lambda: next(_serials))
    """Tells statements apart; one that gets a hole is the same still."""

    def limited(self, *conditions: Expr) -> Known:
        """The statement for where these conditions hold too."""
        where = (*self.where, *conditions)
        return replace(self, where=where, serial=next(_serials))

    def with_holes(self, holes: Sequence[Region]) -> Known | None:
        """The statement with other holes; None where they are too many."""
        if len(holes) > MAX_HOLES or not all(holes):
            return None
        return replace(self, holes=tuple(holes))

    def substituted(self, replacements: Mapping[Expr, Expr]) -> Known:
        """The statement with leaves replaced."""
        return replace(
            self,
            where=_replaced(self.where, replacements),
            value=None if self.value is None else substitute(self.value, replacements),
            holes=tuple(_replaced(hole, replacements) for hole in self.holes),
        )

    def outside(self, op: Operation) -> Known | None:
        """The statement of a op with regions; None if it needs values in there."""
        needed = self.where if self.value is None else (*self.where, self.value)
        if _needs(op, needed):
            return None
        return self.with_holes([without_values_in(op, hole) for hole in self.holes])


def _replaced(region: Region, replacements: Mapping[Expr, Expr]) -> Region:
    return tuple(substitute(part, replacements) for part in region)


def without_values_in(op: Operation, region: Region, but: Value | None = None) -> Region:
    """The conditions that mention no value which is defined in the op, `but` aside."""
    return tuple(part for part in region if not _needs(op, (part,), but))


def _needs(op: Operation, trees: Iterable[Expr], but: Value | None = None) -> bool:
    """Whether trees mention values that are defined in the regions of an op."""
    return any(
        op.is_ancestor(value.owner)
        for value in leaf_values(*trees)
        if but is None or value is not but.value
    )


@dataclass(frozen=True, slots=True)
class Indices:
    """The indices of an access, those of one lane if it is a vector."""

    trees: list[Expr]
    lane: Value | None = None
    """The number of the lane."""
    lanes: int = 1

    @property
    def lane_range(self) -> Range:
        """What the number of the lane is in."""
        dtype = self.trees[-1].dtype
        return Range(smart.const(0, dtype), smart.const(self.lanes, dtype))


@dataclass(frozen=True, slots=True)
class Span:
    """A variable, the range of all its values, and `low <= variable < high`."""

    variable: Value
    full: Range
    low: Expr
    high: Expr

    @property
    def is_some(self) -> Expr:
        """That there is a value."""
        return smart.lt(self.low, self.high)

    def around(self, value: Expr) -> Region:
        """That a value is between the bounds."""
        return (smart.le(self.low, value), smart.lt(value, self.high))


class Space:
    """Axes of buffers, indices of accesses, and regions where variables are done with."""

    def __init__(self, trees: dict[SSAValue, Expr]) -> None:
        self.analyzer = Analyzer()
        self._trees = trees
        self._axes: dict[tuple[Attribute, ...], tuple[Value, ...]] = {}
        self._lanes: dict[Attribute, Value] = {}

    def tree(self, value: SSAValue) -> Expr:
        """The tree of a value; lets are looked through."""
        return view(value, self._trees)

    def axes(self, indices: Sequence[Expr]) -> tuple[Value, ...]:
        """The axes of a buffer with indices of these dtypes."""
        dtypes = tuple(index.dtype for index in indices)
        found = self._axes.get(dtypes)
        if found is None:
            block = Block(arg_types=dtypes)
            found = self._axes[dtypes] = tuple(Value(arg) for arg in block.args)
        return found

    def _lane(self, dtype: Attribute) -> Value:
        found = self._lanes.get(dtype)
        if found is None:
            found = self._lanes[dtype] = Value(Block(arg_types=[dtype]).args[0])
        return found

    def indices(self, operands: Iterable[SSAValue]) -> Indices | None:
        """The indices of an access; None where a vector is no ramp of fixed lanes."""
        trees = [self.tree(operand) for operand in operands]
        found = Indices(trees)
        if trees and isinstance(last := trees[-1], Ramp):
            if tir.is_scalable(last.dtype):
                return None
            lane = self._lane(last.base.dtype)
            trees[-1] = smart.add(last.base, smart.mul(last.stride, lane))
            found = Indices(trees, lane, tir.lanes_of(last.dtype))
        return found if all(is_index_type(tree.dtype) for tree in trees) else None

    def region(self, indices: Indices) -> Region:
        """That the axes are the indices."""
        axes = self.axes(indices.trees)
        return tuple(map(_equation, axes, indices.trees))

    def touch(self, operands: Iterable[SSAValue]) -> Touch:
        """The elements that an access with these indices touches."""
        indices = self.indices(operands)
        if indices is None:
            return Touch((), ())
        where = self.region(indices)
        if indices.lane is not None:
            where = self.covering(where, whole(indices.lane, indices.lane_range))
        return Touch(self.axes(indices.trees), where)

    # ---- what statements say ----

    def value(
        self,
        found: Sequence[Known],
        operands: Iterable[SSAValue],
        dtype: Attribute,
        analyzer: Analyzer,
    ) -> Expr | None:
        """What the newest statement about the elements of an access says they hold.

        None where none is certainly about them all, or the vector has no tree.
        """
        known = self.about(found, operands, analyzer) if found else None
        indices = self.indices(operands)
        if known is None or known.value is None or indices is None:
            return None
        value = substitute(known.value, environment(known, indices))
        if indices.lane is not None:
            value = analyzer.simplify(value)
        return _of_all_lanes(value, indices.lane, dtype)

    def about(
        self, found: Sequence[Known], operands: Iterable[SSAValue], analyzer: Analyzer
    ) -> Known | None:
        """The newest statement that is about all elements of an access, if one is."""
        indices = self.indices(operands) if found else None
        if indices is None:
            return None
        with analyzer.assumed(()):
            if indices.lane is not None:
                analyzer.bind(indices.lane, indices.lane_range)
            for known in reversed(found):
                if known.axes is self.axes(indices.trees) and _holds(
                    known, environment(known, indices), analyzer
                ):
                    return known
        return None

    # ---- variables that end ----

    def covering(self, where: Region, span: Span) -> Region:
        """A region around that of all values of a variable in a span; it is not in it."""
        variable = span.variable
        if not any(mentions(part, variable) for part in where):
            return (*where, span.is_some)
        solved = self.solved(where, variable, span.full)
        if solved is not None:
            rest, value = solved
            return (*rest, *span.around(value))
        kept = tuple(part for part in where if not mentions(part, variable))
        return (*kept, span.is_some, *_between(where, span))

    def solved(
        self, where: Region, variable: Value, full: Range
    ) -> tuple[Region, Expr] | None:
        """The value that a variable must have, and the conditions without it.

        The variable is known to be in `full`, which is no condition of the result. None
        where no equation of the region tells the value.
        """
        for index, part in enumerate(where):
            match part:
                case Cmp(predicate=CmpPredicate.EQ, lhs=lhs, rhs=rhs):
                    found = self._solution(lhs, rhs, variable, full)
                case _:
                    continue
            if found is None:
                continue
            value, extra = found
            others = (*where[:index], *where[index + 1 :])
            return (*_replaced(others, {variable: value}), *extra), value
        return None

    def _solution(
        self, lhs: Expr, rhs: Expr, variable: Value, full: Range
    ) -> tuple[Expr, Region] | None:
        """The variable from `lhs == rhs`, and what else the equation says."""
        if mentions(lhs, variable) or not mentions(rhs, variable):
            return None
        form = detect_linear_equation(rhs, [variable])
        if form is None:
            return None
        factor, base = smart.literal(form[0]), form[1]
        if not isinstance(factor, int) or factor == 0:
            return None
        if factor == 1:
            return self._digit(lhs, base, full) or (smart.sub(lhs, base), ())
        above = smart.sub(lhs, base) if factor > 0 else smart.sub(base, lhs)
        divisor = abs(factor)
        if not smart.fits(divisor, above.dtype):
            return None
        rest = _equation(smart.floormod(above, divisor), smart.const(0, above.dtype))
        return smart.floordiv(above, divisor), (rest,)

    def _digit(
        self, lhs: Expr, base: Expr, full: Range
    ) -> tuple[Expr, tuple[Expr, ...]] | None:
        """The variable as the last digit of `lhs`, where the base is of the others."""
        extent = smart.literal(full.extent)
        if smart.literal(full.min) != 0 or not extent or isinstance(base, Const):
            return None
        simplify = self.analyzer.simplify
        offset = simplify(smart.floormod(base, full.extent))
        if not isinstance(offset, Const):
            return None
        digits = smart.sub(lhs, offset)
        others = simplify(smart.floordiv(base, full.extent))
        equation = _equation(smart.floordiv(digits, full.extent), others)
        return smart.floormod(digits, full.extent), (equation,)


def _equation(lhs: Expr, rhs: Expr) -> Expr:
    return Cmp(CmpPredicate.EQ, lhs, rhs)


def whole(variable: Value, full: Range) -> Span:
    """All values of a variable."""
    return Span(variable, full, full.min, smart.add(full.min, full.extent))


def _between(where: Region, span: Span) -> Iterator[Expr]:
    """What follows from the bounds that conditions set to a variable, without it."""
    lows, highs = [span.low], [span.high]
    for part in where:
        match part:
            case Cmp(predicate=CmpPredicate.LT | CmpPredicate.LE, lhs=lhs, rhs=rhs):
                is_strict = part.predicate is CmpPredicate.LT
            case Cmp(predicate=CmpPredicate.GT | CmpPredicate.GE, lhs=rhs, rhs=lhs):
                is_strict = part.predicate is CmpPredicate.GT
            case _:
                continue
        if lhs.dtype != span.variable.dtype or not mentions(part, span.variable):
            continue
        form = detect_linear_equation(smart.sub(rhs, lhs), [span.variable])
        factor = None if form is None else smart.literal(form[0])
        # The difference is above 0, or at least 0: factor * variable + base.
        if form is not None and factor == 1 and len(lows) < MAX_BOUNDS:
            lows.append(smart.sub(1 if is_strict else 0, form[1]))
        elif form is not None and factor == -1 and len(highs) < MAX_BOUNDS:
            highs.append(form[1] if is_strict else smart.add(form[1], 1))
    for low, high in islice(product(lows, highs), 1, None):
        condition = smart.lt(low, high)
        if smart.literal(condition) != 1:
            yield condition


def environment(known: Known, indices: Indices) -> dict[Expr, Expr]:
    """The axes of a statement, and the indices that take their places."""
    return dict(zip(known.axes, indices.trees, strict=True))


def _holds(known: Known, environment: Mapping[Expr, Expr], analyzer: Analyzer) -> bool:
    """Whether a statement is about the element with these indices."""

    def proves(condition: Expr) -> bool:
        return analyzer.can_prove(substitute(condition, environment))

    if not all(map(proves, known.where)):
        return False

    def proves_one(conditions: Sequence[Expr]) -> bool:
        return any(map(proves, conditions))

    def proves_by_cases(conditions: Sequence[Expr]) -> bool:
        for known in list(analyzer.facts.alternatives(MAX_ALTERNATIVES)):
            for case in known.operands:
                with analyzer.constraint(case):
                    if not proves_one(conditions):
                        break
            else:
                return True
        return False

    for hole in known.holes:
        outside = [negated(part) for part in hole]
        if not (
            proves_one(outside)
            or proves(reduce(smart.disjunction, outside))
            or proves_by_cases(outside)
        ):
            return False
    return True


def _of_all_lanes(value: Expr, lane: Value | None, dtype: Attribute) -> Expr | None:
    """The vector whose lanes have the value, which may depend on the lane."""
    if value.dtype == dtype:
        return value
    if not tir.is_vector(dtype) or dtype.element_type != value.dtype:
        return None
    if lane is None or not mentions(value, lane):
        return Broadcast(dtype, value)
    form = detect_linear_equation(value, [lane])
    return None if form is None else Ramp(dtype, form[1], form[0])
