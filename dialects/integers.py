"""Division of integers as C has it, and the arithmetic of intervals of integers.

Results of interval arithmetic contain all results of the operation on members. Ends that
64 bits do not hold are infinite.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import product
from typing import TypeVar

_Factor = TypeVar("_Factor")

INF = math.inf
Limit = int | float
"""An integer, or plus or minus `math.inf`."""

LARGEST_END = (1 << 63) - 1
"""The largest finite end of an interval, and with a minus the smallest one."""


def truncated_quotient(lhs: int, rhs: int) -> int:
    """The quotient rounded toward zero, as C has it. Raises ZeroDivisionError."""
    quotient = abs(lhs) // abs(rhs)
    return quotient if (lhs < 0) == (rhs < 0) else -quotient


def truncated_remainder(lhs: int, rhs: int) -> int:
    """The remainder of `truncated_quotient`: it has the sign of `lhs`."""
    return lhs - truncated_quotient(lhs, rhs) * rhs


def without_factors(
    product: Sequence[_Factor], factors: Sequence[_Factor]
) -> tuple[_Factor, ...] | None:
    """The factors of a product divided by some; None where it is not a multiple."""
    rest = list(product)
    for factor in factors:
        if factor not in rest:
            return None
        rest.remove(factor)
    return tuple(rest)


# ---- intervals ----


@dataclass(frozen=True, slots=True)
class Bound:
    """All integers from `min` to `max`, both included: Python integers or `±math.inf`."""

    min: Limit
    max: Limit

    @property
    def is_everything(self) -> bool:
        return self.min == -INF and self.max == INF

    @property
    def is_finite(self) -> bool:
        return self.min != -INF and self.max != INF

    @property
    def is_empty(self) -> bool:
        """Whether no number is within, as it may be in code that is never reached."""
        return self.min > self.max

    @property
    def value(self) -> int | None:
        """The number, if there is just one."""
        return int(self.min) if self.min == self.max and self.is_finite else None

    def contains(self, other: Bound) -> bool:
        """Whether all numbers of `other` are within."""
        return self.min <= other.min and other.max <= self.max

    def union(self, other: Bound) -> Bound:
        """The narrowest bound that contains both."""
        return Bound(min(self.min, other.min), max(self.max, other.max))

    def intersection(self, other: Bound) -> Bound:
        """What is within both; `other` alone where the two contradict each other.

        A contradiction means that the code is not reached, and no conclusion there is
        wrong; it must not be an empty bound, which arithmetic cannot deal with.
        """
        found = Bound(max(self.min, other.min), min(self.max, other.max))
        return other if found.is_empty else found

    def __str__(self) -> str:
        return f"[{_text(self.min)}, {_text(self.max)}]"


EVERYTHING = Bound(-INF, INF)
ZERO = Bound(0, 0)


def _text(limit: Limit) -> str:
    if limit == INF:
        return "+inf"
    return "-inf" if limit == -INF else str(limit)


def saturated(low: Limit, high: Limit) -> Bound:
    """The bound, with ends that 64 bits do not hold made infinite."""
    if low < -LARGEST_END:
        low = -INF
    elif low > LARGEST_END:
        low = LARGEST_END
    if high > LARGEST_END:
        high = INF
    elif high < -LARGEST_END:
        high = -LARGEST_END
    return Bound(low, high)


# ---- arithmetic of intervals ----


def _times(a: Limit, b: Limit) -> Limit:
    return 0 if a == 0 or b == 0 else a * b


def _hull(ends: Iterable[Limit]) -> Bound:
    found = list(ends)
    return saturated(min(found), max(found))


def add(a: Bound, b: Bound) -> Bound:
    """Bounds of sums."""
    return saturated(a.min + b.min, a.max + b.max)


def sub(a: Bound, b: Bound) -> Bound:
    """Bounds of differences."""
    return saturated(a.min - b.max, a.max - b.min)


def mul(a: Bound, b: Bound) -> Bound:
    """Bounds of products."""
    return _hull(_times(x, y) for x, y in product((a.min, a.max), (b.min, b.max)))


def _quotient(a: Limit, b: Limit, *, floor: bool) -> Limit:
    """`a / b`, in the limit where one is infinite."""
    if isinstance(b, float):
        if isinstance(a, float):
            return INF if (a > 0) == (b > 0) else -INF
        return -1 if floor and a != 0 and (a < 0) != (b < 0) else 0
    if isinstance(a, float):
        return a if b > 0 else -a
    return a // b if floor else truncated_quotient(a, b)


def _without_zero(divisor: Bound) -> list[Bound]:
    """The negative and the positive part of a divisor."""
    parts = (
        Bound(divisor.min, min(divisor.max, -1)),
        Bound(max(divisor.min, 1), divisor.max),
    )
    return [part for part in parts if not part.is_empty]


def quotient(a: Bound, b: Bound, *, floor: bool) -> Bound:
    """Bounds of quotients by anything but zero."""
    ends: list[Limit] = []
    for part in _without_zero(b):
        corners = product((a.min, a.max), (part.min, part.max))
        ends += [_quotient(x, y, floor=floor) for x, y in corners]
    return _hull(ends) if ends else EVERYTHING


def remainder_toward_zero(a: Bound, b: Bound) -> Bound:
    """Bounds of remainders with the sign of the dividend, by anything but zero."""
    parts = _without_zero(b)
    if not parts:
        return EVERYTHING
    largest = max(max(abs(part.min), abs(part.max)) for part in parts)
    least = min(min(abs(part.min), abs(part.max)) for part in parts)
    if max(abs(a.min), abs(a.max)) < least:
        return a
    low = max(a.min, -(largest - 1)) if a.min < 0 else 0
    high = min(a.max, largest - 1) if a.max > 0 else 0
    return Bound(low, high)


def floor_remainder(a: Bound, b: Bound) -> Bound:
    """Bounds of remainders with the sign of the divisor, by anything but zero."""
    ends: list[Bound] = []
    for part in _without_zero(b):
        if part.min > 0:
            ends.append(_positive_remainder(a, part))
        else:
            negated = _positive_remainder(_negated(a), _negated(part))
            ends.append(_negated(negated))
    if not ends:
        return EVERYTHING
    return ends[0] if len(ends) == 1 else ends[0].union(ends[1])


def _positive_remainder(a: Bound, b: Bound) -> Bound:
    if a.min >= 0:
        return a if a.max < b.min else Bound(0, min(a.max, b.max - 1))
    return Bound(0, b.max - 1)


def _negated(a: Bound) -> Bound:
    return Bound(-a.max, -a.min)


def _bits(a: Bound) -> int | None:
    """The least `k` with all numbers in `[-2^k, 2^k)`; None where there is none."""
    if not a.is_finite:
        return None
    low, high = int(a.min), int(a.max)
    return max((low if low >= 0 else ~low).bit_length(), max(high, 0).bit_length())


def _signed_bits(a: Bound, b: Bound) -> Bound:
    """Where any bitwise operation of the two ends up."""
    left, right = _bits(a), _bits(b)
    if left is None or right is None:
        return EVERYTHING
    power = 1 << max(left, right)
    return saturated(-power, power - 1)


def bitwise_and(a: Bound, b: Bound) -> Bound:
    """Bounds of `a & b`: a non-negative operand bounds it from both sides."""
    if a.min >= 0 and b.min >= 0:
        return Bound(0, min(a.max, b.max))
    if a.min >= 0 or b.min >= 0:
        return Bound(0, a.max if a.min >= 0 else b.max)
    return _signed_bits(a, b)


def bitwise_or(a: Bound, b: Bound) -> Bound:
    """Bounds of `a | b`: at least the greater one if both are non-negative."""
    bits = _signed_bits(a, b)
    if a.min >= 0 and b.min >= 0:
        return Bound(max(a.min, b.min), bits.max)
    if a.max < 0 or b.max < 0:
        low = max(x.min for x in (a, b) if x.max < 0)
        return Bound(max(low, bits.min), -1)
    return bits


def bitwise_xor(a: Bound, b: Bound) -> Bound:
    """Bounds of `a ^ b`."""
    bits = _signed_bits(a, b)
    if a.min >= 0 and b.min >= 0:
        return Bound(0, bits.max)
    if (a.max < 0 and b.min >= 0) or (a.min >= 0 and b.max < 0):
        return Bound(bits.min, -1)
    return bits


def bitwise_not(a: Bound) -> Bound:
    """Bounds of `~a`, that is, of `-a - 1`."""
    return Bound(-a.max - 1, -a.min - 1)


def shift_right(a: Bound, b: Bound) -> Bound:
    """Bounds of `a >> b`, for amounts that are not negative."""
    amounts = b.intersection(Bound(0, 64))
    least, most = int(max(amounts.min, 0)), int(min(amounts.max, 64))
    return _hull(
        end if isinstance(end, float) else end >> amount
        for end, amount in product((a.min, a.max), (least, most))
    )


def shift_left(a: Bound, b: Bound) -> Bound:
    """Bounds of `a * 2^b`, for amounts that are not negative."""
    amounts = b.intersection(Bound(0, 64))
    least, most = int(max(amounts.min, 0)), int(min(amounts.max, 64))
    return mul(a, Bound(1 << least, 1 << most))


def minimum(a: Bound, b: Bound) -> Bound:
    """Bounds of `min(a, b)`."""
    return Bound(min(a.min, b.min), min(a.max, b.max))


def maximum(a: Bound, b: Bound) -> Bound:
    """Bounds of `max(a, b)`."""
    return Bound(max(a.min, b.min), max(a.max, b.max))
