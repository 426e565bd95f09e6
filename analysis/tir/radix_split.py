"""Indices that are flat, as the numbers that they were made of.

Where `0 <= b < n`, and `n` is one number for all threads, `a * n + b` names the same
element in two threads only where `a` and `b` are equal in both. Factors in an index are
what such an `n` may be; that `b` is less, its values say, conditions of an access, as in
`b < n`, or remainders `x % n`. No extent needs to be known.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import gcd

from xdsl.ir import Block, SSAValue

from xdsl_tvm.analysis.arith.expr import (
    Const,
    Expr,
    FloorDiv,
    FloorMod,
    Value,
    fold,
    leaf_values,
)
from xdsl_tvm.analysis.arith.facts import conjuncts
from xdsl_tvm.analysis.arith.polynomial import (
    Monomial,
    Polynomial,
    compared_with_zero,
    polynomial,
)
from xdsl_tvm.dialects import tir
from xdsl_tvm.dialects.integers import Bound
from xdsl_tvm.dialects.tir import CmpPredicate

_MOST_DIMENSIONS = 16
"""So many parts are not split further."""

IsUniform = Callable[[SSAValue], bool]
"""Whether a value is the same in all threads."""


@dataclass(frozen=True)
class Limit:
    """A part of an index that is less than an end."""

    part: Polynomial
    end: Polynomial


def limits_of(
    conditions: Iterable[Expr], index: Polynomial, is_uniform: IsUniform
) -> Iterator[Limit]:
    """Parts of an index that conditions or remainders keep below what is uniform.

    A remainder is less than its divisor where that is positive, and a quotient less than
    `m` where its dividend is less than `m` times that.
    """
    for condition in conditions:
        for part in conjuncts(condition):
            below = _below_zero(part)
            if below is not None:
                rest, same = _by_uniformity(below, is_uniform)
                limit = Limit(rest, _ZERO - same)
                yield limit
                yield from _quotients(limit, index)
    for monomial in index.terms:
        if len(monomial) == 1 and isinstance(monomial[0], FloorMod):
            yield Limit(Polynomial({monomial: 1}), polynomial(monomial[0].rhs))


def _quotients(limit: Limit, index: Polynomial) -> Iterator[Limit]:
    """Quotients in an index of what is limited to a multiple of their divisor."""
    for monomial in index.terms:
        match monomial:
            case (FloorDiv(lhs, rhs),) if polynomial(lhs) == limit.part:
                end = limit.end.exact_quotient(polynomial(rhs))
                if end is not None:
                    yield Limit(Polynomial({monomial: 1}), end)
            case _:
                pass


def _by_uniformity(
    index: Polynomial, is_uniform: IsUniform
) -> tuple[Polynomial, Polynomial]:
    """What differs between threads of an index, and what does not."""
    same = {m: f for m, f in index.terms.items() if _is_uniform(m, is_uniform)}
    return index - Polynomial(same), Polynomial(same)


def _factors(index: Polynomial, is_uniform: IsUniform) -> dict[Monomial, Polynomial]:
    """What is uniform in each product of what is not."""
    found: dict[Monomial, dict[Monomial, int]] = {}
    for monomial, factor in index.terms.items():
        same = tuple(atom for atom in monomial if _is_uniform((atom,), is_uniform))
        rest = tuple(atom for atom in monomial if atom not in same)
        terms = found.setdefault(rest, {})
        terms[same] = terms.get(same, 0) + factor
    return {rest: Polynomial(terms) for rest, terms in found.items()}


def _below_zero(condition: Expr) -> Polynomial | None:
    """What is less than 0 where a comparison holds; None if that says no such thing."""
    compared = compared_with_zero(condition)
    if compared is None:
        return None
    difference, predicate = compared
    one = Polynomial.constant(1)
    match predicate:
        case CmpPredicate.LT:
            return difference
        case CmpPredicate.LE:
            return difference - one
        case CmpPredicate.GT:
            return _ZERO - difference
        case CmpPredicate.GE:
            return _ZERO - difference - one
        case _:
            return None


def _is_uniform(monomial: Monomial, is_uniform: IsUniform) -> bool:
    return all(is_uniform(value) for value in leaf_values(*monomial))


Dimension = tuple[Polynomial, Polynomial]
"""Indices of two accesses that name one element only where they are equal."""


@dataclass(frozen=True)
class Place:
    """What is known where an access is reached."""

    conditions: Sequence[Expr]
    is_uniform: IsUniform
    bound: Callable[[Polynomial], Bound]
    """The values of an index."""


def split_dimensions(
    dimensions: Iterable[Dimension], first: Place, second: Place
) -> list[Dimension]:
    """Dimensions whose indices are split where both are so by the same radix."""
    done: list[Dimension] = []
    pending = list(dimensions)
    while pending and len(done) + len(pending) < _MOST_DIMENSIONS:
        found = _split(pending.pop(), first, second)
        if len(found) == 1:
            done += found
        else:
            pending += found
    return done + pending


def _split(dimension: Dimension, first: Place, second: Place) -> list[Dimension]:
    """Quotients and remainders by some radix, or else the dimension."""
    places = first, second
    rests = [
        _by_uniformity(i, p.is_uniform) for i, p in zip(dimension, places, strict=True)
    ]
    if rests[0][1] == rests[1][1]:
        dimension = rests[0][0], rests[1][0]
    factors = [_factors(i, p.is_uniform) for i, p in zip(dimension, places, strict=True)]
    limits = [
        list(limits_of(p.conditions, i, p.is_uniform))
        for i, p in zip(dimension, places, strict=True)
    ]
    radices = dict.fromkeys(f for rest, f in factors[0].items() if rest)
    for radix in sorted(radices, key=_size, reverse=True):
        if radix.as_constant in (1, -1):
            continue
        parts = [_remainder(each, radix) for each in factors]
        if all(
            _is_digit(part, radix, known, place)
            for part, known, place in zip(parts, limits, places, strict=True)
        ):
            uppers = [
                (index - part).exact_quotient(radix)
                for index, part in zip(dimension, parts, strict=True)
            ]
            if uppers[0] is not None and uppers[1] is not None and uppers[0].terms:
                return [(uppers[0], uppers[1]), (parts[0], parts[1])]
    return [dimension]


def _size(radix: Polynomial) -> tuple[int, int, int]:
    largest = max(len(monomial) for monomial in radix.terms)
    return largest, len(radix.terms), abs(radix.as_constant or 0)


def _remainder(factors: Mapping[Monomial, Polynomial], radix: Polynomial) -> Polynomial:
    """The terms that are no multiples of a radix."""
    rest, constant = _ZERO, radix.as_constant
    for monomial, factor in factors.items():
        if factor.exact_quotient(radix) is None:
            kept = factor
            if constant is not None:
                kept = Polynomial({m: f % constant for m, f in factor.terms.items()})
            rest += kept * Polynomial({monomial: 1})
    return rest


def _is_digit(
    part: Polynomial, radix: Polynomial, limits: Iterable[Limit], place: Place
) -> bool:
    """Whether a part of an index is not negative, and less than a radix."""
    if place.bound(part).min < 0:
        return False
    if place.bound(radix - part).min > 0:
        return True
    # The part is `s * limit.part + more`, which is at most `s * (limit.end - 1) + more`.
    return any(
        place.bound(radix - _constant(s) * (limit.end - _constant(1)) - more).min > 0
        for limit in _widened(map(_reduced, limits))
        for s in _scales(part, limit.part)
        for more in (part - _constant(s) * limit.part,)
    )


def _scales(part: Polynomial, limit: Polynomial) -> Iterable[int]:
    """How often a limit is in a part, as their terms say."""
    terms = part.terms
    ratios = (terms[m] // f for m, f in limit.terms.items() if f and m in terms)
    return dict.fromkeys(ratio for ratio in ratios if ratio > 0)


def _reduced(limit: Limit) -> Limit:
    """The limit without a common factor of the part, as `4 * i < 10` is `i < 3`."""
    factor, end = gcd(*limit.part.terms.values()), limit.end.as_constant
    if factor <= 1 or end is None:
        return limit
    part = limit.part.exact_quotient(_constant(factor))
    return limit if part is None else Limit(part, _constant(-(-end // factor)))


def _widened(limits: Iterable[Limit]) -> Iterator[Limit]:
    """The limits, and those of dividends: `a + x // 8 < b` is `8 * a + x < 8 * b`."""
    for limit in limits:
        yield limit
        for monomial, factor in limit.part.terms.items():
            match monomial:
                case (FloorDiv(lhs, Const(value=int(divisor))),) if (
                    divisor > 0,
                    factor,
                ) == (True, 1):
                    scale = _constant(divisor)
                    rest = limit.part - Polynomial({monomial: 1})
                    yield Limit(scale * rest + polynomial(lhs), scale * limit.end)
                case _:
                    pass


def _constant(value: int) -> Polynomial:
    return Polynomial.constant(value)


_ZERO = Polynomial({})


class Divisions:
    """Quotients and remainders of indices, each as a variable of its own.

    Two threads that have equal quotients and remainders have equal dividends.
    """

    def __init__(self, is_uniform: IsUniform) -> None:
        self._is_uniform = is_uniform
        self.variables: dict[Expr, SSAValue] = {}
        """The variable for each quotient and remainder."""

    def replaced(self, dimension: Dimension) -> Dimension:
        """A dimension with variables for what is in both of its indices."""
        first, second = dimension
        shared = {m for m in first.terms if m in second.terms}
        atoms = [m[0] for m in shared if len(m) == 1 and self._is_division(m[0])]
        if not atoms:
            return dimension
        for atom in sorted(atoms, key=lambda each: each.serial):
            if atom not in self.variables:
                self.variables[atom] = Block(arg_types=[atom.dtype]).args[0]
        names = {atom: Value(self.variables[atom]) for atom in atoms}
        return _renamed(first, names), _renamed(second, names)

    def _is_division(self, atom: Expr) -> bool:
        return isinstance(atom, FloorDiv | FloorMod) and all(
            self._is_uniform(value) for value in leaf_values(atom.rhs)
        )

    def joins(self) -> Iterator[tuple[frozenset[SSAValue], Dimension]]:
        """Dividends, each with the variables of its quotient and its remainder.

        Quotients and remainders in dividends get variables as well. The dividend of a
        quotient by a constant and that of a remainder need to be equal modulo it only.
        """
        quotients: list[_Division] = []
        remainders: list[_Division] = []
        seen: set[Expr] = set()
        while len(seen) < len(self.variables):
            for atom, variable in list(self.variables.items()):
                if atom in seen:
                    continue
                seen.add(atom)
                assert isinstance(atom, FloorDiv | FloorMod)
                kind, others = quotients, remainders
                if isinstance(atom, FloorMod):
                    kind, others = remainders, quotients
                for found in _divisions(atom, variable):
                    kind.append(found)
                    for other in others:
                        pair = (found, other) if kind is quotients else (other, found)
                        dividend = _common_dividend(*pair)
                        if dividend is not None:
                            both = frozenset((variable, other.variable))
                            yield both, self.replaced((dividend, dividend))


@dataclass(frozen=True)
class _Division:
    """What a quotient or a remainder is of."""

    dividend: Polynomial
    divisor: Polynomial
    variable: SSAValue

    @cached_property
    def residue(self) -> tuple[Polynomial, Polynomial]:
        """The divisor, and what is equal to the dividend modulo it, if it is a constant.

        That has small coefficients, and no remainders by what makes no difference.
        """
        divisor = self.divisor.as_constant
        if divisor is None or divisor < 1:
            return self.divisor, self.dividend
        terms: dict[Monomial, int] = {}
        pending = list(self.dividend.terms.items())
        while pending:
            monomial, factor = pending.pop()
            match monomial:
                case (FloorMod(lhs, Const(value=int(period))),) if (
                    period > 0 and factor * period % divisor == 0
                ):
                    inner = polynomial(lhs).terms.items()
                    pending += [(m, factor * f) for m, f in inner]
                case _:
                    terms[monomial] = (terms.get(monomial, 0) + factor) % divisor
        return self.divisor, Polynomial(terms)


def _common_dividend(quotient: _Division, remainder: _Division) -> Polynomial | None:
    """What a quotient and a remainder determine; None if they are of two values.

    `x // (n * m)` is a quotient of `x // n` as well.
    """
    if quotient.residue == remainder.residue:
        return quotient.dividend
    match list(remainder.dividend.terms.items()):
        case [((FloorDiv(lhs, rhs),), 1)] if (
            polynomial(lhs) == quotient.dividend
            and polynomial(rhs) * remainder.divisor == quotient.divisor
            and isinstance(rhs, Const)
            and rhs.value > 0
        ):
            return remainder.dividend
        case _:
            return None


def with_outer_remainders(index: Expr, known: dict[Expr, Expr]) -> Expr:
    """The tree with `x % (n * m) // n` as `x // n % m`, for constants `n` above 0.

    `known` holds the results of all parts.
    """
    return fold(index, _with_outer_remainder, known)


def _with_outer_remainder(node: Expr, operands: list[Expr]) -> Expr:
    if tir.lanes_of(node.dtype) != 1:
        return node
    match node.rebuilt(tuple(operands)):
        case FloorDiv(FloorMod(value, divisor), Const(value=int(inner))) as found if (
            inner > 0 and not isinstance(divisor, Const)
        ):
            rest = polynomial(divisor).exact_quotient(_constant(inner))
            if rest is None or not rest.fits(divisor.dtype):
                return found
            quotient = FloorDiv(value, found.operands[1])
            return FloorMod(quotient, rest.to_expr(divisor.dtype))
        case FloorMod(value, divisor) if not isinstance(divisor, Const):
            # Equal divisors are to be one tree.
            normal = polynomial(divisor)
            if normal.fits(divisor.dtype):
                return FloorMod(value, normal.to_expr(divisor.dtype))
            return FloorMod(value, divisor)
        case found:
            return found


def _divisions(atom: FloorDiv | FloorMod, variable: SSAValue) -> Iterator[_Division]:
    """What an atom is of: `(a + x // 4) // 9` is `(4 * a + x) // 36`, too."""
    dividend, divisor = polynomial(atom.lhs), polynomial(atom.rhs)
    yield _Division(dividend, divisor, variable)
    number = divisor.as_constant
    while isinstance(atom, FloorDiv) and number is not None and number > 0:
        for monomial, factor in dividend.terms.items():
            match monomial:
                case (FloorDiv(lhs, Const(value=int(inner))),) if (
                    inner > 0 and factor == 1
                ):
                    rest = dividend - Polynomial({monomial: 1})
                    dividend = _constant(inner) * rest + polynomial(lhs)
                    number *= inner
                    yield _Division(dividend, _constant(number), variable)
                    break
                case _:
                    pass
        else:
            return


def _renamed(index: Polynomial, names: Mapping[Expr, Expr]) -> Polynomial:
    terms: dict[Monomial, int] = {}
    for monomial, factor in index.terms.items():
        if len(monomial) == 1 and monomial[0] in names:
            monomial = (names[monomial[0]],)
        terms[monomial] = factor
    return Polynomial(terms)
