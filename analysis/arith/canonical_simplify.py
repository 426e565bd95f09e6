"""Canonical simplification: a normal form of index arithmetic.

Sums of 32- and 64-bit signed integers become sums of splits (`analysis.split_sum`), with
equal terms added and splits of one index put together; divisions and remainders by
constants become splits. Any other node is rebuilt on the simplified operands and given to
the rewrite rules once. See docs/spec/tir-passes-b-arith-and-loops.md §1.7. With `S` a
sum, `H` and `L` sums that make it up, and `c > 0`, `d > 0` constants:

- `(c*H + L) // c == H + L // c`, and toward zero where `H >= 0` and `L >= 0`; `L // c` is
  a constant where the bounds of `L` lie within one multiple of `c`.
- `(c*H + L) % c == L % c`, likewise.
- `(d*H + L) // (d*c) == H // c` and `(d*H + L) % (d*c) == H % c * d + L` where `L` is at
  least 0 and less than `d`; toward zero only with `H >= 0`. The constant of the sum is
  divided by `d*c`, and all of its remainder is in `L`, so that `(4*x + 7) // 8` stays.
- `(a*x) // (a*y) == x // y` and `(a*x) % (a*y) == x % y * a` for any `a` that is not 0,
  as it cannot be where the original is defined.
- `c*H + L < 0` is `H + L // c < 0`.
- A cast between index types applies to the parts, where all of them fit its type.

TVM drops `L` from a comparison also where it is negative and more than `-c`, which
changes the outcome; and takes the remainder of a negative multiple of a split quotient
for a multiple of a remainder, which it is not. Here these are left alone.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeAlias

from xdsl.dialects.builtin import i1
from xdsl.ir import Attribute

from xdsl_tvm.analysis.arith import smart
from xdsl_tvm.analysis.arith.definedness import is_total
from xdsl_tvm.analysis.arith.expr import (
    Add,
    Binary,
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
    Select,
    Sub,
    Value,
)
from xdsl_tvm.analysis.arith.facts import conjuncts, negated
from xdsl_tvm.analysis.arith.split_sum import Split, Sum, are_neighbours, total
from xdsl_tvm.analysis.arith.transitive_comparison import Comparison
from xdsl_tvm.dialects.dtypes import integer_range
from xdsl_tvm.dialects.integers import EVERYTHING, Bound, truncated_quotient
from xdsl_tvm.dialects.tir import CmpPredicate
from xdsl_tvm.dialects.tir.types import is_index_type

if TYPE_CHECKING:
    from xdsl_tvm.analysis.arith.analyzer import Analyzer

MAX_NESTED_CHOICES = 4
"""Choices inside of each other whose branches are simplified knowing the condition."""
_VISITS = 500
_VISITS_PER_NODE = 10
"""Nodes visited knowing conditions, in all and for each node of the tree."""
MAX_NESTED = 8
"""Remainders, or casts, inside of each other that are looked through at once."""

MAX_SHARED_TERMS = 32
"""Terms of a sum with several uses that is taken apart in other sums."""
MAX_FACTORS = 64
"""Factors of a product that is taken apart."""

Form: TypeAlias = Sum | Expr
"""The normal form: a sum for index types, a simplified tree for others."""

_Terms: TypeAlias = tuple[tuple[Expr, int], ...]
"""Operands of a sum and their factors."""

_FLOOR = (FloorDiv, FloorMod)
_QUOTIENTS = (Div, FloorDiv)
_DIVISIONS = (Div, Mod, FloorDiv, FloorMod)


class CanonicalSimplifier:
    """Normal forms of trees under the facts of an analyzer, which keeps them."""

    def __init__(self, analyzer: Analyzer) -> None:
        self._analyzer = analyzer
        self._nested_choices = 0
        self._total: dict[Expr, bool] = {}
        self._active = 0
        self._visits = 0

    def __call__(self, root: Expr) -> Expr:
        """The simplified tree.

        Every node is visited once while the facts hold, and in branches again with the
        facts that hold there, as far as the limits allow: time is linear in the size.
        """
        return self._emitted(self.form(root))

    def is_sum_of_variables(self, node: Expr) -> bool:
        """Whether a tree that was made here is a sum of multiples of leaves."""
        form = self._analyzer.memo.forms.get(node)
        return isinstance(form, Sum) and all(
            split.is_plain and isinstance(split.source, Value) for split in form.splits
        )

    def form(self, root: Expr) -> Form:
        """The normal form of a tree."""
        if not self._active:
            self._visits = _VISITS
        self._active += 1
        try:
            return self._form(root, _VISITS_PER_NODE if self._active == 1 else -1)
        finally:
            self._active -= 1

    def _form(self, root: Expr, visits: int) -> Form:
        """The normal form; every node that is visited adds `visits` to those allowed."""
        forms = self._analyzer.memo.forms
        # The parts of a sum are there once it has waited for them; those of a choice
        # depend on the visits that are left.
        stack = [(root, False)]
        while stack:
            node, has_parts = stack.pop()
            if node in forms:
                continue
            if not (has_parts and _is_linear(node)):
                missing = [part for part in self._parts(node) if part not in forms]
                if missing:
                    stack.append((node, True))
                    stack += [(part, False) for part in reversed(missing)]
                    continue
            forms[node] = self._formed(node)
            self._visits += visits
        return forms[root]

    def _parts(self, node: Expr) -> Sequence[Expr]:
        """The trees whose forms the form of the node is made of."""
        if _is_linear(node):
            return [part for part, terms in self._region(node) if not terms]
        if isinstance(node, Select | IfThenElse):
            return node.operands[:1] if self._may_assume(node) else node.operands
        if isinstance(node, Value):
            value = self._analyzer.facts.value_of(node)
            return () if value is None else (value,)
        return node.operands

    def _formed(self, node: Expr) -> Form:
        forms = self._analyzer.memo.forms
        if _is_linear(node):
            found = self._expanded(self._linear(node))
            return found if found.fits else Sum.of(node)
        if isinstance(node, Select | IfThenElse) and self._may_assume(node):
            return self._choice(node)
        if isinstance(node, Value):
            value = self._analyzer.facts.value_of(node)
            return self._plain(node) if value is None else forms[value]
        operands = [forms[operand] for operand in node.operands]
        found = self._arithmetic(node, operands)
        if found is not None:
            found = self._expanded(found)
            if found.fits:
                return found
        decided = self._decided(node, operands)
        if decided is not None:
            return decided
        return self._rebuilt(node, [self._emitted(part) for part in operands])

    def _emitted(self, form: Form) -> Expr:
        if isinstance(form, Expr):
            return form
        form = self._resolved(form)
        node = form.expr
        self._analyzer.memo.forms.setdefault(node, form)
        return node

    # ---- sums ----

    def _region(self, root: Expr) -> list[tuple[Expr, _Terms]]:
        """The nodes of the sum that the root is, each after its operands, with the terms
        of those that are taken apart. Nodes with forms are not."""
        forms = self._analyzer.memo.forms
        seen: set[Expr] = set()
        order: list[tuple[Expr, _Terms]] = []
        stack: list[tuple[Expr, _Terms]] = [(root, ())]
        while stack:
            item = stack.pop()
            node, terms = item
            if terms:
                order.append(item)
            elif node not in seen:
                seen.add(node)
                if node is root or (node not in forms and _is_linear(node)):
                    terms = _terms(node)
                    stack.append((node, terms))
                    stack += [(part, ()) for part, _ in reversed(terms)]
                else:
                    order.append(item)
        return order

    def _linear(self, root: Expr) -> Sum:
        """The sum that the root is, of the forms of its terms.

        A node gets the sum of the factors with which its users take it, users first, so
        that shared nodes are expanded once.
        """
        region = self._region(root)
        factors = {node: 0 for node, _ in region}
        factors[root] = 1
        for node, terms in reversed(region):
            for part, factor in terms:
                factors[part] += factor * factors[node]
        parts = [node for node, terms in region if not terms]
        return total(root.dtype, [(self._term(node), factors[node]) for node in parts])

    def _term(self, node: Expr) -> Sum:
        """The form of a term; the term itself if it is a long sum, used elsewhere too.

        Else a chain of sums that are all used would become that many sums of all terms.
        """
        form = self._sum(node)
        return _sum_of(self._emitted(form)) if _is_long(form) else form

    def _sum(self, node: Expr) -> Sum:
        """The form of an index expression; the node itself where there is none yet."""
        form = self._analyzer.memo.forms.get(node)
        return form if isinstance(form, Sum) else _sum_of(node)

    def _plain(self, node: Expr) -> Form:
        """The form of a tree that is simplified, by its sums alone."""
        known = self._analyzer.memo.forms.get(node)
        if known is not None:
            return known
        if not is_index_type(node.dtype):
            return node
        found = self._linear(node) if _is_linear(node) else _sum_of(node)
        return found if found.fits else _sum_of(node)

    # ---- nodes that are no sums ----

    def _rebuilt(self, node: Expr, operands: Sequence[Expr]) -> Form:
        """The form of a node on simplified operands, by folding and rewrite rules."""
        found = smart.rebuild(node, operands)
        if isinstance(found, Cmp):
            found = self._comparison(found)
        return self._plain(self._analyzer.rewrite_root(found))

    def _choice(self, node: Expr) -> Form:
        """A choice whose branches are simplified knowing which one is taken."""
        condition = self._emitted(self._analyzer.memo.forms[node.operands[0]])
        truth = smart.literal(condition)
        if truth is not None:
            return self._plain(self._branch(node.operands[1 if truth else 2], None))
        parts = (condition, negated(condition))
        branches = [
            self._branch(branch, part if condition.dtype == i1 else None)
            for branch, part in zip(node.operands[1:], parts, strict=True)
        ]
        return self._rebuilt(node, [condition, *branches])

    def _may_assume(self, node: Expr) -> bool:
        """Whether the branches of a choice may be simplified knowing its condition.

        Both branches of an eager one are computed, so what is simplified must be defined
        where the condition is false too.
        """
        if self._nested_choices >= MAX_NESTED_CHOICES or self._visits <= 0:
            return False
        return isinstance(node, IfThenElse) or all(
            is_total(branch, self._total) for branch in node.operands[1:]
        )

    def _branch(self, branch: Expr, condition: Expr | None) -> Expr:
        """A branch simplified, knowing the condition if one is given."""
        self._nested_choices += 1
        try:
            if condition is None:
                return self(branch)
            with self._analyzer.assumed(conjuncts(condition)):
                return self(branch)
        finally:
            self._nested_choices -= 1

    def _arithmetic(self, node: Expr, operands: Sequence[Form]) -> Sum | None:
        """Products, divisions and casts of index types; None where no rule applies."""
        if not is_index_type(node.dtype):
            return None
        match node, operands:
            case Const(value=value), _:
                return Sum(node.dtype, int(value))
            case Cast(), (Sum() as value,):
                return self._cast(node.dtype, value)
            case Mul(), (Sum() as lhs, Sum() as rhs):
                return _product(lhs, rhs)
            case Binary(), (Sum() as lhs, Sum() as rhs) if isinstance(node, _DIVISIONS):
                return self._division(node, lhs, rhs)
            case _:
                return None

    # ---- divisions ----

    def _division(self, node: Expr, lhs: Sum, rhs: Sum) -> Sum | None:
        divisor = rhs.literal
        floor = isinstance(node, _FLOOR)
        if divisor is None:
            return self._cancelled(node, lhs, rhs)
        if divisor <= 0:
            return None
        if isinstance(node, _QUOTIENTS):
            return self._quotient(lhs, divisor, floor=floor)
        return self._remainder(lhs, divisor, floor=floor)

    def _cancelled(self, node: Expr, lhs: Sum, rhs: Sum) -> Sum | None:
        """A division with the factors left out that both operands have."""
        a, b = _factors(lhs), _factors(rhs)
        if not a[0] or not b[0]:
            return None
        number = math.gcd(a[0], b[0])
        common = _common(a[1], b[1])
        if number == 1 and not common:
            return None
        left = _multiplied(lhs.dtype, a[0] // number, _without(a[1], common))
        right = _multiplied(lhs.dtype, b[0] // number, _without(b[1], common))
        if not (left.fits and right.fits):
            return None
        found = self._reduced(node, left, right)
        if found is None or isinstance(node, _QUOTIENTS):
            return found
        return _product(found, _multiplied(lhs.dtype, number, common))

    def _reduced(self, node: Expr, lhs: Sum, rhs: Sum) -> Sum | None:
        divisor = rhs.literal
        if divisor is not None and divisor > 0:
            return self._division(node, lhs, rhs)
        form = self._plain(smart.rebuild(node, (lhs.expr, rhs.expr)))
        return form if isinstance(form, Sum) else None

    def _quotient(self, value: Sum, divisor: int, *, floor: bool) -> Sum | None:
        """`value / divisor`, for a divisor above zero."""
        if divisor == 1:
            return value
        whole, rest = value.parts(divisor)
        if not floor and not self._non_negative(whole, rest):
            return self._toward_zero(value, divisor)
        constant = self._constant_quotient(rest, divisor)
        if constant is not None:
            found = whole.divided(divisor)
            return found.based(found.base + constant)
        part = _split_quotient(rest, divisor, floor=floor)
        return None if part is None else whole.divided(divisor).plus(part)

    def _toward_zero(self, value: Sum, divisor: int) -> Sum | None:
        """A quotient rounded toward zero, of a value of any sign."""
        if value.literal is not None:
            return Sum(value.dtype, truncated_quotient(value.base, divisor))
        bound = self._bound(value)
        if -divisor < bound.min and bound.max < divisor:
            return Sum(value.dtype)
        return _split_quotient(value, divisor, floor=False)

    def _constant_quotient(self, rest: Sum, divisor: int) -> int | None:
        """The quotient rounded down, if it is the same for all values."""
        if rest.literal is not None:
            return rest.base // divisor
        bound = self._bound(rest)
        if not bound.is_finite:
            return None
        low, high = bound.min // divisor, bound.max // divisor
        return int(low) if low == high else None

    def _remainder(
        self, value: Sum, divisor: int, *, floor: bool, nested: int = 0
    ) -> Sum | None:
        """The remainder of `value / divisor`, for a divisor above zero."""
        whole, rest = value.parts(divisor)
        if not rest.splits and rest.base == 0:
            return rest
        if not floor and not self._non_negative(whole, rest):
            return self._signed_remainder(value, divisor)
        rest = _reduced_scales(rest, divisor)
        constant = self._constant_quotient(rest, divisor)
        if constant is not None:
            return rest.based(rest.base - constant * divisor)
        rest = self._reduced_base(rest, divisor, floor=floor)
        return self._split_remainder(rest, divisor, floor=floor, nested=nested)

    def _reduced_base(self, rest: Sum, divisor: int, *, floor: bool) -> Sum:
        """The sum with its constant modulo the divisor, where that changes nothing."""
        reduced = rest.based(rest.base % divisor)
        if floor or reduced.base == rest.base:
            return reduced
        return reduced if self._bound(reduced).min >= 0 else rest

    def _signed_remainder(self, value: Sum, divisor: int) -> Sum | None:
        """A remainder with the sign of the dividend, of a value of any sign."""
        if value.literal is not None:
            return Sum(value.dtype, _signed_remainder(value.base, divisor))
        bound = self._bound(value)
        if -divisor < bound.min and bound.max < divisor:
            return value
        return self._split_remainder(value, divisor, floor=False, nested=0)

    def _split_remainder(
        self, value: Sum, divisor: int, *, floor: bool, nested: int
    ) -> Sum | None:
        split = value.single
        if split is None or not split.rounds(floor=floor) or divisor % split.scale:
            return _fresh(value, upper=divisor, floor=floor)
        if split.scale < 0:
            return self._negative_remainder(value, split, divisor, floor=floor)
        upper = split.lower * (divisor // split.scale)
        if split.upper is None:
            found = split._replace(upper=upper, floor=floor)
        elif upper % split.upper == 0:
            found = split
        elif split.upper % upper == 0:
            return self._inner_remainder(split, upper, nested)
        else:
            return _fresh(value, upper=divisor, floor=floor)
        return Sum(value.dtype, 0, (found,))

    def _negative_remainder(
        self, value: Sum, split: Split, divisor: int, *, floor: bool
    ) -> Sum | None:
        """`(-s * x) % (s * k) == x % -k * -s`, for a split that is plain."""
        if not split.is_plain:
            return _fresh(value, upper=divisor, floor=floor)
        remainder = smart.floormod if floor else smart.truncmod
        found = remainder(split.source, divisor // split.scale)
        return Sum(value.dtype, 0, (Split(found, scale=split.scale),))

    def _inner_remainder(self, split: Split, upper: int, nested: int) -> Sum | None:
        """A split with a smaller `upper`, its source taken modulo that first."""
        outer = split._replace(upper=upper)
        plain = Sum(split.source.dtype, 0, (outer,))
        if nested >= MAX_NESTED:
            return plain
        source = self._plain(split.source)
        assert isinstance(source, Sum)
        inner = self._remainder(source, upper, floor=split.floor, nested=nested + 1)
        if inner is None or not inner.fits:
            return plain
        found = self._quotient(inner, split.lower, floor=split.floor)
        return plain if found is None else found.scaled(split.scale)

    # ---- splits of sums ----

    def _expanded(self, value: Sum) -> Sum:
        """The sum with multiples of sums taken apart, which merging splits may make."""
        for _ in range(MAX_NESTED):
            if not any(
                split.is_plain and _is_linear(split.source) for split in value.splits
            ):
                break
            terms = [(Sum(value.dtype, value.base), 1)]
            for split in value.splits:
                form = self._plain(split.source) if split.is_plain else None
                if isinstance(form, Sum) and not _is_long(form):
                    terms.append((form, split.scale))
                else:
                    terms.append((Sum(value.dtype, 0, (split,)), 1))
            value = total(value.dtype, terms)
        return value

    def _resolved(self, value: Sum) -> Sum:
        """The sum with splits of sums reduced to splits of parts of them.

        This is left to the last, since splits of one source merge, those of parts of it
        do not.
        """
        for _ in range(MAX_NESTED):
            terms = [(Sum(value.dtype, value.base), 1)]
            changed = False
            for split in value.splits:
                found = None if split.is_plain else self._reduced_split(split)
                changed = changed or found is not None
                term = (Sum(value.dtype, 0, (split,)), 1)
                terms.append(term if found is None else (found, split.scale))
            result = self._expanded(total(value.dtype, terms)) if changed else value
            if not changed or not result.fits:
                break
            value = result
        return self._rejoined(value)

    def _rejoined(self, value: Sum) -> Sum:
        """The sum with quotients and remainders put together that have other dividends.

        `c*k*(x // c) + k*(y % c) == k*x` where `c` divides `x - y`: then `y % c` is
        `x % c`, which is what a remainder of `x` has become where parts of `x` are
        multiples of `c`. Rounding toward zero, both must not be negative, since a
        remainder has the sign of its dividend. No sum gets larger than its parts.
        """
        if len(value.splits) < 2 or all(s.upper is None for s in value.splits):
            return value
        quotients: dict[int, list[Split]] = {}
        for split in value.splits:
            if split.lower != 1:
                quotients.setdefault(split.lower, []).append(split)
        terms = [(Sum(value.dtype, value.base), 1)]
        changed = False
        for split in value.splits:
            for left in quotients.get(split.upper or 0, ()):
                if are_neighbours(left, split) and self._are_congruent(left, split):
                    split = split._replace(source=left.source)
                    changed = True
                    break
            terms.append((Sum(value.dtype, 0, (split,)), 1))
        if not changed:
            return value
        result = self._expanded(total(value.dtype, terms))
        return result if result.fits else value

    def _are_congruent(self, quotient: Split, remainder: Split) -> bool:
        """Whether the sources have one remainder, and are not the same anyway."""
        divisor = remainder.upper
        x, y = (self._plain(split.source) for split in (quotient, remainder))
        if divisor is None or not isinstance(x, Sum) or not isinstance(y, Sum):
            return False
        difference = _without_remainders(x.plus(y, -1), divisor)
        numbers = (difference.base, *(split.scale for split in difference.splits))
        if any(number % divisor for number in numbers):
            return False
        return remainder.floor or self._non_negative(x, y)

    def _reduced_split(self, split: Split) -> Sum | None:
        """The split without its scale, by fewer parts of its source.

        With `source == high + low`, `unit` dividing all of `high`, `lower` and `upper`,
        and `0 <= low < unit`, the low part is not seen by a quotient, and is left by a
        remainder as it is.
        """
        source = self._plain(split.source)
        if not isinstance(source, Sum):
            return None
        outer = split.lower if split.upper is None else split.upper
        places = self._places(source, outer, floor=split.floor)
        if places is None:
            return None
        high, low, unit = places
        high = high.divided(unit)
        if split.upper is None:
            return self._quotient(high, split.lower // unit, floor=split.floor)
        found = self._remainder(high, split.upper // unit, floor=split.floor)
        if found is None:
            return None
        return self._quotient(low.plus(found, unit), split.lower, floor=split.floor)

    def _places(
        self, value: Sum, divisor: int, *, floor: bool
    ) -> tuple[Sum, Sum, int] | None:
        """The sum as `high + low` with `unit` dividing `high` and `0 <= low < unit`.

        `unit > 1` is less than the divisor and divides it too; the constant of `high` is
        a multiple of the divisor. Rounding toward zero, `high` must not be negative. None
        where there is no such number.
        """
        units = {math.gcd(split.scale, divisor) for split in value.splits}
        for unit in sorted(units - {1, divisor}, reverse=True):
            high, low = value.based(0).parts(unit)
            low = low.based(value.base % divisor)
            high = high.based(value.base - low.base)
            bound = self._bound(low)
            if bound.min < 0 or bound.max >= unit or not high.splits:
                continue
            if floor or self._bound(high).min >= 0:
                return high, low, unit
        return None

    # ---- what is known of sums ----

    def _bound(self, value: Sum) -> Bound:
        if value.literal is not None:
            return Bound(value.base, value.base)
        if not value.fits:
            return EVERYTHING
        return self._analyzer.const_int_bound(value.expr)

    def _non_negative(self, *values: Sum) -> bool:
        return all(self._bound(value).min >= 0 for value in values)

    # ---- casts ----

    def _cast(self, dtype: Attribute, value: Sum, nested: int = 0) -> Sum | None:
        """The cast of a sum from one index type to another."""
        if not self._keeps(dtype, value):
            return None
        splits = ((self._cast_split(dtype, s, nested), s.scale) for s in value.splits)
        return total(dtype, ((Sum(dtype, value.base), 1), *splits))

    def _keeps(self, dtype: Attribute, value: Sum) -> bool:
        """Whether all that the sum is made of, in any order, fits the type."""
        low, high = integer_range(dtype)
        if high >= integer_range(value.dtype)[1]:
            return True
        least, most = min(value.base, 0), max(value.base, 0)
        for split in value.splits:
            term = Sum(value.dtype, 0, (split,))
            parts = [self._analyzer.const_int_bound(split.source), self._bound(term)]
            if any(part.min < low or part.max > high for part in parts):
                return False
            least += min(int(parts[1].min), 0)
            most += max(int(parts[1].max), 0)
        return low <= least and most <= high

    def _cast_split(self, dtype: Attribute, split: Split, nested: int) -> Sum:
        """The split, without its scale, of a source in another type."""
        source = self._cast_source(dtype, split.source, nested)
        return Sum(dtype, 0, (split._replace(source=source, scale=1),))

    def _cast_source(self, dtype: Attribute, source: Expr, nested: int) -> Expr:
        if isinstance(source, Cast) and self._is_undone(source, dtype):
            return source.value
        form = self._plain(source)
        if isinstance(form, Sum) and form != _sum_of(source) and nested < MAX_NESTED:
            found = self._cast(dtype, form, nested + 1)
            if found is not None and found.fits:
                return found.expr
        return smart.cast(dtype, source)

    def _is_undone(self, source: Cast, dtype: Attribute) -> bool:
        """Whether a cast to `dtype` gives what the cast `source` was made of."""
        if source.value.dtype != dtype:
            return False
        (low, high), wide = integer_range(source.dtype), integer_range(dtype)
        if low <= wide[0] and wide[1] <= high:
            return True
        bound = self._analyzer.const_int_bound(source.value)
        return low <= bound.min and bound.max <= high

    # ---- comparisons ----

    def _decided(self, node: Expr, operands: Sequence[Form]) -> Form | None:
        """A comparison, minimum or maximum whose outcome follows from the difference."""
        if not isinstance(node, Cmp | Min | Max):
            return None
        left, right = operands
        if not isinstance(left, Sum) or not isinstance(right, Sum):
            return None
        outcome = self._outcome(left, right)
        if isinstance(node, Cmp):
            truth = _truth(node.predicate, outcome)
            return None if truth is None else smart.const(int(truth), node.dtype)
        if outcome in Comparison.LE:
            return left if isinstance(node, Min) else right
        if outcome in Comparison.GE:
            return right if isinstance(node, Min) else left
        return None

    def _outcome(self, left: Sum, right: Sum) -> Comparison:
        difference = self._expanded(left.plus(right, -1))
        if not difference.fits:
            return Comparison.UNKNOWN
        lhs, rhs = self._emitted(left), self._emitted(right)
        return self._analyzer.compare(lhs, rhs, self._emitted(difference))

    def _comparison(self, node: Cmp) -> Expr:
        """A comparison on simplified operands, without common factors."""
        if not is_index_type(node.lhs.dtype):
            return node
        left, right = self._sum(node.lhs), self._sum(node.rhs)
        match node.predicate:
            case CmpPredicate.LT:
                return self._less(left, right) or node
            case CmpPredicate.GT:
                return self._less(right, left) or node
            case CmpPredicate.LE:
                found = self._less(right, left)
                return node if found is None else negated(found)
            case CmpPredicate.GE:
                found = self._less(left, right)
                return node if found is None else negated(found)
            case CmpPredicate.EQ | CmpPredicate.NE:
                return _equality(node, left.plus(right, -1)) or node

    def _less(self, left: Sum, right: Sum) -> Expr | None:
        """`left < right` with a common factor of the scales left out, if there is one."""
        difference = left.plus(right, -1)
        factor = math.gcd(*(s.scale for s in difference.splits if abs(s.scale) > 1))
        for unit in dict.fromkeys((factor, math.gcd(factor, difference.base))):
            found = self._divided(difference, unit) if unit > 1 else None
            if found is not None and found.fits and found.splits:
                return _below_zero(found)
        return None

    def _divided(self, difference: Sum, unit: int) -> Sum | None:
        """A sum that is negative where the difference is, `unit` times less than it."""
        high, low = difference.based(0).parts(unit)
        low = low.based(difference.base % unit)
        high = high.based(difference.base - low.base).divided(unit)
        bound = self._bound(low)
        if bound.min >= 0 and bound.max < unit:
            return high
        split = low.single
        if split is None or split.scale != 1 or not split.floor or split.upper is None:
            return None
        if split.upper % (unit * split.lower):
            return None
        # Bring `source // (unit*lower) % (upper/(unit*lower))` into the form of a split.
        part = self._quotient(low, unit, floor=True)
        return None if part is None else high.plus(part)


def _sum_of(node: Expr) -> Sum:
    """An index expression as a sum, without looking into it."""
    if isinstance(node, Const):
        return Sum(node.dtype, int(node.value))
    return Sum.of(node)


def _is_long(value: Sum) -> bool:
    return len(value.splits) > MAX_SHARED_TERMS


def _is_linear(node: Expr) -> bool:
    """Whether the node is a sum, a difference or a multiple of its operands."""
    kind = node.__class__
    if kind is Mul:
        lhs, rhs = node.operands
        if lhs.__class__ is not Const and rhs.__class__ is not Const:
            return False
    elif kind is not Add and kind is not Sub:
        return False
    return is_index_type(node.dtype)


def _terms(node: Expr) -> _Terms:
    """Operands and factors whose sum the node is; see `_is_linear`."""
    lhs, rhs = node.operands
    kind = node.__class__
    if kind is Add:
        return (lhs, 1), (rhs, 1)
    if kind is Sub:
        return (lhs, 1), (rhs, -1)
    if lhs.__class__ is Const:
        return ((rhs, int(lhs.payload)),)
    return ((lhs, int(rhs.payload)),)


# ---- products ----


def _product(lhs: Sum, rhs: Sum) -> Sum:
    """The product of two sums, which is expanded only if one is a number."""
    if rhs.literal is not None:
        return lhs.scaled(rhs.literal)
    if lhs.literal is not None:
        return rhs.scaled(lhs.literal)
    number, node = _factored(lhs)
    other, factor = _factored(rhs)
    # The left factor is a product already, and is not taken apart again.
    for part in _flattened(factor):
        node = Mul(node, part)
    return Sum(lhs.dtype, 0, (Split(node, scale=number * other),))


def _factored(value: Sum) -> tuple[int, Expr]:
    """A number and a tree whose product the sum is; it is no number."""
    single = value.single
    if single is not None:
        return single.scale, single.unscaled
    number = math.gcd(value.base, *(split.scale for split in value.splits))
    return number, value.divided(number).expr


def _factors(value: Sum) -> tuple[int, tuple[Expr, ...]]:
    """A number and trees whose product the sum is."""
    if value.literal is not None:
        return value.base, ()
    number, node = _factored(value)
    return number, tuple(_flattened(node))


def _flattened(root: Expr) -> list[Expr]:
    """The factors of a product; the tree alone where there are too many."""
    factors: list[Expr] = []
    stack = [root]
    while stack:
        node = stack.pop()
        if isinstance(node, Mul):
            stack += (node.rhs, node.lhs)
        else:
            factors.append(node)
        if len(factors) + len(stack) > MAX_FACTORS:
            return [root]
    return factors


def _multiplied(dtype: Attribute, number: int, factors: Sequence[Expr]) -> Sum:
    if not factors or number == 0:
        return Sum(dtype, number)
    product = factors[0]
    for factor in factors[1:]:
        product = Mul(product, factor)
    return Sum(dtype, 0, (Split(product, scale=number),))


def _common(left: Sequence[Expr], right: Sequence[Expr]) -> list[Expr]:
    """The factors that both have, as often as both have them."""
    counts = Counter(right)
    found: list[Expr] = []
    for factor in left:
        if counts[factor] > 0:
            counts[factor] -= 1
            found.append(factor)
    return found


def _without(factors: Sequence[Expr], removed: Sequence[Expr]) -> list[Expr]:
    counts = Counter(removed)
    kept: list[Expr] = []
    for factor in factors:
        if counts[factor] > 0:
            counts[factor] -= 1
        else:
            kept.append(factor)
    return kept


# ---- splits ----


def _fresh(
    value: Sum, *, lower: int = 1, upper: int | None = None, floor: bool
) -> Sum | None:
    """A split whose source is the whole sum; None if that cannot be written down."""
    if not value.fits:
        return None
    return Sum(value.dtype, 0, (Split(value.expr, lower, upper, 1, floor),))


def _split_quotient(value: Sum, divisor: int, *, floor: bool) -> Sum | None:
    """The quotient as a split of the sum, or of what the sum is a split of."""
    common = math.gcd(divisor, value.base, *(split.scale for split in value.splits))
    value, divisor = value.divided(common), divisor // common
    split = value.single
    if divisor == 1:
        return value
    if split is None or split.scale != 1 or not split.rounds(floor=floor):
        return _fresh(value, lower=divisor, floor=floor)
    lower = split.lower * divisor
    if split.upper is None or split.upper % lower == 0:
        return Sum(value.dtype, 0, (split._replace(lower=lower, floor=floor),))
    if split.upper <= lower:
        return Sum(value.dtype)
    source = split._replace(lower=1).unscaled
    return Sum(value.dtype, 0, (Split(source, lower, None, 1, floor),))


def _signed_remainder(value: int, divisor: int) -> int:
    return value - divisor * truncated_quotient(value, divisor)


def _without_remainders(value: Sum, divisor: int) -> Sum:
    """What is congruent, with `s * t` for `s * (t % u)` where `divisor` divides `s * u`.

    It holds for both kinds of remainders.
    """
    splits = tuple(
        Split(split.source, scale=split.scale)
        if split.lower == 1 and split.upper and split.scale * split.upper % divisor == 0
        else split
        for split in value.splits
    )
    return total(value.dtype, ((Sum(value.dtype, value.base, splits), 1),))


def _reduced_scales(value: Sum, divisor: int) -> Sum:
    """The sum with its scales reduced modulo the divisor, their signs kept."""
    if all(abs(split.scale) < divisor for split in value.splits):
        return value
    splits = tuple(
        split._replace(scale=_signed_remainder(split.scale, divisor))
        for split in value.splits
    )
    return total(value.dtype, ((Sum(value.dtype, value.base, splits), 1),))


# ---- comparisons ----

_OUTCOMES = {
    CmpPredicate.EQ: Comparison.EQ,
    CmpPredicate.NE: Comparison.NE,
    CmpPredicate.LT: Comparison.LT,
    CmpPredicate.LE: Comparison.LE,
    CmpPredicate.GT: Comparison.GT,
    CmpPredicate.GE: Comparison.GE,
}


def _truth(predicate: CmpPredicate, outcome: Comparison) -> bool | None:
    """Whether a comparison is true, where that follows from the possible outcomes."""
    if outcome in _OUTCOMES[predicate]:
        return True
    return None if outcome & _OUTCOMES[predicate] else False


def _below_zero(value: Sum) -> Expr:
    """`value < 0`, the constant on the side without terms."""
    terms = value.based(0)
    if any(split.scale > 0 for split in value.splits):
        return smart.lt(terms.expr, -value.base)
    return smart.lt(smart.const(value.base, value.dtype), terms.scaled(-1).expr)


def _equality(node: Cmp, difference: Sum) -> Expr | None:
    """An equality with the common factor of both sides left out, if there is one."""
    factor = math.gcd(difference.base, *(s.scale for s in difference.splits))
    if factor <= 1:
        return None
    reduced = difference.divided(factor)
    left = [s for s in reduced.splits if s.scale > 0]
    right = [s.scaled(-1) for s in reduced.splits if s.scale < 0]
    base = -reduced.base
    if not left:
        left, right, base = right, left, -base
    sides = Sum(node.lhs.dtype, 0, tuple(left)), Sum(node.lhs.dtype, base, tuple(right))
    if not all(side.fits for side in sides):
        return None
    return smart.compare(node.predicate, sides[0].expr, sides[1].expr)
