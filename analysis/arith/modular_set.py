"""Modular sets: what an integer is modulo a constant.

`ModularSetAnalyzer` gives for a tree `e` numbers such that `e == coeff * k + base` for
some integer `k`, for all values of the leaves that the facts of the analyzer allow,
wherever `e` is defined. The rules are those of docs/spec/tir-passes-b-arith-and-loops.md
§1.5, made sound where they are not:

- Arithmetic of 32- and 64-bit signed integers is that of the integers. All other integers
  wrap around: what leaves its type is known modulo powers of two only.
- Casts to floats that may round lose what is known.
- Dividing wants the quotient rounded down, or a dividend that is not negative.
- Constraints that contradict each other leave what was known before.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from xdsl.ir import Attribute

from xdsl_tvm.analysis.arith.const_int_bound import amounts_of
from xdsl_tvm.analysis.arith.expr import (
    Add,
    Binary,
    Call,
    Cast,
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
    fold,
)
from xdsl_tvm.dialects import tir
from xdsl_tvm.dialects.dtypes import integer_range
from xdsl_tvm.dialects.integers import Bound
from xdsl_tvm.dialects.tir.types import is_index_type

if TYPE_CHECKING:
    from xdsl_tvm.analysis.arith.analyzer import Analyzer


@dataclass(frozen=True, slots=True)
class ModularSet:
    """The integers `coeff * k + base`.

    With `coeff` 0 it is the number `base`, otherwise `coeff > 0` and
    `0 <= base < coeff`; `(1, 0)` is all integers.
    """

    coeff: int
    base: int

    @staticmethod
    def of(coeff: int, base: int) -> ModularSet:
        """The set in its normal form."""
        coeff = abs(coeff)
        return ModularSet(coeff, base % coeff if coeff else base)

    @property
    def is_everything(self) -> bool:
        return self.coeff == 1

    def __contains__(self, value: int) -> bool:
        return (value - self.base) % self.coeff == 0 if self.coeff else value == self.base

    def modulo(self, modulus: int) -> ModularSet:
        """The residues that the numbers have, as a set of the same kind."""
        return ModularSet.of(math.gcd(self.coeff, modulus), self.base)

    def union(self, other: ModularSet) -> ModularSet:
        """The least set that contains both."""
        return ModularSet.of(
            math.gcd(self.coeff, other.coeff, self.base - other.base), self.base
        )

    def intersection(self, other: ModularSet) -> ModularSet:
        """The numbers in both, by the Chinese remainder theorem.

        Where there are none, `self`: the code is not reached, and any set is right.
        """
        common = math.gcd(self.coeff, other.coeff)
        difference = other.base - self.base
        if common == 0:
            return self
        if difference % common:
            return self
        if self.coeff == 0 or other.coeff == 0:
            return self if self.coeff == 0 else other
        step = other.coeff // common
        inverse = pow(self.coeff // common, -1, step)
        count = difference // common * inverse % step
        return ModularSet.of(self.coeff * step, self.base + self.coeff * count)

    def __str__(self) -> str:
        return f"{self.coeff}*k + {self.base}" if self.coeff else str(self.base)


EVERYTHING = ModularSet(1, 0)
_ARITHMETIC = (Add, Sub, Mul, Div, Mod, FloorDiv, FloorMod, Min, Max)
_ROUNDED_DOWN = (FloorDiv, FloorMod)


def add(a: ModularSet, b: ModularSet) -> ModularSet:
    """The set of sums."""
    return ModularSet.of(math.gcd(a.coeff, b.coeff), a.base + b.base)


def sub(a: ModularSet, b: ModularSet) -> ModularSet:
    """The set of differences."""
    return ModularSet.of(math.gcd(a.coeff, b.coeff), a.base - b.base)


def mul(a: ModularSet, b: ModularSet) -> ModularSet:
    """The set of products."""
    coeff = math.gcd(a.coeff * b.coeff, a.coeff * b.base, a.base * b.coeff)
    return ModularSet.of(coeff, a.base * b.base)


class ModularSetAnalyzer:
    """Modular sets of trees under the facts of an analyzer, which keeps them."""

    def __init__(self, analyzer: Analyzer) -> None:
        self._analyzer = analyzer

    def __call__(self, root: Expr) -> ModularSet:
        """The modular set of a tree. Every node is visited once while the facts hold."""
        return fold(root, self._set, self._analyzer.memo.moduli)

    def _set(self, node: Expr, operands: list[ModularSet]) -> ModularSet:
        found = self._structural(node, operands)
        recorded = self._analyzer.facts.modulus_of(node)
        return found if recorded is None else found.intersection(recorded)

    def _structural(self, node: Expr, operands: list[ModularSet]) -> ModularSet:
        match node:
            case Const(value=int() as value):
                return ModularSet(0, value)
            case Cast():
                return self._cast(node, operands[0])
            case Select() | IfThenElse():
                return operands[1].union(operands[2])
            case Call(name="likely"):
                return operands[0]
            case Call(name="shift_right" | "bitwise_and") if tir.is_integer(node.dtype):
                return self._bits(node, *operands)
            case Binary() if isinstance(node, _ARITHMETIC) and _is_number(node.dtype):
                found = self._arithmetic(node, *operands)
                return _wrapped(found, node.dtype)
            case _:
                return EVERYTHING

    def _cast(self, node: Cast, value: ModularSet) -> ModularSet:
        """The set after a cast; a float that is exactly an integer has the set of it."""
        target, source = node.dtype, node.value.dtype
        if tir.is_vector(target) or tir.is_bool(target) != tir.is_bool(source):
            return EVERYTHING
        if tir.is_integer(target):
            return _wrapped(value, target)
        exact = self._analyzer.const_int_bound(node).is_finite
        return value if exact else EVERYTHING

    def _arithmetic(self, node: Binary, a: ModularSet, b: ModularSet) -> ModularSet:
        match node:
            case Add():
                return add(a, b)
            case Sub():
                return sub(a, b)
            case Mul():
                return mul(a, b)
            case Min() | Max():
                return a.union(b)
            case Div() | FloorDiv() if b.coeff == 0:
                return self._quotient(node, a, b.base)
            case Mod() | FloorMod() if b.coeff == 0:
                return self._remainder(node, a, b.base)
            case _:
                return EVERYTHING

    def _quotient(self, node: Binary, a: ModularSet, divisor: int) -> ModularSet:
        if divisor == 0 or a.coeff % divisor:
            return EVERYTHING
        if a.base % divisor == 0:
            return ModularSet.of(a.coeff // divisor, a.base // divisor)
        if self._rounds_down(node, divisor):
            return ModularSet.of(a.coeff // divisor, a.base // divisor)
        return EVERYTHING

    def _remainder(self, node: Binary, a: ModularSet, divisor: int) -> ModularSet:
        if divisor == 0:
            return EVERYTHING
        common = math.gcd(a.coeff, divisor)
        if a.base % common == 0:
            # The remainder differs from the dividend by a multiple of the divisor.
            found = ModularSet.of(common, 0)
        else:
            found = ModularSet.of(common, a.base)
        exact = a.coeff % divisor == 0 and (
            a.base % divisor == 0 or self._rounds_down(node, divisor)
        )
        return ModularSet(0, a.base % divisor) if exact else found

    def _rounds_down(self, node: Binary, divisor: int) -> bool:
        """Whether the quotient by a constant is that which Python has."""
        if isinstance(node, _ROUNDED_DOWN):
            return True
        return divisor > 0 and self._analyzer.const_int_bound(node.lhs).min >= 0

    def _bits(self, node: Call, a: ModularSet, b: ModularSet) -> ModularSet:
        """Right shifts by constants and masks of low bits, which round down."""
        if b.coeff != 0 or b.base < 0:
            return EVERYTHING
        if node.name == "shift_right":
            if not amounts_of(node.dtype).contains(Bound(b.base, b.base)):
                return EVERYTHING
            power = 1 << b.base
            if a.coeff % power:
                return EVERYTHING
            return ModularSet.of(a.coeff // power, a.base // power)
        power = b.base + 1
        if power & b.base:
            return EVERYTHING
        if a.coeff % power == 0:
            return ModularSet(0, a.base % power)
        return a.modulo(power)


def _is_number(dtype: Attribute) -> bool:
    return tir.is_integer(dtype) and not tir.is_bool(dtype) and not tir.is_vector(dtype)


def _wrapped(found: ModularSet, dtype: Attribute) -> ModularSet:
    """The set of results of arithmetic in a type, where it may wrap around."""
    if is_index_type(dtype):
        return found
    low, high = integer_range(dtype)
    if found.coeff == 0:
        fits = low <= found.base <= high
        return (
            found if fits else ModularSet(0, (found.base - low) % (high - low + 1) + low)
        )
    return found.modulo(high - low + 1)
