"""The values that variables have where conditions hold, as far as ends say them."""

from __future__ import annotations

from collections.abc import Mapping
from math import inf
from typing import Protocol

from xdsl.ir import SSAValue

from xdsl_tvm.analysis.arith.expr import Expr, Value
from xdsl_tvm.analysis.arith.facts import SWAPPED, conjuncts
from xdsl_tvm.analysis.arith.polynomial import Monomial, compared_with_zero
from xdsl_tvm.dialects.integers import Bound
from xdsl_tvm.dialects.tir import CmpPredicate


class Limited(Protocol):
    """What has a least and a greatest value, which may be infinite."""

    @property
    def low(self) -> float: ...

    @property
    def high(self) -> float: ...


Ends = Mapping[SSAValue, Bound]
_Single = tuple[SSAValue, Bound]
"""The values that a condition leaves to one variable."""


class VariableEnds:
    """The ends of variables where conditions hold, which are asked for again and again.

    Variables may be added later on; what is known of one does not change.
    """

    def __init__(self, variables: Mapping[SSAValue, Limited]) -> None:
        self._variables = variables
        self._anywhere: dict[SSAValue, Bound] = {}
        self._where: dict[tuple[Expr, ...], Ends | None] = {}
        self._parts: dict[Expr, _Single | None] = {}

    def with_variables(self, variables: Mapping[SSAValue, Limited]) -> VariableEnds:
        """The same of other variables."""
        found = VariableEnds(variables)
        found._parts = self._parts
        return found

    def where(self, conditions: tuple[Expr, ...]) -> Ends | None:
        """The ends where all conditions hold; None if they do nowhere."""
        if len(self._anywhere) != len(self._variables):
            self._anywhere = {v: range_of(each) for v, each in self._variables.items()}
            self._where.clear()
        if conditions not in self._where:
            self._where[conditions] = self._narrowed(conditions)
        return self._where[conditions]

    def _narrowed(self, conditions: tuple[Expr, ...]) -> Ends | None:
        ends = dict(self._anywhere)
        for condition in conditions:
            for part in conjuncts(condition):
                found = self._single(part)
                if found is None or found[0] not in ends:
                    continue
                value, bound = found
                old = ends[value]
                ends[value] = Bound(max(old.min, bound.min), min(old.max, bound.max))
                if ends[value].is_empty:
                    return None
        return ends

    def _single(self, part: Expr) -> _Single | None:
        if part not in self._parts:
            self._parts[part] = _single_bound(part)
        return self._parts[part]


def range_of(variable: Limited) -> Bound:
    """All values of a variable."""
    return Bound(_limit(variable.low), _limit(variable.high))


def _limit(number: float) -> float:
    return number if number in (inf, -inf) else int(number)


def single_variable(monomial: Monomial) -> SSAValue | None:
    """The variable that a product is; None for others."""
    if len(monomial) == 1 and isinstance(monomial[0], Value):
        return monomial[0].value
    return None


def _single_bound(condition: Expr) -> _Single | None:
    """The values that a comparison with a constant leaves to one variable."""
    compared = compared_with_zero(condition)
    if compared is None:
        return None
    difference, predicate = compared[0].terms, compared[1]
    leaves = [monomial for monomial in difference if monomial]
    if len(leaves) != 1 or abs(difference[leaves[0]]) != 1:
        return None
    leaf = single_variable(leaves[0])
    if leaf is None:
        return None
    sign, constant = difference[leaves[0]], difference.get((), 0)
    if sign < 0:
        predicate = SWAPPED[predicate]
    end = -constant * sign
    bounds = {
        CmpPredicate.LT: Bound(-inf, end - 1),
        CmpPredicate.LE: Bound(-inf, end),
        CmpPredicate.GT: Bound(end + 1, inf),
        CmpPredicate.GE: Bound(end, inf),
        CmpPredicate.EQ: Bound(end, end),
    }
    bound = bounds.get(predicate)
    return None if bound is None else (leaf, bound)
