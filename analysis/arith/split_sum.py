"""Sums of split expressions, the normal form of index arithmetic.

A *split* is the part of an index between two places of a mixed-radix number:
`div(mod(source, upper), lower) * scale`. A *sum* is a constant and splits. All fused and
split loop indices have this form, and putting an index together from its parts is adding
splits: `(x / (c*s)) * s + (x mod (c*s)) / c == x / c`, for both kinds of division.

A sum stands for a mathematical integer, as does all arithmetic of 32- and 64-bit signed
integers here (docs/spec/tir-passes-b-arith-and-loops.md §1.1 and §1.7).
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple

from xdsl.ir import Attribute

from xdsl_tvm.analysis.arith import smart
from xdsl_tvm.analysis.arith.expr import Expr
from xdsl_tvm.dialects.dtypes import integer_range


class Split(NamedTuple):
    """`div(mod(source, upper), lower) * scale`.

    `lower >= 1`, and `upper` is a positive multiple of `lower`, or None where there is no
    `mod`. Both operations round down if `floor` is true, else toward zero. A split with
    neither is *plain*, and has `floor` true.
    """

    source: Expr
    lower: int = 1
    upper: int | None = None
    scale: int = 1
    floor: bool = True

    @property
    def is_plain(self) -> bool:
        """Whether the split is a multiple of its source."""
        return self.lower == 1 and self.upper is None

    def rounds(self, *, floor: bool) -> bool:
        """Whether the split can be read with this kind of division."""
        return self.is_plain or self.floor == floor

    def scaled(self, factor: int) -> Split:
        return self._replace(scale=self.scale * factor)

    @property
    def unscaled(self) -> Expr:
        """The tree without the scale."""
        node = self.source
        if self.upper is not None:
            remainder = smart.floormod if self.floor else smart.truncmod
            node = remainder(node, self.upper)
        if self.lower != 1:
            quotient = smart.floordiv if self.floor else smart.truncdiv
            node = quotient(node, self.lower)
        return node


def _order(split: Split) -> tuple[float, float, float, bool]:
    upper = math.inf if split.upper is None else split.upper
    return -split.scale, -split.lower, -upper, split.floor


class Sum:
    """An immutable sum of a constant and splits, merged and in order.

    Two equal sums may differ in the order of splits that none of scale, lower and upper
    tells apart: it is the order in which they were added.
    """

    __slots__ = ("_expr", "base", "dtype", "splits")

    def __init__(
        self, dtype: Attribute, base: int = 0, splits: tuple[Split, ...] = ()
    ) -> None:
        self.dtype = dtype
        self.base = base
        self.splits = splits
        self._expr: Expr | None = None

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Sum)
            and self.base == other.base
            and self.splits == other.splits
            and self.dtype == other.dtype
        )

    def __hash__(self) -> int:
        return hash((self.base, self.splits))

    @staticmethod
    def of(node: Expr) -> Sum:
        """The tree itself, as a sum that does not look into it."""
        return Sum(node.dtype, 0, (Split(node),))

    @property
    def literal(self) -> int | None:
        """The number, if there is no split."""
        return None if self.splits else self.base

    @property
    def single(self) -> Split | None:
        """The split, if there is nothing else."""
        return self.splits[0] if len(self.splits) == 1 and self.base == 0 else None

    @property
    def fits(self) -> bool:
        """Whether all numbers in the sum are literals of its type."""
        low, high = integer_range(self.dtype)
        return low <= self.base <= high and all(
            low <= split.scale <= high
            and split.lower <= high
            and (split.upper is None or split.upper <= high)
            for split in self.splits
        )

    def scaled(self, factor: int) -> Sum:
        """The sum times a number."""
        if factor == 1:
            return self
        return total(self.dtype, ((self, factor),))

    def plus(self, other: Sum, factor: int = 1) -> Sum:
        """The sum plus `factor` times another."""
        return total(self.dtype, ((self, 1), (other, factor)))

    def based(self, base: int) -> Sum:
        """The sum with another constant."""
        return self if base == self.base else Sum(self.dtype, base, self.splits)

    def divided(self, divisor: int) -> Sum:
        """The sum over a number that divides all of it."""
        splits = tuple(s._replace(scale=s.scale // divisor) for s in self.splits)
        return Sum(self.dtype, self.base // divisor, splits)

    def parts(self, divisor: int) -> tuple[Sum, Sum]:
        """What is divisible, constants and scales; and the rest."""
        inside = tuple(s for s in self.splits if s.scale % divisor == 0)
        outside = tuple(s for s in self.splits if s.scale % divisor)
        whole = self.base % divisor == 0
        return (
            Sum(self.dtype, self.base if whole else 0, inside),
            Sum(self.dtype, 0 if whole else self.base, outside),
        )

    @property
    def expr(self) -> Expr:
        """The sum as a tree: what is added in order of scales, then what is subtracted.

        The numbers must fit.
        """
        if self._expr is None:
            self._expr = self._emitted()
        return self._expr

    def _emitted(self) -> Expr:
        single = self.single
        if single is not None:
            return smart.mul(single.unscaled, single.scale)
        result: Expr | None = None
        for split in self.splits:
            if split.scale > 0:
                term = smart.mul(split.unscaled, split.scale)
                result = term if result is None else smart.add(result, term)
        if result is None:
            result = smart.const(max(self.base, 0), self.dtype)
        elif self.base > 0:
            result = smart.add(result, self.base)
        for split in self.splits:
            if split.scale < 0:
                result = self._minus(result, split.unscaled, -split.scale)
        if self.base < 0:
            one = smart.const(1, self.dtype)
            result = self._minus(result, one, -self.base)
        return result

    def _minus(self, value: Expr, term: Expr, factor: int) -> Expr:
        if smart.fits(factor, self.dtype):
            return smart.sub(value, smart.mul(term, factor))
        return smart.add(value, smart.mul(term, -factor))

    def __repr__(self) -> str:
        return f"Sum({self.expr})"


class _TermGroup:
    """The splits of one source."""

    __slots__ = ("scales",)

    def __init__(self) -> None:
        self.scales: dict[tuple[int, int | None, bool], int] = {}

    def add(self, split: Split, factor: int) -> None:
        key = split.lower, split.upper, split.floor
        self.scales[key] = self.scales.get(key, 0) + split.scale * factor

    def merged(self, source: Expr) -> list[Split]:
        found = [
            Split(source, lower, upper, scale, floor)
            for (lower, upper, floor), scale in self.scales.items()
            if scale
        ]
        return _joined(found) if len(found) > 1 else found


def _joined(splits: list[Split]) -> list[Split]:
    """The splits of one source, neighbours that make up one split put together."""
    splits.sort(key=lambda split: -split.lower)
    by_upper: dict[int, list[int]] = {}
    for position, split in enumerate(splits):
        if split.upper is not None:
            by_upper.setdefault(split.upper, []).append(position)
    kept: dict[int, Split] = dict(enumerate(splits))
    for position in range(len(splits)):
        left = kept[position]
        for other in by_upper.get(left.lower, ()):
            right = kept.get(other)
            if right is not None and are_neighbours(left, right):
                kept[other] = _plain_floor(right._replace(upper=left.upper))
                del kept[position]
                break
    return _combined(kept.values())


def _plain_floor(split: Split) -> Split:
    return split._replace(floor=True) if split.is_plain else split


def are_neighbours(left: Split, right: Split) -> bool:
    """Whether `left` is what is above `right`, with the scale that belongs there.

    That their sources are the same, or as good, is not asked.
    """
    return (
        left.lower == right.upper
        and left.floor == right.floor
        and left.scale % right.scale == 0
        and left.lower == left.scale // right.scale * right.lower
    )


def _combined(splits: Iterable[Split]) -> list[Split]:
    """Splits of one source with equal ones added up, which joining may have made."""
    scales: dict[Split, int] = {}
    for split in splits:
        key = split._replace(scale=0)
        scales[key] = scales.get(key, 0) + split.scale
    return [key._replace(scale=scale) for key, scale in scales.items() if scale]


def total(dtype: Attribute, terms: Iterable[tuple[Sum, int]]) -> Sum:
    """The sum of sums, each times a number."""
    base = 0
    groups: dict[Expr, _TermGroup] = {}
    for term, factor in terms:
        base += term.base * factor
        for split in term.splits:
            groups.setdefault(split.source, _TermGroup()).add(split, factor)
    splits = [s for source, group in groups.items() for s in group.merged(source)]
    splits.sort(key=_order)
    return Sum(dtype, base, tuple(splits))
