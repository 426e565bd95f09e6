"""Symbolic dimensions: integer expressions over the named symbols of a function.

A `Dim` is always in normal form, a sum of products of atoms with integer coefficients,
where an atom is a symbol or one of floordiv, floormod, min and max of two dimensions. So
`n * 2 + 1` and `1 + n + n` are the same object as far as `==` and `hash` go, and equality
of types that hold dimensions is equality up to this normal form. Symbols stand for
extents and are never negative (docs/spec/relax-ir.md §1.4, §10.3).

The text is that of the normal form: `n`, `64`, `m * n + n * 2 - 1`,
`(n + 3) floordiv 4`, `min(n, 128)`.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from math import lcm, prod
from types import MappingProxyType
from typing import (
    Literal,
    Protocol,
    TypeAlias,
    TypeGuard,
    TypeVar,
    cast,
    runtime_checkable,
)

from xdsl.utils.exceptions import VerifyException

from xdsl_tvm.dialects import integers
from xdsl_tvm.dialects.integers import EVERYTHING, INF, Bound, saturated, without_factors

_T = TypeVar("_T")
Operator: TypeAlias = Literal["floordiv", "floormod", "min", "max"]
RESERVED = frozenset(("floordiv", "floormod", "min", "max"))
"""Words that cannot name a symbol."""


@dataclass(frozen=True)
class Symbol:
    """A named extent, at least 0."""

    name: str

    @cached_property
    def key(self) -> str:
        """What atoms are sorted by."""
        return self.name

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class Apply:
    """floordiv, floormod, min or max of two dimensions that no rule could remove."""

    operator: Operator
    lhs: Dim
    rhs: Dim

    @cached_property
    def key(self) -> str:
        """What atoms are sorted by: after all symbols."""
        return f"~{self}"

    def __str__(self) -> str:
        if self.operator in ("min", "max"):
            return f"{self.operator}({self.lhs}, {self.rhs})"
        return f"{_factor(self.lhs, True)} {self.operator} {_factor(self.rhs, False)}"


Atom: TypeAlias = Symbol | Apply
Monomial: TypeAlias = tuple[Atom, ...]
"""A product, its factors sorted, a power written as repeated factors."""


@runtime_checkable
class Dimension(Protocol):
    """What stands for a dimension, such as a variable `T.int64()`."""

    def relax_dim(self) -> Dim:
        """The dimension. Raises TypeError for what is none."""
        ...


DimLike: TypeAlias = "Dim | int | str | Dimension"
"""A dimension, a constant, the name of a symbol, or what stands for one."""


def are_dims(values: Sequence[object]) -> TypeGuard[list[DimLike]]:
    """Whether all are dimensions, or stand for such."""
    return all(isinstance(value, Dim | int | str | Dimension) for value in values)


def _monomial_key(monomial: Monomial) -> tuple[int, tuple[str, ...]]:
    """Higher degrees first, then alphabetically."""
    return -len(monomial), tuple(atom.key for atom in monomial)


_MAX_TERMS = 1 << 14


@lru_cache(maxsize=4096, typed=True)
def _constant(value: int) -> Dim:
    """A constant, made once: most extents of a program are."""
    return Dim({(): value})


class Dim:
    """An integer expression in normal form. Immutable, hashable, cheap to compare."""

    __slots__ = ("_hash", "terms")

    terms: tuple[tuple[Monomial, int], ...]
    """Products and their non-zero coefficients, in printing order."""

    def __init__(self, coefficients: Mapping[Monomial, int]) -> None:
        self.terms = tuple(
            (monomial, coefficients[monomial])
            for monomial in sorted(coefficients, key=_monomial_key)
            if coefficients[monomial]
        )
        self._hash = hash(self.terms)

    @staticmethod
    def constant(value: int) -> Dim:
        """The dimension that is always `value`."""
        return _constant(value)

    @staticmethod
    def symbol(name: str) -> Dim:
        """The dimension called `name`; raises ValueError for a reserved word."""
        if name in RESERVED or not name.isidentifier():
            raise ValueError(f"'{name}' cannot name a symbolic dimension")
        return Dim({(Symbol(name),): 1})

    @staticmethod
    def of(value: DimLike) -> Dim:
        """`value` as a dimension.

        Raises ValueError for a reserved word and for what is no integer.
        """
        if isinstance(value, Dim):
            return value
        if isinstance(value, str):
            return Dim.symbol(value)
        try:
            # Whatever else stands for a dimension is rare, and slower to tell.
            if hasattr(value, "__index__") or not isinstance(value, Dimension):
                return Dim.constant(operator.index(cast(int, value)))
        except TypeError:
            raise ValueError(f"{value!r} is no dimension, which is an integer") from None
        try:
            return value.relax_dim()
        except TypeError as error:
            raise ValueError(str(error)) from None

    @property
    def value(self) -> int | None:
        """The integer that the dimension is, None where it has symbols."""
        if not self.terms:
            return 0
        monomial, coefficient = self.terms[0]
        return None if monomial else coefficient

    @property
    def symbol_name(self) -> str | None:
        """The name, where the dimension is exactly one symbol."""
        if len(self.terms) == 1:
            monomial, coefficient = self.terms[0]
            if coefficient == 1 and len(monomial) == 1:
                atom = monomial[0]
                return atom.name if isinstance(atom, Symbol) else None
        return None

    def symbols(self) -> Iterator[str]:
        """Names of the symbols, in order of occurrence, with repetitions."""
        for monomial, _ in self.terms:
            for atom in monomial:
                if isinstance(atom, Symbol):
                    yield atom.name
                else:
                    yield from atom.lhs.symbols()
                    yield from atom.rhs.symbols()

    def substitute(self, values: Mapping[str, Dim]) -> Dim:
        """The dimension with the named symbols replaced, in normal form."""
        if self.value is not None:
            return self
        return self.fold(
            Dim.constant, lambda name: values.get(name) or Dim.symbol(name), _build
        )

    def evaluate(self, values: Mapping[str, int]) -> int:
        """The number, given the symbols; KeyError where one is missing."""
        return self.fold(lambda value: value, lambda name: values[name], _compute)

    def fold(
        self,
        constant: Callable[[int], _T],
        symbol: Callable[[str], _T],
        apply: Callable[[str, _T, _T], _T],
    ) -> _T:
        """Rebuild the expression in another form, from the leaves up.

        `apply` is called with `+`, `*`, `floordiv`, `floormod`, `min` or `max`.
        """

        def factor(atom: Atom) -> _T:
            if isinstance(atom, Symbol):
                return symbol(atom.name)
            return apply(atom.operator, whole(atom.lhs), whole(atom.rhs))

        def term(monomial: Monomial, coefficient: int) -> _T:
            if not monomial:
                return constant(coefficient)
            result = factor(monomial[0])
            for atom in monomial[1:]:
                result = apply("*", result, factor(atom))
            if coefficient != 1:
                result = apply("*", result, constant(coefficient))
            return result

        def whole(dim: Dim) -> _T:
            if not dim.terms:
                return constant(0)
            result = term(*dim.terms[0])
            for monomial, coefficient in dim.terms[1:]:
                result = apply("+", result, term(monomial, coefficient))
            return result

        return whole(self)

    def __add__(self, other: DimLike) -> Dim:
        coefficients = dict(self.terms)
        for monomial, coefficient in Dim.of(other).terms:
            coefficients[monomial] = coefficients.get(monomial, 0) + coefficient
        return Dim(coefficients)

    def __radd__(self, other: int) -> Dim:
        return self + other

    def __neg__(self) -> Dim:
        return Dim({monomial: -coefficient for monomial, coefficient in self.terms})

    def __sub__(self, other: DimLike) -> Dim:
        return self + -Dim.of(other)

    def __rsub__(self, other: int) -> Dim:
        return -self + other

    def __mul__(self, other: DimLike) -> Dim:
        coefficients: dict[Monomial, int] = {}
        factor = Dim.of(other)
        count = len(self.terms) * len(factor.terms)
        if count > _MAX_TERMS:
            # Each factor more would multiply the terms: they fill the memory.
            raise VerifyException(
                f"a dimension that is a product of {count} terms, at most {_MAX_TERMS} "
                "are computed; match_cast its factors to symbols of their own"
            )
        for left, a in self.terms:
            for right, b in factor.terms:
                monomial = tuple(sorted(left + right, key=lambda atom: atom.key))
                coefficients[monomial] = coefficients.get(monomial, 0) + a * b
        return Dim(coefficients)

    def __rmul__(self, other: int) -> Dim:
        return self * other

    def __floordiv__(self, other: DimLike) -> Dim:
        divisor = Dim.of(other)
        quotient, rest = _divide(self, divisor)
        return quotient if rest.value == 0 else quotient + _floordiv(rest, divisor)

    def __mod__(self, other: DimLike) -> Dim:
        divisor = Dim.of(other)
        rest = _divide(self, divisor)[1]
        if (exact := _constant_quotient(rest, divisor)) is not None:
            return rest - divisor * exact
        return _apply("floormod", rest, divisor)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Dim)
            and self._hash == other._hash
            and self.terms == other.terms
        )

    def __hash__(self) -> int:
        return self._hash

    def __bool__(self) -> bool:
        return True

    def __repr__(self) -> str:
        return f"Dim({self})"

    def __str__(self) -> str:
        if not self.terms:
            return "0"
        text = ""
        for index, (monomial, coefficient) in enumerate(self.terms):
            sign = "-" if coefficient < 0 else "+"
            if index:
                text += f" {sign} "
            elif coefficient < 0:
                text += "-"
            # A leading minus binds tighter than floordiv and floormod.
            is_negated = not index and coefficient < 0
            text += _term(monomial, abs(coefficient), is_negated)
        return text


def _term(monomial: Monomial, coefficient: int, is_negated: bool) -> str:
    is_alone = len(monomial) == 1 and coefficient == 1 and not is_negated
    factors = [
        f"({atom})" if not is_alone and _is_infix(atom) else str(atom)
        for atom in monomial
    ]
    if coefficient != 1 or not factors:
        factors.append(str(coefficient))
    return " * ".join(factors)


def _is_infix(atom: Atom) -> bool:
    return isinstance(atom, Apply) and atom.operator in ("floordiv", "floormod")


def _factor(dim: Dim, first: bool) -> str:
    """`dim` as an operand of floordiv or floormod, which bind like `*`."""
    is_product = len(dim.terms) <= 1 and not str(dim).startswith("-")
    is_leaf = dim.value is not None or dim.symbol_name is not None
    return str(dim) if is_product and (first or is_leaf) else f"({dim})"


def minimum(lhs: DimLike, rhs: DimLike) -> Dim:
    """The smaller of two dimensions."""
    a, b = Dim.of(lhs), Dim.of(rhs)
    if provably_at_least(b, a):
        return a
    return b if provably_at_least(a, b) else _commutative("min", a, b)


def maximum(lhs: DimLike, rhs: DimLike) -> Dim:
    """The larger of two dimensions."""
    a, b = Dim.of(lhs), Dim.of(rhs)
    if provably_at_least(a, b):
        return a
    return b if provably_at_least(b, a) else _commutative("max", a, b)


def ceildiv(lhs: DimLike, rhs: DimLike) -> Dim:
    """Quotient of two dimensions, rounded up; `rhs` is positive."""
    return (Dim.of(lhs) + Dim.of(rhs) - 1) // rhs


def product(dims: Iterable[Dim]) -> Dim:
    """Product of all dimensions, 1 for none."""
    return prod(dims, start=Dim.constant(1))


def _apply(operator: Operator, lhs: Dim, rhs: Dim) -> Dim:
    return Dim({(Apply(operator, lhs, rhs),): 1})


def _commutative(operator: Literal["min", "max"], lhs: Dim, rhs: Dim) -> Dim:
    first, second = sorted((lhs, rhs), key=lambda dim: (dim.value is not None, str(dim)))
    return _apply(operator, first, second)


def _divide(dividend: Dim, divisor: Dim) -> tuple[Dim, Dim]:
    """Quotient and rest with `dividend == quotient * divisor + rest`.

    The quotient takes the terms that are multiples of the divisor. Exact for any
    divisor but 0, where nothing is taken: floor(q + r/d) = q + floor(r/d).
    """
    if dividend == divisor and divisor.value != 0:
        return Dim.constant(1), Dim.constant(0)
    if len(divisor.terms) != 1:
        return Dim.constant(0), dividend
    factors, scale = divisor.terms[0]
    quotient: dict[Monomial, int] = {}
    rest: dict[Monomial, int] = {}
    for monomial, coefficient in dividend.terms:
        shrunk = without_factors(monomial, factors)
        if shrunk is None or (monomial and coefficient % scale):
            rest[monomial] = coefficient
        else:
            quotient[shrunk] = coefficient // scale
            rest[monomial] = coefficient % scale
    return Dim(quotient), Dim(rest)


def _constant_quotient(rest: Dim, divisor: Dim) -> int | None:
    """The value of floor(rest / divisor) where it is known."""
    found, least = bounds(rest), bounds(divisor).min
    if found.is_finite and least > 0:
        lower, upper = int(found.min), int(found.max)
        if lower >= 0 and upper < least:
            return 0
        value = divisor.value
        if value is not None and lower // value == upper // value:
            return lower // value
    if rest.value is not None and divisor.value:
        return rest.value // divisor.value
    return None


def _floordiv(rest: Dim, divisor: Dim) -> Dim:
    if (known := _constant_quotient(rest, divisor)) is not None:
        return Dim.constant(known)
    if len(rest.terms) == 1 and rest.terms[0][1] == 1 and len(rest.terms[0][0]) == 1:
        inner = rest.terms[0][0][0]
        if (
            isinstance(inner, Apply)
            and inner.operator == "floordiv"
            and (first := inner.rhs.value) is not None
            and (second := divisor.value) is not None
            and min(first, second) > 0
        ):
            return inner.lhs // (first * second)
    return _apply("floordiv", rest, divisor)


def _build(operator: str, lhs: Dim, rhs: Dim) -> Dim:
    match operator:
        case "+":
            return lhs + rhs
        case "*":
            return lhs * rhs
        case "floordiv":
            return lhs // rhs
        case "floormod":
            return lhs % rhs
        case "min":
            return minimum(lhs, rhs)
        case _:
            return maximum(lhs, rhs)


def _compute(operator: str, lhs: int, rhs: int) -> int:
    match operator:
        case "+":
            return lhs + rhs
        case "*":
            return lhs * rhs
        case "floordiv":
            return lhs // rhs
        case "floormod":
            return lhs % rhs
        case "min":
            return min(lhs, rhs)
        case _:
            return max(lhs, rhs)


def bounds(dim: Dim, upper: Mapping[str, int] = MappingProxyType({})) -> Bound:
    """Least and greatest value of a dimension, every symbol being at least 0.

    `upper` holds the greatest values of symbols, inclusive.
    """
    return dim.fold(
        lambda value: saturated(value, value),
        lambda name: saturated(0, upper.get(name, INF)),
        _interval,
    )


def _interval(operator: str, lhs: Bound, rhs: Bound) -> Bound:
    if operator in ("floordiv", "floormod") and rhs.min <= 0:
        return EVERYTHING
    return _INTERVALS[operator](lhs, rhs)


_INTERVALS: dict[str, Callable[[Bound, Bound], Bound]] = {
    "+": integers.add,
    "*": integers.mul,
    "floordiv": partial(integers.quotient, floor=True),
    "floormod": integers.floor_remainder,
    "min": integers.minimum,
    "max": integers.maximum,
}


def provably_at_least(lhs: DimLike, rhs: DimLike) -> bool:
    """Whether `lhs >= rhs` for all values of the symbols; False where unknown."""
    return bounds(Dim.of(lhs) - rhs).min >= 0


def provably_covers(lhs: DimLike, rhs: DimLike) -> bool:
    """Whether `lhs >= rhs`, also where that depends on how quotients are rounded.

    `(n + 7) floordiv 8 * 8` covers `n`. `provably_at_least` does not prove that: it
    treats a quotient and its dividend as independent.
    """
    difference = without_floormod(Dim.of(lhs) - rhs)
    return bounds(difference).min >= 0 or bounds(_without_quotients(difference)).min >= 0


def _without_quotients(dim: Dim) -> Dim:
    """A lower bound of a positive multiple of `dim`, with fewer quotients by numbers.

    The multiple is the least common one of the divisors, so that coefficients of
    dividends are integers.
    """
    scale = lcm(*(number for m, _ in dim.terms for number in map(_divisor, m)))
    wanted = {monomial for monomial, c in dim.terms if c < 0}
    total = Dim.constant(0)
    for monomial, coefficient in dim.terms:
        total += _least(monomial, coefficient * scale, wanted)
    return total


def _divisor(atom: Atom) -> int:
    """The divisor of a quotient by a positive number, 1 for another atom."""
    if isinstance(atom, Apply) and atom.operator == "floordiv":
        return max(atom.rhs.value or 1, 1)
    return 1


def _least(monomial: Monomial, coefficient: int, wanted: AbstractSet[Monomial]) -> Dim:
    """A lower bound of `coefficient` times a product, with one quotient replaced.

    `x floordiv d` is from `(x - d + 1) / d` to `x / d`. A quotient with a positive
    coefficient is kept where no monomial of `x` is in `wanted`, those that are
    subtracted elsewhere. The factors beside it have to be at least 0.
    """
    for place, atom in enumerate(monomial):
        number = _divisor(atom)
        if number == 1 or not isinstance(atom, Apply):
            continue
        others = Dim({(*monomial[:place], *monomial[place + 1 :]): 1})
        if bounds(others).min < 0:
            continue
        most = others * atom.lhs
        if coefficient < 0:
            return most * (coefficient // number)
        if any(each in wanted for each, _ in most.terms):
            return (most - others * (number - 1)) * (coefficient // number)
    return Dim({monomial: coefficient})


def without_floormod(dim: Dim) -> Dim:
    """The same value with `a floormod b` spelled `a - (a floordiv b) * b`."""

    def apply(operator: str, lhs: Dim, rhs: Dim) -> Dim:
        if operator == "floormod":
            return lhs - (lhs // rhs) * rhs
        return _build(operator, lhs, rhs)

    return dim.fold(Dim.constant, Dim.symbol, apply)


def provably_equal(lhs: DimLike, rhs: DimLike) -> bool:
    """Whether the two are equal for all values of the symbols; False where unknown."""
    difference = Dim.of(lhs) - rhs
    return difference.value == 0 or without_floormod(difference).value == 0


def provably_different(lhs: DimLike, rhs: DimLike) -> bool:
    """Whether the two differ for all values of the symbols; False where unknown."""
    difference = bounds(without_floormod(Dim.of(lhs) - rhs))
    return difference.min > 0 or difference.max < 0
