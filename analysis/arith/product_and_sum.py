"""Comparing products with sums of the same two numbers.

docs/spec/tir-passes-b-arith-and-loops.md §1.6.6.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from xdsl_tvm.analysis.arith import smart
from xdsl_tvm.analysis.arith.expr import Add, Expr, Mul, Sub
from xdsl_tvm.analysis.arith.transitive_comparison import Comparison
from xdsl_tvm.dialects.integers import INF, Bound


def product_against_sum(difference: Expr, bound: Callable[[Expr], Bound]) -> Comparison:
    """How `(A + B) * C + A * B * D` compares with 0, as far as bounds of all four tell.

    With positive `A`, `B`, `C` and a negative `D`, the product of the two is small
    against their sum if one of them is small against `C`.
    """
    for parts in _products_and_sums(difference):
        found = _product_and_sum(*(bound(part) for part in parts))
        if found is not Comparison.UNKNOWN:
            return found
    return Comparison.UNKNOWN


def _products_and_sums(node: Expr) -> Iterator[tuple[Expr, Expr, Expr, Expr]]:
    """`A`, `B`, `C`, `D` with the node `(A + B) * C + A * B * D`."""
    if type(node) not in (Add, Sub):
        return
    sign = 1 if type(node) is Add else -1
    lhs, rhs = node.operands
    for scaled_sum, scaled_product, first_sign, second_sign in (
        (lhs, rhs, 1, sign),
        (rhs, lhs, sign, 1),
    ):
        for total, c in _factors(scaled_sum):
            if type(total) is not Add:
                continue
            a, b = total.operands
            for product, d in _factors(scaled_product):
                if type(product) is Mul and set(product.operands) == {a, b}:
                    yield (
                        a,
                        b,
                        c if first_sign > 0 else smart.sub(0, c),
                        d if second_sign > 0 else smart.sub(0, d),
                    )


def _factors(node: Expr) -> Iterator[tuple[Expr, Expr]]:
    """The node as a product of two."""
    one = smart.const(1, node.dtype)
    yield node, one
    if type(node) is Mul:
        lhs, rhs = node.operands
        yield lhs, rhs
        yield rhs, lhs


def _negated_bound(bound: Bound) -> Bound:
    return Bound(-bound.max, -bound.min)


def _product_and_sum(a: Bound, b: Bound, c: Bound, d: Bound) -> Comparison:
    """The outcome for bounds of the four."""
    weight = _negated_bound(d)
    is_upper = weight.max < 0
    if is_upper:
        c, weight = _negated_bound(c), _negated_bound(weight)
    if c.max < 0:
        a, b, c = map(_negated_bound, (a, b, c))
    if min(a.min, b.min, c.min, weight.min) <= 0 or weight.max == INF:
        return Comparison.UNKNOWN
    small = min(a.max, b.max) * weight.max <= c.min
    both = a.max != INF and b.max != INF
    if not small and not (both and a.max * b.max * weight.max < c.min * (a.max + b.max)):
        return Comparison.UNKNOWN
    return Comparison.LT if is_upper else Comparison.GT
