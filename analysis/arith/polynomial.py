"""Integer expressions as polynomials: a normal form that decides exact divisibility.

A polynomial stands for a mathematical integer. That agrees with the value of a TIR
expression as long as nothing wraps around, which TIR promises for signed integers of 32
bits and more (overflow is undefined). So arithmetic is expanded in these types only, and
casts are seen through where they keep every value; everything else is an *atom*, a tree
that the polynomial does not look into.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache

from xdsl.ir import Attribute

from xdsl_tvm.analysis.arith.expr import (
    Add,
    Cast,
    Cmp,
    Const,
    Div,
    Expr,
    FloorDiv,
    FloorMod,
    Mod,
    Mul,
    Not,
    Sub,
    postorder,
    sum_of,
)
from xdsl_tvm.analysis.arith.facts import NEGATED
from xdsl_tvm.dialects import tir
from xdsl_tvm.dialects.dtypes import integer_range
from xdsl_tvm.dialects.integers import without_factors
from xdsl_tvm.dialects.tir import CmpPredicate
from xdsl_tvm.dialects.tir.types import is_integer_type

MAX_TERMS = 256
"""A product that would have more terms stays an atom."""

Monomial = tuple[Expr, ...]
"""A product of atoms, those with higher powers repeated, ordered by `Expr.serial`."""

_DIVISIONS = (Div, FloorDiv)
_REMAINDERS = (Mod, FloorMod)


class Polynomial:
    """An immutable sum of monomials with integer coefficients."""

    __slots__ = ("_terms",)

    def __init__(self, terms: Mapping[Monomial, int]) -> None:
        self._terms = {m: c for m, c in terms.items() if c != 0}

    @staticmethod
    def constant(value: int) -> Polynomial:
        """The polynomial without atoms."""
        return Polynomial({(): value})

    @property
    def terms(self) -> Mapping[Monomial, int]:
        """The coefficients, none of them 0, by monomial; `()` is the constant term."""
        return self._terms

    @property
    def as_constant(self) -> int | None:
        """The value if it does not depend on any atom, else None."""
        if not self._terms:
            return 0
        return self._terms.get(()) if len(self._terms) == 1 else None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Polynomial) and self._terms == other._terms

    def __hash__(self) -> int:
        return hash(frozenset(self._terms.items()))

    def __add__(self, other: Polynomial) -> Polynomial:
        return _sum(((self, 1), (other, 1)))

    def __sub__(self, other: Polynomial) -> Polynomial:
        return _sum(((self, 1), (other, -1)))

    def __mul__(self, other: Polynomial) -> Polynomial:
        product: dict[Monomial, int] = {}
        for left, a in self._terms.items():
            for right, b in other._terms.items():
                key = _multiplied(left, right)
                product[key] = product.get(key, 0) + a * b
        return Polynomial(product)

    def __repr__(self) -> str:
        parts = ("*".join([str(c), *map(str, m)]) for m, c in sorted_terms(self._terms))
        return f"Polynomial({' + '.join(parts)})"

    def exact_quotient(self, divisor: Polynomial) -> Polynomial | None:
        """The polynomial whose product with `divisor` this is; None if there is none.

        None also where `divisor` is zero.
        """
        if not divisor.terms:
            return None
        lead, lead_coefficient = _leading(divisor)
        rest, quotient = self, Polynomial({})
        # Each step removes the leading monomial of the rest, and no larger one appears.
        # Exact division takes one step per term of the quotient, which has no more terms
        # of any lead than the limit.
        for _ in range(MAX_TERMS):
            if not rest.terms:
                return quotient
            monomial, coefficient = _leading(rest)
            factor = without_factors(monomial, lead)
            if factor is None or coefficient % lead_coefficient:
                return None
            step = Polynomial({factor: coefficient // lead_coefficient})
            quotient += step
            rest -= step * divisor
        return None

    def fits(self, dtype: Attribute) -> bool:
        """Whether the type has all coefficients and their opposites.

        Arithmetic on polynomials is that of the integers, so coefficients of what is
        computed may be outside of any type, though those of the program are not.
        """
        _, high = integer_range(dtype)
        return all(-high <= factor <= high for factor in self._terms.values())

    def to_expr(self, dtype: Attribute) -> Expr:
        """A tree of type `dtype` with this value; atoms of other types are cast.

        Raises ValueError for a coefficient that the type does not have; see `fits`.
        """

        def term(monomial: Monomial, coefficient: int) -> Expr:
            factors = [
                atom if atom.dtype == dtype else Cast(dtype, atom) for atom in monomial
            ]
            if not factors:
                return Const(coefficient, dtype)
            product = factors[0]
            for factor in factors[1:]:
                product = Mul(product, factor)
            return (
                product if coefficient == 1 else Mul(product, Const(coefficient, dtype))
            )

        return sum_of((term(m, c) for m, c in sorted_terms(self._terms)), dtype)


def sorted_terms(terms: Mapping[Monomial, int]) -> list[tuple[Monomial, int]]:
    """Terms of high degree first, older atoms first: the order they are emitted in."""
    return sorted(terms.items(), key=lambda term: (-len(term[0]), _serials(term[0])))


def _serials(monomial: Monomial) -> tuple[int, ...]:
    return tuple(atom.serial for atom in monomial)


def _sum(parts: Iterable[tuple[Polynomial, int]]) -> Polynomial:
    total: dict[Monomial, int] = {}
    for part, factor in parts:
        for monomial, coefficient in part.terms.items():
            total[monomial] = total.get(monomial, 0) + factor * coefficient
    return Polynomial(total)


def _multiplied(left: Monomial, right: Monomial) -> Monomial:
    if not left or not right:
        return left or right
    return tuple(sorted((*left, *right), key=lambda atom: atom.serial))


def _leading(polynomial: Polynomial) -> tuple[Monomial, int]:
    """The greatest term of a monomial order: by degree, then lexicographic by age."""
    monomial = max(polynomial.terms, key=lambda m: (len(m), [-a.serial for a in m]))
    return monomial, polynomial.terms[monomial]


# ---- reading trees ----


@cache
def _is_exact(dtype: Attribute) -> bool:
    """Whether arithmetic of this type is that of the integers."""
    return is_integer_type(dtype) and tir.is_int(dtype) and dtype.width.data >= 32


@cache
def _keeps_value(source: Attribute, target: Attribute) -> bool:
    """Whether a cast from `source` keeps every integer that is a `source`."""
    if not (is_integer_type(source) and is_integer_type(target) and tir.is_int(target)):
        return False
    return target.width.data > source.width.data - (0 if tir.is_uint(source) else 1)


def polynomial(root: Expr) -> Polynomial:
    """The normal form of an integer expression.

    Equal polynomials mean equal values, wherever both are defined. Quotients and
    remainders are resolved where the division is exact for all values of the atoms.
    """
    known: dict[Expr, Polynomial] = {}
    for node in postorder(root):
        if _is_split(node):
            for operand in node.operands:
                if operand not in known:
                    known[operand] = _linear(operand, known)
            known[node] = _resolved(node, known)
    return _linear(root, known)


def _is_split(node: Expr) -> bool:
    """Whether the polynomial of the node needs those of its operands as a whole."""
    if not _is_exact(node.dtype):
        return False
    if isinstance(node, Mul):
        return not any(isinstance(operand, Const) for operand in node.operands)
    return isinstance(node, (*_DIVISIONS, *_REMAINDERS))


def _resolved(node: Expr, known: Mapping[Expr, Polynomial]) -> Polynomial:
    left, right = (known[operand] for operand in node.operands)
    if isinstance(node, Mul):
        if len(left.terms) * len(right.terms) <= MAX_TERMS:
            return left * right
    elif (quotient := left.exact_quotient(right)) is not None:
        return quotient if isinstance(node, _DIVISIONS) else Polynomial({})
    return Polynomial({(node,): 1})


def _linear(root: Expr, known: Mapping[Expr, Polynomial]) -> Polynomial:
    """The polynomial of sums, multiples and casts of nodes that are known or atoms.

    A node gets the sum of the factors with which its users take it, users first, so that
    shared nodes are expanded once.
    """
    factors: dict[Expr, int] = {root: 1}
    parts: list[tuple[Polynomial, int]] = []
    for node in reversed(_sums_below(root, known)):
        factor = factors.pop(node)
        if node in known:
            parts.append((known[node], factor))
            continue
        scaled = _scaled_operands(node)
        if scaled is None:
            atom = {(): int(node.value)} if isinstance(node, Const) else {(node,): 1}
            parts.append((Polynomial(atom), factor))
            continue
        for operand, scale in scaled:
            factors[operand] = factors.get(operand, 0) + factor * scale
    return _sum(parts)


def _sums_below(root: Expr, known: Mapping[Expr, Polynomial]) -> list[Expr]:
    """The nodes that `_linear` meets, each after its operands."""
    seen: set[Expr] = set()
    order: list[Expr] = []
    stack = [(root, False)]
    while stack:
        node, done = stack.pop()
        if done:
            order.append(node)
        elif node not in seen:
            seen.add(node)
            stack.append((node, True))
            if node not in known:
                stack += [(operand, False) for operand, _ in _scaled_operands(node) or ()]
    return order


def _scaled_operands(node: Expr) -> tuple[tuple[Expr, int], ...] | None:
    """Operands and factors whose sum is the node; None for atoms and constants."""
    match node:
        case Cast(value=value) if _keeps_value(value.dtype, node.dtype):
            return ((value, 1),)
        case Add(lhs, rhs) if _is_exact(node.dtype):
            return ((lhs, 1), (rhs, 1))
        case Sub(lhs, rhs) if _is_exact(node.dtype):
            return ((lhs, 1), (rhs, -1))
        case Mul(Const(value=factor), value) if _is_exact(node.dtype):
            return ((value, int(factor)),)
        case Mul(value, Const(value=factor)) if _is_exact(node.dtype):
            return ((value, int(factor)),)
        case _:
            return None


def prove_equal(left: Expr, right: Expr) -> bool:
    """Whether two integer expressions have one normal form, so are always equal.

    False says that this could not be shown.
    """
    return left is right or polynomial(left) == polynomial(right)


def compared_with_zero(condition: Expr) -> tuple[Polynomial, CmpPredicate] | None:
    """`lhs - rhs` of a comparison, or its negation, and how it compares with 0.

    None for what compares no signed integers.
    """
    comparison = condition.value if isinstance(condition, Not) else condition
    if not isinstance(comparison, Cmp) or not is_integer_type(comparison.lhs.dtype):
        return None
    if not tir.is_int(tir.element_of(comparison.lhs.dtype)):
        return None
    predicate = comparison.predicate
    if comparison is not condition:
        predicate = NEGATED[predicate]
    return polynomial(comparison.lhs) - polynomial(comparison.rhs), predicate
