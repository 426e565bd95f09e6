"""Trees that are linear in some of their leaves, and conditions that clip such leaves.

`detect_linear_equation` finds, for a tree `e` and leaves `v1 … vn`, trees `c1 … cn` and
`base` without these leaves such that `e == c1*v1 + … + cn*vn + base` for all values of
all leaves. `detect_clip_bound` reads a conjunction of comparisons, each linear in one of
the leaves with a factor of 1 or -1, as the least and greatest value of that leaf: the
conjunction holds exactly where every leaf is within its bounds.

Both want 32- or 64-bit signed integers, whose arithmetic is that of the integers.
See docs/spec/tir-passes-b-arith-and-loops.md §1.11; TVM names `DetectLinearEquation` and
`DetectClipBound`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from xdsl_tvm.analysis.arith import smart
from xdsl_tvm.analysis.arith.analyzer import Analyzer
from xdsl_tvm.analysis.arith.expr import Add, Cmp, Const, Expr, Mul, Sub, fold, postorder
from xdsl_tvm.analysis.arith.facts import SWAPPED, conjuncts, normalized
from xdsl_tvm.analysis.arith.int_set import EVERYTHING, IntSet, compared, meet, simplified
from xdsl_tvm.dialects.tir import CmpPredicate
from xdsl_tvm.dialects.tir.types import is_index_type


def mentions(root: Expr, *nodes: Expr) -> bool:
    """Whether one of the nodes occurs in the tree."""
    wanted = set(nodes)
    return any(node in wanted for node in postorder(root))


@dataclass(frozen=True)
class LinearForm:
    """`sum(factor * variable) + base`, for the variables that are keys of `factors`."""

    factors: Mapping[Expr, Expr]
    base: Expr

    @property
    def is_free(self) -> bool:
        return not self.factors


def linear_form(root: Expr, variables: Sequence[Expr]) -> LinearForm | None:
    """The tree as a linear form of those variables that occur in it, else None.

    Factors and base are free of all the variables.
    """
    if not is_index_type(root.dtype):
        return None
    wanted = set(variables)

    def form(node: Expr, parts: list[LinearForm | None]) -> LinearForm | None:
        if node in wanted:
            return LinearForm({node: smart.const(1, node.dtype)}, _zero(node))
        if any(part is None for part in parts):
            return None
        found = [part for part in parts if part is not None]
        if all(part.is_free for part in found):
            return LinearForm({}, smart.rebuild(node, [part.base for part in found]))
        return _combined(node, found)

    return fold(root, form)


def _zero(node: Expr) -> Expr:
    return smart.const(0, node.dtype)


def _combined(node: Expr, parts: list[LinearForm]) -> LinearForm | None:
    if not is_index_type(node.dtype):
        return None
    match node:
        case Add():
            return _added(*parts, sign=1)
        case Sub():
            return _added(*parts, sign=-1)
        case Mul() if parts[0].is_free:
            return _multiplied(parts[1], parts[0].base)
        case Mul() if parts[1].is_free:
            return _multiplied(parts[0], parts[1].base)
        case _:
            return None


def _added(a: LinearForm, b: LinearForm, *, sign: int) -> LinearForm:
    factors = dict(a.factors)
    combine = smart.add if sign > 0 else smart.sub
    for variable, factor in b.factors.items():
        factors[variable] = combine(factors.get(variable, _zero(factor)), factor)
    return LinearForm(factors, combine(a.base, b.base))


def _multiplied(form: LinearForm, by: Expr) -> LinearForm:
    factors = {v: smart.mul(factor, by) for v, factor in form.factors.items()}
    return LinearForm(factors, smart.mul(form.base, by))


def detect_linear_equation(root: Expr, variables: Sequence[Expr]) -> list[Expr] | None:
    """The factors of the variables, in their order, followed by the base; simplified.

    A variable that does not occur has the factor 0. None where the tree is not built from
    the variables by sums, differences and products with trees that are free of them.
    """
    form = linear_form(root, variables)
    if form is None:
        return None
    analyzer = Analyzer()
    zero = _zero(root)
    found = [analyzer.simplify(form.factors.get(v, zero)) for v in variables]
    return [*found, analyzer.simplify(form.base)]


def detect_clip_bound(
    condition: Expr, variables: Sequence[Expr]
) -> dict[Expr, IntSet] | None:
    """The bounds that a condition, of type `i1`, amounts to; None if it is another one.

    The condition must be a conjunction of comparisons, each of them of just one of the
    variables, with a factor of 1 or -1. All variables have an entry.
    """
    analyzer = Analyzer()
    found = dict.fromkeys(variables, EVERYTHING)
    for part in conjuncts(normalized(analyzer.simplify(condition, 3))):
        clipped = _clipped(part, variables, analyzer)
        if clipped is None:
            return None
        variable, bound = clipped
        found[variable] = meet(found[variable], bound)
    return {variable: simplified(bound, analyzer) for variable, bound in found.items()}


def _clipped(
    part: Expr, variables: Sequence[Expr], analyzer: Analyzer
) -> tuple[Expr, IntSet] | None:
    """The variable of one comparison, and its bound."""
    if not isinstance(part, Cmp) or part.predicate is CmpPredicate.NE:
        return None
    inside = set(postorder(part))
    used = [variable for variable in variables if variable in inside]
    if len(used) != 1 or not is_index_type(part.lhs.dtype):
        return None
    difference = analyzer.canonical_simplify(smart.sub(part.lhs, part.rhs))
    form = linear_form(difference, used)
    if form is None or used[0] not in form.factors:
        return None
    factor = smart.literal(analyzer.simplify(form.factors[used[0]]))
    predicate = part.predicate
    if factor == 1:
        limit = smart.sub(_zero(form.base), form.base)
    elif factor == -1:
        limit, predicate = form.base, SWAPPED[predicate]
    else:
        return None
    return used[0], compared(predicate, limit)


def literal_factors(
    root: Expr, variables: Sequence[Expr], analyzer: Analyzer
) -> tuple[dict[Expr, int], Expr] | None:
    """The factors, if all are integer literals, without zeros; and the base, simplified.

    None where the tree is not linear in the variables with such factors.
    """
    form = linear_form(root, variables)
    if form is None:
        return None
    factors: dict[Expr, int] = {}
    for variable, factor in form.factors.items():
        simplified = analyzer.simplify(factor)
        if not isinstance(simplified, Const):
            return None
        if simplified.value:
            factors[variable] = int(simplified.value)
    return factors, analyzer.simplify(form.base)
