"""Quotients and bounds are written so that the parts of split indices show."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass
from math import gcd

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Operation

from xdsl_tvm.analysis.all_ops import all_ops
from xdsl_tvm.analysis.arith import smart
from xdsl_tvm.analysis.arith.analyzer import Analyzer
from xdsl_tvm.analysis.arith.expr import (
    Add,
    Broadcast,
    Cmp,
    Expr,
    FloorDiv,
    FloorMod,
    Mul,
    Not,
    fold,
)
from xdsl_tvm.analysis.arith.facts import SWAPPED, negated
from xdsl_tvm.dialects import tir
from xdsl_tvm.dialects.by_class import of_classes
from xdsl_tvm.dialects.tir import CmpPredicate
from xdsl_tvm.dialects.tir.types import is_index_type
from xdsl_tvm.passes.infra import CompilerPass
from xdsl_tvm.passes.tir.rewriting.expressions import ExpressionRewriter

MAX_DEPTH = 5
"""How often a result is rewritten again."""


@dataclass(frozen=True)
class RenormalizeSplitPattern(CompilerPass):
    """Summary: Undoes simplifications that hid how indices are split, so that `Simplify`
        after it finds the common form.

    TVM name: tir.RenormalizeSplitPattern (v0.20)
    Input form: any
    Output form: the same
    Options: none
    Rewrites: expressions wherever ops use them, inner ones first, results again five deep
        at most; `c` is a literal greater than 0, g the greatest common divisor of c1 and
        c2, if that is greater than 1:

            x % c3 // c2              ->  x // c2 % (c3 // c2)     c2 divides c3
            (x * c1 + y) // c2        ->  (x * (c1 // g) + y // g) // (c2 // g)
            (x * c1 + y + z) // c2    ->  (x * (c1 // g) + (y + z) // g) // (c2 // g)
            x < c                     ->  x // c < 1
            c <= x                    ->  1 <= x // c
            a > b, a >= b             ->  b < a, b <= a
            not (a < b)               ->  b <= a, and so on

        The first three also for vectors with divisors that are broadcast. Neutral factors
        and divisors fold; nothing else is simplified. Time is linear in the size of the
        module.
    Leaves alone: comparisons of floats and of custom types, definitions of buffers,
        operands of ops of other dialects, reducers
    Errors: none
    Attributes: read: none; created: none; removed: none
    Differs from TVM: the rules with sums apply to 32- and 64-bit signed integers alone,
        for which overflow is undefined: where `x * c1 + y` wraps, they change the value.
        Negations of comparisons of floats and of custom types stay, for NaN.
    """

    name = "tir-renormalize-split-pattern"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func in op.body.block.ops:
            if any(map(_may_change, all_ops(func))):
                _Renormalizer(func).run()


_is_rewritten = of_classes(tir.CmpOp, tir.FloorDivOp, tir.NotOp)
_UNORDERED = (CmpPredicate.EQ, CmpPredicate.NE)


def _may_change(op: Operation) -> bool:
    """Whether a rule may apply to what an op computes."""
    if not _is_rewritten(op):
        return False
    return not isinstance(op, tir.CmpOp) or op.predicate.data not in _UNORDERED


class _Renormalizer(ExpressionRewriter):
    """Rewrites expressions by the rules, whatever holds where they are."""

    def __init__(self, root: Operation) -> None:
        super().__init__(root, Analyzer())
        self._results: dict[Expr, Expr] = {}
        self._depth = 0

    def rewritten(self, tree: Expr) -> Expr:
        return fold(tree, self._node, self._results)

    def _node(self, node: Expr, operands: list[Expr]) -> Expr:
        node = node.rebuilt(tuple(operands))
        result = _renormalized(node)
        if result is not node and self._depth < MAX_DEPTH:
            self._depth += 1
            result = self.rewritten(result)
            self._depth -= 1
        self._results[result] = result
        return result

    def _enter(self, op: Operation, position: int, scopes: ExitStack) -> None:
        """No rule asks for facts."""

    def _after(self, op: Operation, scopes: ExitStack) -> None:
        """No rule asks for facts."""


def _renormalized(node: Expr) -> Expr:
    """What the first rule that applies makes of a node, or the node."""
    match node:
        case FloorDiv():
            return _of_remainder(node) or _of_sum(node) or node
        case Cmp(lhs=lhs) if _is_integer(lhs.dtype):
            return _of_comparison(node)
        case Not(value=Not(value=value)):
            return value
        case Not(value=Cmp(lhs=lhs) as comparison) if _is_integer(lhs.dtype):
            return negated(comparison) if _is_ordered(comparison) else node
        case _:
            return node


def _is_integer(dtype: Attribute) -> bool:
    """Whether comparisons of a type are those of integers: a custom type's are not."""
    return tir.is_integer_type(tir.element_of(dtype))


def _of_remainder(node: FloorDiv) -> Expr | None:
    """`x % c3 // c2` where c2 divides c3."""
    divisor = _positive(node.rhs)
    match node.lhs:
        case FloorMod(lhs=x, rhs=modulus):
            upper = _positive(modulus)
        case _:
            return None
    if not divisor or not upper or upper % divisor:
        return None
    return smart.floormod(
        smart.floordiv(x, node.rhs), smart.const(upper // divisor, node.dtype)
    )


def _of_sum(node: FloorDiv) -> Expr | None:
    """`(x * c1 + y) // c2` and `(x * c1 + y + z) // c2`."""
    match node.lhs:
        case Add(lhs=Mul(lhs=x, rhs=scale), rhs=rest):
            pass
        case Add(lhs=Add(lhs=Mul(lhs=x, rhs=scale), rhs=y), rhs=z):
            rest = smart.add(y, z)
        case _:
            return None
    factor, divisor = _positive(scale), _positive(node.rhs)
    if not factor or not divisor or not is_index_type(tir.element_of(node.dtype)):
        return None
    common = gcd(factor, divisor)
    if common == 1:
        return None

    def number(value: int) -> Expr:
        return smart.const(value, node.dtype)

    # Neutral operands do not fold by themselves where they are vectors.
    product = x if factor == common else smart.mul(x, number(factor // common))
    inner = smart.add(product, smart.floordiv(rest, number(common)))
    return (
        inner if divisor == common else smart.floordiv(inner, number(divisor // common))
    )


def _of_comparison(node: Cmp) -> Expr:
    """Bounds by a literal, and `>` and `>=`."""
    if not _is_ordered(node):
        return node
    if node.predicate in (CmpPredicate.GT, CmpPredicate.GE):
        return Cmp(SWAPPED[node.predicate], node.rhs, node.lhs)
    one = smart.const(1, node.lhs.dtype)
    if node.predicate is CmpPredicate.LT and _bound(node.rhs):
        return Cmp(node.predicate, smart.floordiv(node.lhs, node.rhs), one)
    if node.predicate is CmpPredicate.LE and _bound(node.lhs):
        return Cmp(node.predicate, one, smart.floordiv(node.rhs, node.lhs))
    return node


def _is_ordered(node: Cmp) -> bool:
    return node.predicate not in _UNORDERED


def _bound(node: Expr) -> bool:
    """Whether it is a scalar literal greater than 1: 1 is the result of the rule."""
    value = smart.literal(node)
    return isinstance(value, int) and value > 1


def _positive(node: Expr) -> int | None:
    """A literal greater than 0, scalar or broadcast."""
    value = smart.literal(node.value if isinstance(node, Broadcast) else node)
    return value if isinstance(value, int) and value > 0 else None
