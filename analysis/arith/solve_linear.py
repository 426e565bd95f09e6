"""Solutions of systems of linear equations over the integers.

`solve_linear_equations` takes equations `a == b` whose difference is linear in the given
variables with integer literals as factors, `A x == b` with `b` in terms of anything else.
Row and column operations that have integer inverses make the matrix diagonal: `U A V` has
the numbers `d1 … dr` on its diagonal and zeros elsewhere. With `x == V y` the system is

    d_i * y_i == (U b)_i  for i <= r,      0 == (U b)_i  for i > r,

so that `y_i` is `(U b)_i / d_i`, where that is an integer, and the other `y_i` are free:
they are the new variables. The integer solutions `x` are exactly `V y`, for all values of
the new variables and under the remaining relations. See
docs/spec/tir-passes-b-arith-and-loops.md §1.14; TVM names `SolveLinearEquations`,
`SmithNormalFormDiag`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from xdsl.dialects.builtin import i1
from xdsl.ir import Attribute, Block

from xdsl_tvm.analysis.arith import smart
from xdsl_tvm.analysis.arith.analyzer import Analyzer
from xdsl_tvm.analysis.arith.expr import (
    Cmp,
    Const,
    Expr,
    LiteralRangeError,
    Value,
    substitute,
)
from xdsl_tvm.analysis.arith.facts import conjuncts
from xdsl_tvm.analysis.arith.int_set import IntSetEvaluator, Range, from_range
from xdsl_tvm.analysis.arith.linear_equation import literal_factors, mentions
from xdsl_tvm.dialects.name_hints import set_name_hint
from xdsl_tvm.dialects.tir import CmpPredicate
from xdsl_tvm.dialects.tir.types import is_index_type

Row = list[int]


@dataclass(frozen=True)
class IntConstraints:
    """Variables, ranges that some of them are in, and conditions that hold."""

    variables: list[Expr]
    ranges: dict[Expr, Range] = field(default_factory=dict[Expr, Range])
    relations: list[Expr] = field(default_factory=list[Expr])

    @property
    def is_unsolvable(self) -> bool:
        """Whether nothing fulfills the constraints for certain."""
        return any(smart.literal(relation) == 0 for relation in self.relations)


@dataclass(frozen=True)
class IntConstraintsTransform:
    """Constraints `dst` that say of new variables what was said of the old ones.

    The trees of `src_to_dst` give the old variables in terms of the new ones, those of
    `dst_to_src` the other way round.
    """

    dst: IntConstraints
    src_to_dst: dict[Expr, Expr]
    dst_to_src: dict[Expr, Expr]


def unsolvable() -> IntConstraints:
    """Constraints that nothing fulfills: no variables, and `false`."""
    return IntConstraints([], {}, [Const(0, i1)])


def fresh(name: str, dtype: Attribute) -> Expr:
    """A new leaf that stands for no value of a program."""
    (argument,) = Block(arg_types=[dtype]).args
    set_name_hint(argument, name)
    return Value(argument)


def name_of(leaf: Expr) -> str:
    """What a leaf is called, for names of new ones."""
    hint = leaf.value.name_hint if isinstance(leaf, Value) else None
    return hint or "v"


def analyzer_with(ranges: Mapping[Expr, Range]) -> Analyzer:
    """An analyzer that knows ranges, and nothing else."""
    analyzer = Analyzer()
    for variable, found in ranges.items():
        analyzer.bind(variable, found)
    return analyzer


# ---- diagonal form ----


def extended_gcd(a: int, b: int) -> tuple[int, int, int]:
    """`(g, x, y)` with `a*x + b*y == g`, the greatest common divisor."""
    g, x, y = a, 1, 0
    rest, u, v = b, 0, 1
    while rest:
        q = g // rest
        g, rest = rest, g - q * rest
        x, u = u, x - q * u
        y, v = v, y - q * v
    return (g, x, y) if g >= 0 else (-g, -x, -y)


def _pair(p: int, q: int) -> tuple[int, int, int, int]:
    """`a, b, m, n` with `a*p + b*q` the gcd of `p` and `q` and `m*p - n*q == 0`.

    The matrix of the four has a determinant of -1. Where `p` divides `q`, `p` stays.
    """
    if q % p == 0:
        return 1, 0, q // p, 1
    g, a, b = extended_gcd(p, q)
    return a, b, q // g, p // g


@dataclass
class Diagonal:
    """`U A V` in the making: the matrix, `V`, the inverse of `V`, and `U b`."""

    matrix: list[Row]
    columns: list[Row]
    """`V`, row by row."""
    inverse: list[Row]
    values: list[Expr]

    def swap_rows(self, i: int, k: int) -> None:
        self.matrix[i], self.matrix[k] = self.matrix[k], self.matrix[i]
        self.values[i], self.values[k] = self.values[k], self.values[i]

    def swap_columns(self, j: int, k: int) -> None:
        for row in (*self.matrix, *self.columns):
            row[j], row[k] = row[k], row[j]
        self.inverse[j], self.inverse[k] = self.inverse[k], self.inverse[j]

    def clear_row_below(self, k: int, i: int) -> None:
        """Make the entry of row `i` below the pivot of row `k` zero."""
        a, b, m, n = _pair(self.matrix[k][k], self.matrix[i][k])
        top, low = self.matrix[k], self.matrix[i]
        self.matrix[k] = [a * x + b * y for x, y in zip(top, low, strict=True)]
        self.matrix[i] = [m * x - n * y for x, y in zip(top, low, strict=True)]
        above, below = self.values[k], self.values[i]
        self.values[k] = _linear(a, above, b, below)
        self.values[i] = _linear(m, above, -n, below)

    def clear_column_right(self, k: int, j: int) -> None:
        """Make the entry of column `j` right of the pivot of column `k` zero."""
        a, b, m, n = _pair(self.matrix[k][k], self.matrix[k][j])
        for row in (*self.matrix, *self.columns):
            row[k], row[j] = a * row[k] + b * row[j], m * row[k] - n * row[j]
        # The inverse of [[a, m], [b, -n]], whose determinant is -1.
        first, second = self.inverse[k], self.inverse[j]
        self.inverse[k] = [n * x + m * y for x, y in zip(first, second, strict=True)]
        self.inverse[j] = [b * x - a * y for x, y in zip(first, second, strict=True)]


def _linear(a: int, x: Expr, b: int, y: Expr) -> Expr:
    return smart.add(smart.mul(x, a), smart.mul(y, b))


def _identity(size: int) -> list[Row]:
    return [[int(i == j) for j in range(size)] for i in range(size)]


def diagonalize(
    matrix: list[Row], values: list[Expr], width: int
) -> tuple[Diagonal, int]:
    """The diagonal form, and its rank: the number of entries that are not zero."""
    form = Diagonal(
        [list(row) for row in matrix], _identity(width), _identity(width), list(values)
    )
    rank = 0
    while rank < min(len(matrix), width) and _find_pivot(form, rank):
        while _is_dirty(form, rank):
            _clear(form, rank)
        rank += 1
    return form, rank


def _find_pivot(form: Diagonal, k: int) -> bool:
    """Move an entry other than zero to the place `k`; false if there is none."""
    width = len(form.columns)
    for j in range(k, width):
        for i in range(k, len(form.matrix)):
            if form.matrix[i][j]:
                form.swap_rows(i, k)
                form.swap_columns(j, k)
                return True
    return False


def _is_dirty(form: Diagonal, k: int) -> bool:
    below = any(row[k] for row in form.matrix[k + 1 :])
    return below or any(form.matrix[k][k + 1 :])


def _clear(form: Diagonal, k: int) -> None:
    """One round; the pivot is divided by a number greater than 1, or all is clean."""
    for i in range(k + 1, len(form.matrix)):
        if form.matrix[i][k]:
            form.clear_row_below(k, i)
    for j in range(k + 1, len(form.columns)):
        if form.matrix[k][j]:
            form.clear_column_right(k, j)


# ---- solving ----


def solve_linear_equations(
    variables: Sequence[Expr], ranges: Mapping[Expr, Range], relations: Iterable[Expr]
) -> IntConstraintsTransform:
    """The solutions of the equations among the relations, which are of type `i1`.

    The other relations, and the ranges of the variables, become relations of the new
    variables, where they do not follow from ranges of these. The new variables are named
    `n0`, `n1`…, followed by the name of an old variable where they are equal to it. If
    a solution has numbers that the type does not have, all stays as it is.
    """
    parts = [part for relation in relations for part in conjuncts(relation)]
    if not variables:
        return IntConstraintsTransform(IntConstraints([], {}, parts), {}, {})
    try:
        return _solution(variables, ranges, parts)
    except LiteralRangeError:
        same = {variable: variable for variable in variables}
        unsolved = IntConstraints(list(variables), dict(ranges), parts)
        return IntConstraintsTransform(unsolved, same, dict(same))


def _solution(
    variables: Sequence[Expr], ranges: Mapping[Expr, Range], parts: list[Expr]
) -> IntConstraintsTransform:
    """The solutions; raises LiteralRangeError where one cannot be written."""
    analyzer = analyzer_with(ranges)
    system, others = _split(variables, parts, analyzer)
    form, rank = diagonalize(
        [row for row, _ in system], [value for _, value in system], len(variables)
    )
    conditions, solved = _solved(form, rank, analyzer)
    if any(smart.literal(condition) == 0 for condition in conditions):
        return IntConstraintsTransform(unsolvable(), {}, {})
    new, dst_to_src = _new_variables(form, rank, variables, analyzer)
    terms = [*solved, *new]
    src_to_dst = {
        variable: analyzer.simplify(_combination(row, terms, variable.dtype))
        for variable, row in zip(variables, form.columns, strict=True)
    }
    new_ranges = _new_ranges(dst_to_src, variables, ranges, analyzer)
    kept = conditions + [substitute(other, src_to_dst) for other in others]
    kept += _old_ranges(ranges, src_to_dst)
    left = remaining(kept, new_ranges)
    if any(smart.literal(relation) == 0 for relation in left):
        return IntConstraintsTransform(unsolvable(), {}, {})
    dst = IntConstraints(new, new_ranges, left)
    return IntConstraintsTransform(dst, src_to_dst, dst_to_src)


def _split(
    variables: Sequence[Expr], relations: Iterable[Expr], analyzer: Analyzer
) -> tuple[list[tuple[Row, Expr]], list[Expr]]:
    """The rows of the system with their right sides, and the other relations."""
    system: list[tuple[Row, Expr]] = []
    others: list[Expr] = []
    for relation in relations:
        linear = _linear_equation(relation, variables, analyzer)
        if linear is None:
            others.append(relation)
            continue
        factors, base = linear
        row = [factors.get(variable, 0) for variable in variables]
        system.append((row, smart.sub(smart.const(0, base.dtype), base)))
    return system, others


def _linear_equation(
    relation: Expr, variables: Sequence[Expr], analyzer: Analyzer
) -> tuple[dict[Expr, int], Expr] | None:
    """Factors and base of what is zero, None where the relation is no such equation."""
    if not isinstance(relation, Cmp) or relation.predicate is not CmpPredicate.EQ:
        return None
    if not is_index_type(relation.lhs.dtype):
        return None
    difference = analyzer.simplify(smart.sub(relation.lhs, relation.rhs))
    return literal_factors(difference, variables, analyzer)


def _solved(
    form: Diagonal, rank: int, analyzer: Analyzer
) -> tuple[list[Expr], list[Expr]]:
    """When the system has solutions, and what the bound unknowns are."""
    conditions: list[Expr] = []
    solved: list[Expr] = []
    for k, value in enumerate(form.values):
        if k >= rank:
            conditions.append(analyzer.simplify(smart.eq(analyzer.simplify(value), 0)))
            continue
        divisor = form.matrix[k][k]
        if divisor < 0:
            value, divisor = smart.mul(value, -1), -divisor
        value = analyzer.simplify(value)
        if divisor != 1:
            rest = smart.eq(smart.floormod(value, divisor), 0)
            conditions.append(analyzer.simplify(rest))
        solved.append(analyzer.simplify(smart.floordiv(value, divisor)))
    return [c for c in conditions if smart.literal(c) != 1], solved


def _combination(row: Row, terms: Sequence[Expr], dtype: Attribute) -> Expr:
    total = smart.const(0, dtype)
    for factor, term in zip(row, terms, strict=True):
        if factor:
            total = smart.add(total, smart.mul(term, factor))
    return total


def _new_variables(
    form: Diagonal, rank: int, variables: Sequence[Expr], analyzer: Analyzer
) -> tuple[list[Expr], dict[Expr, Expr]]:
    """The free unknowns, and each of them in terms of the old variables."""
    found: dict[Expr, Expr] = {}
    dtype = variables[0].dtype
    for position, row in enumerate(form.inverse[rank:]):
        old = analyzer.simplify(_combination(row, variables, dtype))
        name = f"n{position}"
        if old in variables:
            name += f"_{name_of(old)}"
        found[fresh(name, dtype)] = old
    return list(found), found


def _new_ranges(
    dst_to_src: Mapping[Expr, Expr],
    variables: Sequence[Expr],
    ranges: Mapping[Expr, Range],
    analyzer: Analyzer,
) -> dict[Expr, Range]:
    """The ranges of the new variables that follow from those of the old."""
    env = {variable: from_range(found) for variable, found in ranges.items()}
    evaluate = IntSetEvaluator(analyzer, env)
    result: dict[Expr, Range] = {}
    for new, old in dst_to_src.items():
        found = evaluate(old)
        if found.min is None or found.max is None:
            continue
        if not mentions(found.min, *variables) and not mentions(found.max, *variables):
            low = analyzer.simplify(found.min)
            extent = smart.add(smart.sub(found.max, low), 1)
            result[new] = Range(low, analyzer.simplify(extent))
    return result


def _old_ranges(
    ranges: Mapping[Expr, Range], src_to_dst: Mapping[Expr, Expr]
) -> list[Expr]:
    """The ranges of the old variables as relations of the new ones."""
    found: list[Expr] = []
    for variable, domain in ranges.items():
        if variable not in src_to_dst:
            continue
        end = smart.add(domain.min, domain.extent)
        for part in (smart.le(domain.min, variable), smart.lt(variable, end)):
            found.append(substitute(part, src_to_dst))
    return found


def remaining(relations: Iterable[Expr], ranges: Mapping[Expr, Range]) -> list[Expr]:
    """What does not follow from the ranges, simplified, each once.

    Only `false` where one of the relations is that.
    """
    analyzer = analyzer_with(ranges)
    found = [analyzer.simplify(relation, 3) for relation in relations]
    if any(smart.literal(relation) == 0 for relation in found):
        return [Const(0, i1)]
    return [r for r in dict.fromkeys(found) if smart.literal(r) != 1]
