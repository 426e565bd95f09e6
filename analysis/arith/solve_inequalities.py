"""Solutions of systems of linear inequalities over the integers, by Fourier and Motzkin.

Relations become `e <= 0` and `e == 0`. Variables are eliminated in order: with literal
factors of `v`, `p*v + r <= 0` with `p > 0` bounds `v` from above and `s - q*v <= 0` with
`q > 0` from below, and every pair of them implies `q*r + p*s <= 0`, which is free of `v`
and goes on to the next variable. So the bounds of a variable mention later variables
only. What is not linear in a variable with a literal factor stays as it is.

The results say the same as the relations and ranges that were given, in three ways:

- *bounds* for each variable: `coef * v >= l`, `coef * v <= u`, `coef * v == e`;
- *ranges*: of each variable, from the last to the first, the shortest range among those
  from a lower to an upper bound, and all bounds that do not follow from the ranges as
  relations;
- *deskewed* ranges: new variables that start from zero in the place of the old.

Eliminating over the integers like over the rationals is exact as long as the original
relations are kept with the bounds, which they are: what is implied only helps to narrow
later variables. That is why the number of implied relations can be limited, which would
else grow beyond all measure. See docs/spec/tir-passes-b-arith-and-loops.md §1.14; TVM
names `SolveLinearInequalities`, `SolveInequalitiesToRange`,
`SolveInequalitiesDeskewRange`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product

from xdsl.ir import Attribute

from xdsl_tvm.analysis.arith import smart
from xdsl_tvm.analysis.arith.analyzer import Analyzer
from xdsl_tvm.analysis.arith.expr import Cmp, Expr, postorder, substitute
from xdsl_tvm.analysis.arith.facts import SWAPPED, conjuncts, normalized
from xdsl_tvm.analysis.arith.int_set import IntSet, IntSetEvaluator, Range, from_range
from xdsl_tvm.analysis.arith.linear_equation import mentions
from xdsl_tvm.analysis.arith.polynomial import Polynomial, polynomial
from xdsl_tvm.analysis.arith.solve_linear import (
    IntConstraints,
    IntConstraintsTransform,
    analyzer_with,
    fresh,
    name_of,
    remaining,
    unsolvable,
)
from xdsl_tvm.dialects.tir import CmpPredicate
from xdsl_tvm.dialects.tir.types import is_index_type

MAX_RELATIONS = 32
"""How many relations one elimination may pass on; more implied ones are dropped."""
MAX_BOUNDS = 8
"""How many lower and upper bounds are paired when a range is looked for."""


@dataclass
class IntGroupBounds:
    """What is known of `coef * v`, in terms of other variables; `coef` is positive."""

    coef: int = 1
    lower: list[Expr] = field(default_factory=list[Expr])
    equal: list[Expr] = field(default_factory=list[Expr])
    upper: list[Expr] = field(default_factory=list[Expr])

    def conditions(self, variable: Expr) -> list[Expr]:
        """The same as conditions: equalities, then what bounds from below, and above."""
        scaled = smart.mul(variable, self.coef)
        found = [smart.eq(scaled, bound) for bound in self.equal]
        found += [smart.ge(scaled, bound) for bound in self.lower]
        return found + [smart.le(scaled, bound) for bound in self.upper]


@dataclass(frozen=True)
class InequalitySolution:
    """Bounds of the variables, in their order, and relations without any bound."""

    bounds: dict[Expr, IntGroupBounds]
    relations: list[Expr]

    @property
    def is_unsolvable(self) -> bool:
        return any(smart.literal(relation) == 0 for relation in self.relations)

    def conditions(self) -> list[Expr]:
        """All of it as a list of conditions."""
        if self.is_unsolvable:
            return unsolvable().relations
        found = [c for v, b in self.bounds.items() for c in b.conditions(v)]
        return found + self.relations


@dataclass(frozen=True)
class _Relation:
    """`left <= 0`, or `left == 0`, for trees of type `dtype`."""

    left: Polynomial
    dtype: Attribute
    is_equation: bool = False

    @property
    def fits(self) -> bool:
        """Whether it can be written as a condition."""
        return self.left.fits(self.dtype)

    def condition(self) -> Expr:
        """The relation with what is negative, and the constant, on the right."""
        terms = self.left.terms.items()
        left = {m: factor for m, factor in terms if factor > 0 and m}
        right = {m: -factor for m, factor in terms if factor < 0 or not m}
        compare = smart.eq if self.is_equation else smart.le
        return compare(
            Polynomial(left).to_expr(self.dtype), Polynomial(right).to_expr(self.dtype)
        )


def _relation(condition: Expr, analyzer: Analyzer) -> _Relation | None:
    """A comparison of index types, but for `!=`, as a relation."""
    if not isinstance(condition, Cmp) or not is_index_type(condition.lhs.dtype):
        return None
    predicate, lhs, rhs = condition.predicate, condition.lhs, condition.rhs
    if predicate in (CmpPredicate.GT, CmpPredicate.GE):
        predicate, lhs, rhs = SWAPPED[predicate], rhs, lhs
    if predicate is CmpPredicate.NE:
        return None
    left = polynomial(analyzer.simplify(smart.sub(lhs, rhs)))
    if predicate is CmpPredicate.LT:
        left += Polynomial.constant(1)
    return _Relation(left, lhs.dtype, predicate is CmpPredicate.EQ)


@dataclass(frozen=True)
class _Bound:
    """What a relation says of `factor * v`, for the variable that is eliminated."""

    factor: int
    bound: Polynomial
    relation: _Relation

    def times(self, coef: int) -> Polynomial:
        """The bound of `coef * v`, for a multiple of the factor."""
        return _times(self.bound, coef // self.factor)


class _Pool:
    """Relations, without those that follow from ranges or from a stronger one."""

    def __init__(self, analyzer: Analyzer) -> None:
        self._analyzer = analyzer
        self._found: dict[tuple[Polynomial, bool], tuple[_Relation, int]] = {}
        self.is_contradictory = False

    @property
    def relations(self) -> list[_Relation]:
        return [relation for relation, _ in self._found.values()]

    @property
    def is_full(self) -> bool:
        """Whether no relation should be added that follows from others."""
        return len(self._found) >= MAX_RELATIONS

    def add(self, relation: _Relation) -> None:
        """Add a relation that fits, divided by the common divisor of its factors."""
        tightened = self._tightened(relation)
        if tightened is None:
            return
        body, offset = _without_constant(tightened.left)
        key = body, relation.is_equation
        known = self._found.get(key)
        # Of two with the same terms, the one with the greater constant is stronger.
        if known is not None and relation.is_equation and offset != known[1]:
            self.is_contradictory = True
        if known is None or offset > known[1]:
            self._found[key] = tightened, offset

    def _tightened(self, relation: _Relation) -> _Relation | None:
        """The relation over integers; None where it is always true, or never."""
        left = relation.left
        bound = self._analyzer.const_int_bound(left.to_expr(relation.dtype))
        if bound.min > 0 or (relation.is_equation and bound.max < 0):
            self.is_contradictory = True
            return None
        if bound.max <= 0 and (not relation.is_equation or bound.min == 0):
            return None
        body, offset = _without_constant(left)
        divisor = math.gcd(*body.terms.values())
        if divisor <= 1:
            return relation
        if relation.is_equation and offset % divisor:
            self.is_contradictory = True
            return None
        terms = {m: factor // divisor for m, factor in body.terms.items()}
        terms[()] = -(-offset // divisor)
        return _Relation(Polynomial(terms), relation.dtype, relation.is_equation)


def _without_constant(left: Polynomial) -> tuple[Polynomial, int]:
    offset = left.terms.get((), 0)
    return left - Polynomial.constant(offset), offset


def _linear(relation: _Relation, variable: Expr) -> tuple[int, Polynomial] | None:
    """The factor of a variable, and all else; None if it is not linear with a number.

    A variable of another type, which is cast in the relation, is not solved for: its
    bound might not fit its type.
    """
    left = relation.left
    plain = (variable,) if relation.dtype == variable.dtype else None
    for monomial in left.terms:
        if monomial != plain and any(mentions(atom, variable) for atom in monomial):
            return None
    factor = left.terms.get((variable,), 0)
    return factor, left - Polynomial({(variable,): factor})


class _Elimination:
    """The elimination of all variables, one after the other.

    A relation that follows from ranges is dropped, and so is a bound that follows from
    others and from ranges of later variables. A range is dropped, as a bound, in this way
    only, so that all of it still holds: by induction from the last variable on.
    """

    def __init__(self, variables: Sequence[Expr], ranges: Mapping[Expr, Range]) -> None:
        self._variables = variables
        position = {variable: n for n, variable in enumerate(variables)}
        self._ranges: dict[Expr, Range] = {}
        self._odd: list[tuple[Expr, Range]] = []
        for variable, domain in ranges.items():
            earlier = variables[: position.get(variable, -1) + 1]
            if mentions(domain.min, *earlier) or mentions(domain.extent, *earlier):
                self._odd.append((variable, domain))
            else:
                self._ranges[variable] = domain
        self._analyzer = analyzer_with(self._ranges)
        self._rest: list[Expr] = []

    def run(self, relations: Iterable[Expr]) -> InequalitySolution:
        pool = _Pool(self._analyzer)
        for condition in relations:
            for part in conjuncts(normalized(self._analyzer.simplify(condition, 3))):
                relation = _relation(part, self._analyzer)
                if relation is None or not relation.fits:
                    self._rest.append(part)
                else:
                    pool.add(relation)
        for variable, domain in self._odd:
            for relation in self._as_relations(variable, domain):
                pool.add(relation)
        bounds: dict[Expr, IntGroupBounds] = {}
        later = dict(self._ranges)
        for variable in self._variables:
            later.pop(variable, None)
            bounds[variable], pool = self._eliminate(variable, pool, later)
            if pool.is_contradictory:
                return InequalitySolution({}, unsolvable().relations)
        self._rest += [relation.condition() for relation in pool.relations]
        left = remaining(self._rest, self._ranges)
        return InequalitySolution(bounds, left)

    def _eliminate(
        self, variable: Expr, pool: _Pool, later: Mapping[Expr, Range]
    ) -> tuple[IntGroupBounds, _Pool]:
        below: list[_Bound] = []
        above: list[_Bound] = []
        kept = _Pool(self._analyzer)
        kept.is_contradictory = pool.is_contradictory
        for relation in [*pool.relations, *self._range_of(variable)]:
            linear = _linear(relation, variable)
            if linear is None:
                self._rest.append(relation.condition())
                continue
            factor, rest = linear
            if factor == 0:
                kept.add(relation)
                continue
            # factor * v <= -rest, or over a negative factor, -factor * v >= rest.
            bound = rest if factor < 0 else _ZERO - rest
            if factor > 0 or relation.is_equation:
                above.append(_Bound(abs(factor), bound, relation))
            if factor < 0 or relation.is_equation:
                below.append(_Bound(abs(factor), bound, relation))
        for high, low in product(above, below):
            if kept.is_full:
                break
            # p*v <= high and q*v >= low.
            implied = _times(low.bound, high.factor) - _times(high.bound, low.factor)
            follows = _Relation(implied, variable.dtype)
            if follows.fits:
                kept.add(follows)
        coef = self._common_factor(variable, below, above)
        grouped = _grouped(coef, below, above, variable.dtype, analyzer_with(later))
        return grouped, kept

    def _common_factor(
        self, variable: Expr, below: list[_Bound], above: list[_Bound]
    ) -> int:
        """What all bounds are multiplied to; those that do not fit stay conditions."""
        bounds = [*below, *above]
        coef = math.lcm(1, *(each.factor for each in bounds))
        while not Polynomial.constant(coef).fits(variable.dtype):
            largest = max(bounds, key=lambda each: each.factor)
            self._give_up(largest, below, above, bounds)
            coef = math.lcm(1, *(each.factor for each in bounds))
        for each in tuple(bounds):
            if each in bounds and not each.times(coef).fits(variable.dtype):
                self._give_up(each, below, above, bounds)
        return coef

    def _give_up(self, given_up: _Bound, *lists: list[_Bound]) -> None:
        """Leave a relation as it is, rather than as bounds of a variable."""
        self._rest.append(given_up.relation.condition())
        for bounds in lists:
            bounds[:] = [b for b in bounds if b.relation is not given_up.relation]

    def _range_of(self, variable: Expr) -> list[_Relation]:
        domain = self._ranges.get(variable)
        return [] if domain is None else self._as_relations(variable, domain)

    def _as_relations(self, variable: Expr, domain: Range) -> list[_Relation]:
        """The range, except for an end that is beyond the type, and says nothing."""
        low, extent, at = map(polynomial, (domain.min, domain.extent, variable))
        last = low + extent - Polynomial.constant(1)
        relations = (
            _Relation(low - at, variable.dtype),
            _Relation(at - last, variable.dtype),
        )
        return [relation for relation in relations if relation.fits]


_ZERO = Polynomial.constant(0)


def _times(value: Polynomial, factor: int) -> Polynomial:
    return Polynomial({m: c * factor for m, c in value.terms.items()})


def _grouped(
    coef: int,
    below: list[_Bound],
    above: list[_Bound],
    dtype: Attribute,
    analyzer: Analyzer,
) -> IntGroupBounds:
    """The bounds with one factor; those that are both are equalities."""
    lower = list(dict.fromkeys(each.times(coef) for each in below))
    upper = list(dict.fromkeys(each.times(coef) for each in above))
    both = set(lower) & set(upper)
    equal = [bound for bound in lower if bound in both]
    lower = [bound for bound in lower if bound not in both]
    upper = [bound for bound in upper if bound not in both]

    def is_at_most(a: Polynomial, b: Polynomial) -> bool:
        by = b - a
        return by.fits(dtype) and analyzer.const_int_bound(by.to_expr(dtype)).min >= 0

    lower = _strongest(lower, is_at_most)
    upper = _strongest(upper, lambda a, b: is_at_most(b, a))
    plain = Analyzer()
    trees = [
        [plain.simplify(bound.to_expr(dtype)) for bound in bounds]
        for bounds in (lower, equal, upper)
    ]
    return IntGroupBounds(coef, trees[0], sorted(trees[1], key=_size), trees[2])


def _strongest(
    bounds: list[Polynomial], is_weaker: Callable[[Polynomial, Polynomial], bool]
) -> list[Polynomial]:
    """The bounds but for those that follow from another one; of equal ones the first."""
    kept: list[Polynomial] = []
    for bound in bounds:
        if any(is_weaker(bound, other) for other in kept):
            continue
        kept = [other for other in kept if not is_weaker(other, bound)]
        kept.append(bound)
    return kept


def _size(node: Expr) -> int:
    return sum(1 for _ in postorder(node))


def solve_linear_inequalities(
    variables: Sequence[Expr], ranges: Mapping[Expr, Range], relations: Iterable[Expr]
) -> InequalitySolution:
    """Bounds of the variables, each in terms of later ones.

    The relations are of type `i1`. The ranges, of variables and of others, are taken as
    known; those of the variables are among the bounds. Only `false` is left where there
    is certainly no solution.
    """
    return _Elimination(variables, ranges).run(relations)


# ---- ranges ----


def _best_range(
    bounds: IntGroupBounds, evaluate: IntSetEvaluator, analyzer: Analyzer
) -> Range | None:
    """The shortest range from a lower to an upper bound; None where one side has none."""
    lower = (bounds.equal + bounds.lower)[:MAX_BOUNDS]
    upper = (bounds.equal + bounds.upper)[:MAX_BOUNDS]
    best: Range | None = None
    for low in lower:
        for high in upper:
            found = _range_between(bounds.coef, low, high, evaluate, analyzer)
            if found is None:
                continue
            if best is None or analyzer.can_prove(smart.lt(found.extent, best.extent)):
                best = found
    return best


def _range_between(
    coef: int, low: Expr, high: Expr, evaluate: IntSetEvaluator, analyzer: Analyzer
) -> Range | None:
    """A range with all `v` that have `low <= coef * v <= high`."""
    first = _ceildiv(low, coef)
    spans = [smart.floordiv(smart.sub(high, low), coef)]
    if coef != 1:
        spans.append(smart.sub(smart.floordiv(high, coef), first))
    longest: Expr | None = None
    for span in spans:
        most = evaluate(analyzer.simplify(span)).max
        if most is None:
            continue
        most = analyzer.simplify(most)
        if longest is None or analyzer.can_prove(smart.lt(most, longest)):
            longest = most
    if longest is None:
        return None
    return Range(analyzer.simplify(first), analyzer.simplify(smart.add(longest, 1)))


def _ceildiv(node: Expr, by: int) -> Expr:
    if by == 1:
        return node
    return smart.floordiv(smart.add(node, by - 1), by)


@dataclass(frozen=True)
class _Ranged:
    """Ranges of variables; each may mention variables that come before it here."""

    ranges: dict[Expr, Range]
    conditions: list[Expr]


def _ranged(solution: InequalitySolution, ranges: Mapping[Expr, Range]) -> _Ranged | None:
    """Ranges for the bounds, from the last variable on; None if there is no solution."""
    others = {v: r for v, r in ranges.items() if v not in solution.bounds}
    analyzer = analyzer_with(others)
    env: dict[Expr, IntSet] = {}
    found: dict[Expr, Range] = {}
    for variable in reversed(solution.bounds):
        bounds = solution.bounds[variable]
        best = _best_range(bounds, IntSetEvaluator(analyzer, env), analyzer)
        if best is None:
            continue
        if analyzer.can_prove(smart.le(best.extent, 0)):
            return None
        found[variable] = best
        env[variable] = from_range(best)
        analyzer.bind(variable, best)
    return _Ranged(found, solution.conditions())


def solve_inequalities_to_range(
    variables: Sequence[Expr], ranges: Mapping[Expr, Range], relations: Iterable[Expr]
) -> IntConstraints:
    """Ranges of the variables, each in terms of later ones, and remaining relations.

    The result holds exactly where the relations and the ranges of the variables do.
    """
    solution = solve_linear_inequalities(variables, ranges, relations)
    ranged = None if solution.is_unsolvable else _ranged(solution, ranges)
    if ranged is None:
        return unsolvable()
    others = {v: r for v, r in ranges.items() if v not in solution.bounds}
    left = remaining(ranged.conditions, {**others, **ranged.ranges})
    if any(smart.literal(relation) == 0 for relation in left):
        return unsolvable()
    return IntConstraints(list(variables), _in_order(variables, ranged.ranges), left)


def _in_order(
    variables: Sequence[Expr], ranges: Mapping[Expr, Range]
) -> dict[Expr, Range]:
    return {v: ranges[v] for v in variables if v in ranges}


def solve_inequalities_deskew_range(
    variables: Sequence[Expr], ranges: Mapping[Expr, Range], relations: Iterable[Expr]
) -> IntConstraintsTransform:
    """New variables that start from zero, and what is known of them.

    The variable `v` becomes one named `v.shifted`, plus the start of its range; if that
    has just one value, the start alone. A variable without a range keeps its value.
    """
    solution = solve_linear_inequalities(variables, ranges, relations)
    ranged = None if solution.is_unsolvable else _ranged(solution, ranges)
    if ranged is None:
        return IntConstraintsTransform(unsolvable(), {}, {})
    others = {v: r for v, r in ranges.items() if v not in solution.bounds}
    analyzer = analyzer_with(others)
    new_ranges: dict[Expr, Range] = {}
    src_to_dst: dict[Expr, Expr] = {}
    dst_to_src: dict[Expr, Expr] = {}
    for variable in reversed(variables):
        found = ranged.ranges.get(variable)
        start = smart.const(0, variable.dtype) if found is None else found.min
        start = analyzer.simplify(start)
        moved = analyzer.simplify(substitute(start, src_to_dst))
        if found is not None and smart.literal(found.extent) == 1:
            src_to_dst[variable] = moved
            continue
        new = fresh(f"{name_of(variable)}.shifted", variable.dtype)
        src_to_dst[variable] = analyzer.simplify(smart.add(new, moved))
        dst_to_src[new] = analyzer.simplify(smart.sub(variable, start))
        if found is not None:
            extent = analyzer.simplify(substitute(found.extent, src_to_dst))
            new_ranges[new] = Range(smart.const(0, new.dtype), extent)
            analyzer.bind(new, new_ranges[new])
    conditions = [substitute(c, src_to_dst) for c in ranged.conditions]
    left = remaining(conditions, {**others, **new_ranges})
    if any(smart.literal(relation) == 0 for relation in left):
        return IntConstraintsTransform(unsolvable(), {}, {})
    new_variables = list(reversed(dst_to_src))
    dst = IntConstraints(new_variables, _in_order(new_variables, new_ranges), left)
    return IntConstraintsTransform(dst, src_to_dst, dst_to_src)
