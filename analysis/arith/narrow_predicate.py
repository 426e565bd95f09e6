"""Conditions without parameters that imply a condition for all their values.

`narrow_predicate(p, sets)` is a condition `q` free of the parameters, such that `q`
implies `p` for all values that the parameters have in their sets. So `i > n` with `n` in
`[0, 8)` becomes `i > 7`. `q` may be false where `p` is true; it is `false` where nothing
better was found.

Negations move inward first. Then `and` and `or` stay, and a comparison `a < b` becomes
`max(a) < min(b)` with the ends of integer sets, `a == b` becomes `a <= b and b <= a`, and
`a != b` becomes `a < b or b < a`. Any other condition that mentions a parameter becomes
`false`. Sets know the signs of factors, so that no sign makes the result weaker than it
must be. See docs/spec/tir-passes-b-arith-and-loops.md §1.14; TVM name
`NarrowPredicateExpression`.
"""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.dialects.builtin import i1

from xdsl_tvm.analysis.arith import smart
from xdsl_tvm.analysis.arith.analyzer import Analyzer
from xdsl_tvm.analysis.arith.expr import And, Call, Cmp, Expr, Or, Value, fold, postorder
from xdsl_tvm.analysis.arith.facts import normalized
from xdsl_tvm.analysis.arith.int_set import IntSet, IntSetEvaluator, bodies_of, varies
from xdsl_tvm.dialects.tir import CmpPredicate
from xdsl_tvm.dialects.tir.types import is_index_type


def narrow_predicate(
    condition: Expr, parameters: Mapping[Expr, IntSet], analyzer: Analyzer | None = None
) -> Expr:
    """The condition, of type `i1`, narrowed as above, and simplified.

    The ends of the sets may mention other parameters. Values that are made where a
    parameter lives may depend on it, loads above all: conditions on them become `false`.
    """
    analyzer = analyzer or Analyzer()
    narrow = _Narrowing(analyzer, parameters)
    return analyzer.simplify(fold(normalized(condition), narrow), 3)


class _Narrowing:
    def __init__(self, analyzer: Analyzer, parameters: Mapping[Expr, IntSet]) -> None:
        self._parameters = parameters
        self._bodies = bodies_of(parameters)
        self._evaluate = IntSetEvaluator(analyzer, parameters)

    def __call__(self, node: Expr, parts: list[Expr]) -> Expr:
        if node.dtype != i1:
            return node
        match node:
            case And():
                return smart.conjunction(*parts)
            case Or():
                return smart.disjunction(*parts)
            case Call(name="likely"):
                return parts[0]
            case Cmp() if is_index_type(node.lhs.dtype) and self._depends(node):
                return self._comparison(node)
            case _:
                return smart.const(0, i1) if self._depends(node) else node

    def _depends(self, root: Expr) -> bool:
        return any(
            node in self._parameters
            or (isinstance(node, Value) and varies(node, self._bodies))
            for node in postorder(root)
        )

    def _comparison(self, node: Cmp) -> Expr:
        a, b = self._evaluate(node.lhs), self._evaluate(node.rhs)
        match node.predicate:
            case CmpPredicate.LT:
                return _below(a, b, strict=True)
            case CmpPredicate.LE:
                return _below(a, b, strict=False)
            case CmpPredicate.GT:
                return _below(b, a, strict=True)
            case CmpPredicate.GE:
                return _below(b, a, strict=False)
            case CmpPredicate.EQ:
                both = _below(a, b, strict=False), _below(b, a, strict=False)
                return smart.conjunction(*both)
            case CmpPredicate.NE:
                either = _below(a, b, strict=True), _below(b, a, strict=True)
                return smart.disjunction(*either)


def _below(a: IntSet, b: IntSet, *, strict: bool) -> Expr:
    """That all of `a` is below all of `b`."""
    if a.is_nothing or b.is_nothing:
        return smart.const(1, i1)
    if a.max is None or b.min is None:
        return smart.const(0, i1)
    return smart.lt(a.max, b.min) if strict else smart.le(a.max, b.min)
