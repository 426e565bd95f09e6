"""Rules that a pattern cannot state (docs/spec/tir-passes-b-arith-and-loops.md §1.6.4).

Each is a function of a node and the simplifier that gives the replacement, or None where
it does not apply, like a compiled pattern, with an id of its own for the statistics.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from xdsl.dialects.builtin import Float32Type, Float64Type

from xdsl_tvm.analysis.arith import smart
from xdsl_tvm.analysis.arith.expr import (
    Add,
    Binary,
    Broadcast,
    Call,
    Cmp,
    Const,
    Div,
    Expr,
    FloorDiv,
    FloorMod,
    IfThenElse,
    Max,
    Min,
    Mul,
    Ramp,
)
from xdsl_tvm.analysis.arith.facts import offset_of
from xdsl_tvm.analysis.arith.modular_set import ModularSet
from xdsl_tvm.analysis.arith.patterns import Prover
from xdsl_tvm.dialects import tir
from xdsl_tvm.dialects.integers import Bound
from xdsl_tvm.dialects.tir import CmpPredicate
from xdsl_tvm.dialects.tir.types import is_index_type


class Knowledge(Prover, Protocol):
    """What the rules ask a simplifier."""

    def bound(self, node: Expr) -> Bound:
        """The constant bound of an index expression."""
        ...

    def modulus(self, node: Expr) -> ModularSet:
        """The modular set of an integer expression."""
        ...

    def again(self, node: Expr) -> Expr:
        """The node simplified, as far as the limits allow."""
        ...

    def proves(self, condition: Expr) -> bool:
        """Whether the condition simplifies to true."""
        ...

    def knows(self, condition: Expr) -> bool:
        """Whether a comparison is a condition that has been assumed."""
        ...

    def scales(self, node: Expr) -> bool:
        """Whether the tree depends on the length of scalable vectors."""
        ...

    def is_total(self, node: Expr) -> bool:
        """Whether the tree has a value whatever the leaves hold."""
        ...


@dataclass(frozen=True, slots=True)
class SpecialRule:
    """A rule as a function."""

    id: str
    apply: Callable[[Expr, Knowledge], Expr | None]


RULES: dict[str, SpecialRule] = {}
"""All of them by id."""

Rewrite = Callable[[Expr, Knowledge], Expr | None]


def rule(rule_id: str) -> Callable[[Rewrite], SpecialRule]:
    """A decorator that makes a function a rule."""

    def register(function: Rewrite) -> SpecialRule:
        RULES[rule_id] = SpecialRule(rule_id, function)
        return RULES[rule_id]

    return register


def _int(node: Expr) -> int | None:
    """The value of an integer constant."""
    if type(node) is not Const:
        return None
    value = node.payload
    return value if isinstance(value, int) else None


# ---- sums of index values ----


@rule("add: of a minimum or maximum on the right")
def lattice_first(node: Expr, s: Knowledge) -> Expr | None:
    """Its operands swapped, unless the left one is of the kind as well."""
    lhs, rhs = node.operands
    if type(rhs) not in (Min, Max) or type(lhs) in (Min, Max):
        return None
    return s.again(smart.add(rhs, lhs))


# ---- quotients and remainders of index values ----


def _linear(node: Expr) -> tuple[Expr, int, Expr] | None:
    """`x`, `c` and `y` with the tree `x * c + y`."""
    if type(node) is Mul:
        factor = _int(node.rhs)
        return None if factor is None else (node.lhs, factor, Const(0, node.dtype))
    if type(node) is not Add:
        return None
    for product, rest in (node.operands, node.operands[::-1]):
        if type(product) is Mul and (factor := _int(product.rhs)) is not None:
            return product.lhs, factor, rest
    return None


@rule("floordiv: of x * c1 + y, by what the remainders can carry")
def split_floordiv(node: Expr, s: Knowledge) -> Expr | None:
    """`(x * c1 + y) // c2`, where what is left of both modulo `c2` is understood."""
    dividend, divisor = node.operands
    c2, parts = _int(divisor), _linear(dividend)
    if not c2 or parts is None:
        return None
    x, c1, y = parts
    remainder = smart.floormod(y, divisor)
    carry = smart.add(smart.mul(x, c1 % c2), remainder)
    carried = s.bound(smart.floordiv(carry, divisor)).value
    if carried is not None and smart.fits(carried, node.dtype):
        rest = smart.add(_quotient(y, divisor, s), carried)
        return smart.add(smart.mul(x, c1 // c2), rest)
    if c1 <= 0 or c2 <= 0 or c2 % c1:
        return None
    if not s.proves_at_least(smart.sub(c1 - 1, remainder), 0):
        return None
    return smart.add(smart.floordiv(x, c2 // c1), _quotient(y, divisor, s))


def _quotient(y: Expr, divisor: Expr, s: Knowledge) -> Expr:
    quotient = smart.floordiv(y, divisor)
    zero = Const(0, y.dtype)
    return zero if s.proves_equal(quotient, zero) else quotient


def _is_remainder(node: Expr, s: Knowledge) -> bool:
    """Whether `0 <= x < y` is known of operands `x` and `y`.

    It is proved where `y` is scalable; else `x < y` must have been assumed: to try a
    proof for every divisor that is no number would take too long.
    """
    x, y = node.operands
    if isinstance(y, Const):
        return False
    if not s.scales(y):
        return s.knows(smart.lt(x, y)) and s.proves_at_least(x, 0)
    return (
        s.proves_at_least(x, 0) and s.proves_at_least(y, 0) and s.proves(smart.lt(x, y))
    )


@rule("floordiv: by a greater divisor")
def lesser_floordiv(node: Expr, s: Knowledge) -> Expr | None:
    return Const(0, node.dtype) if _is_remainder(node, s) else None


@rule("floormod: by a greater divisor")
def lesser_floormod(node: Expr, s: Knowledge) -> Expr | None:
    return node.operands[0] if _is_remainder(node, s) else None


@rule("floormod: by the modular set of the dividend")
def floormod_modular(node: Expr, s: Knowledge) -> Expr | None:
    dividend, divisor = node.operands
    c = _int(divisor)
    if c is None or c <= 0:
        return None
    known = s.modulus(dividend)
    return Const(known.base % c, node.dtype) if known.coeff % c == 0 else None


@rule("floormod: of what is within the range of remainders")
def floormod_bounded(node: Expr, s: Knowledge) -> Expr | None:
    dividend, divisor = node.operands
    c = _int(divisor)
    if c is None or c <= 0:
        return None
    bound = s.bound(dividend)
    return dividend if bound.min >= 0 and bound.max < c else None


@rule("mod: by the modular set of a dividend that is not negative")
def truncmod_modular(node: Expr, s: Knowledge) -> Expr | None:
    dividend, divisor = node.operands
    c = _int(divisor)
    if c is None or c <= 0:
        return None
    known = s.modulus(dividend)
    if known.coeff % c or not s.proves_at_least(dividend, 0):
        return None
    return Const(known.base % c, node.dtype)


# ---- minima and maxima ----


@rule("min: by constant bounds")
def bounded_min(node: Expr, s: Knowledge) -> Expr | None:
    lhs, rhs = node.operands
    a, b = s.bound(lhs), s.bound(rhs)
    if a.max <= b.min:
        return lhs
    return rhs if b.max <= a.min else None


@rule("max: by constant bounds")
def bounded_max(node: Expr, s: Knowledge) -> Expr | None:
    lhs, rhs = node.operands
    a, b = s.bound(lhs), s.bound(rhs)
    if a.min >= b.max:
        return lhs
    return rhs if b.min >= a.max else None


def _smaller_first(node: Expr, s: Knowledge) -> tuple[Expr, Expr] | None:
    lhs, rhs = node.operands
    if not (s.scales(lhs) or s.scales(rhs)):
        return None
    if s.proves(smart.le(lhs, rhs)):
        return lhs, rhs
    return (rhs, lhs) if s.proves(smart.le(rhs, lhs)) else None


@rule("min: of scalable operands")
def scalable_min(node: Expr, s: Knowledge) -> Expr | None:
    found = _smaller_first(node, s)
    return None if found is None else found[0]


@rule("max: of scalable operands")
def scalable_max(node: Expr, s: Knowledge) -> Expr | None:
    found = _smaller_first(node, s)
    return None if found is None else found[1]


# ---- comparisons ----


def _split(node: Expr) -> tuple[Expr, int]:
    """The tree as another one and a number that is added to it."""
    base, offset = offset_of(node)
    return node if base is None else base, offset


@rule("lt: of operands with constant offsets")
def merged_offsets(node: Expr, s: Knowledge) -> Expr | None:
    """`l + p < r + q` with one offset, or none."""
    lhs, rhs = node.operands
    (left, p), (right, q) = _split(lhs), _split(rhs)
    distance = q - p
    if distance == 0 and p:
        return s.again(smart.lt(left, right))
    if distance == 1:
        return s.again(smart.le(left, right))
    if not smart.fits(distance, lhs.dtype) or not smart.fits(-distance, lhs.dtype):
        return None
    if distance < 0 and q:
        return s.again(smart.lt(smart.add(left, -distance), right))
    if distance > 0 and p:
        return s.again(smart.lt(left, smart.add(right, distance)))
    return None


@rule("lt: of multiples of a number")
def common_factor(node: Expr, s: Knowledge) -> Expr | None:
    lhs, rhs = node.operands
    a, b = s.modulus(lhs), s.modulus(rhs)
    factor = math.gcd(a.coeff, a.base, b.coeff, b.base)
    if factor <= 1 or not smart.fits(factor, lhs.dtype):
        return None
    return s.again(smart.lt(smart.floordiv(lhs, factor), smart.floordiv(rhs, factor)))


@rule("eq: of a value and itself")
def equal_to_itself(node: Expr, s: Knowledge) -> Expr | None:
    """Not for floats, among which a NaN is not equal to itself."""
    lhs, rhs = node.operands
    if lhs is not rhs or tir.is_float(tir.element_of(lhs.dtype)):
        return None
    assert isinstance(node, Cmp)
    holds = node.predicate in (CmpPredicate.EQ, CmpPredicate.LE)
    return smart.const(int(holds), node.dtype)


@rule("lt: of a value and itself")
def less_than_itself(node: Expr, s: Knowledge) -> Expr | None:
    lhs, rhs = node.operands
    return smart.const(0, node.dtype) if lhs is rhs else None


# ---- floats ----


@rule("div: of floats, by a power of two")
def reciprocal(node: Expr, s: Knowledge) -> Expr | None:
    """A product, if the reciprocal is exact: otherwise it rounds another way."""
    dividend, divisor = node.operands
    value = divisor.payload if type(divisor) is Const else None
    if not isinstance(value, float) or not math.isfinite(value):
        return None
    if abs(math.frexp(value)[0]) != 0.5 or not 2.0**-14 <= abs(value) <= 2.0**14:
        return None
    if not isinstance(node.dtype, Float32Type | Float64Type):
        return None
    return smart.mul(dividend, Const(1 / value, node.dtype))


# ---- calls ----


@rule("clz: of a constant")
def constant_clz(node: Expr, s: Knowledge) -> Expr | None:
    assert isinstance(node, Call)
    if node.name != "clz":
        return None
    (operand,) = node.operands
    value = _int(operand)
    if value is None or not tir.is_integer_type(operand.dtype):
        return None
    width = operand.dtype.width.data
    return Const(width - (value % (1 << width)).bit_length(), node.dtype)


@rule("ceil: of the logarithm of a constant")
def constant_ceil_log2(node: Expr, s: Knowledge) -> Expr | None:
    """Computed in the precision of the type, as it would be when the program runs."""
    match node:
        case Call(
            name="ceil",
            operands=(Call(name="log2", operands=(Const(value=float() as value),)),),
        ) if value > 0 and math.isfinite(value):
            pass
        case _:
            return None
    match node.dtype:
        case Float32Type():
            return Const(float(np.ceil(np.log2(np.float32(value)))), node.dtype)
        case Float64Type():
            return Const(float(np.ceil(np.log2(np.float64(value)))), node.dtype)
        case _:
            return None


@rule("if_then_else: of a choice that ends in the same constant")
def merged_choices(node: Expr, s: Knowledge) -> Expr | None:
    """One choice under both conditions; the inner one must not need the outer."""
    match node:
        case IfThenElse(
            outer, IfThenElse(inner, value, Const() as other), Const() as otherwise
        ) if other is otherwise and s.is_total(inner):
            return smart.if_then_else(smart.conjunction(outer, inner), value, otherwise)
        case _:
            return None


# ---- vectors ----


def _lanes(node: Expr) -> int | None:
    """The number of lanes of a fixed vector, None for a scalable one."""
    return None if tir.is_scalable(node.dtype) else tir.lanes_of(node.dtype)


@dataclass(frozen=True, slots=True)
class _RampDivision:
    """A ramp `base + lane * stride` divided by a broadcast of `divisor`."""

    node: Binary
    base: Expr
    stride: int
    divisor: int
    known: ModularSet
    """The modular set of the base."""

    @property
    def scalar(self) -> Expr:
        """The divisor as a tree."""
        return Const(self.divisor, self.base.dtype)

    @property
    def is_floor(self) -> bool:
        return isinstance(self.node, FloorDiv | FloorMod)

    @property
    def is_quotient(self) -> bool:
        return isinstance(self.node, Div | FloorDiv)

    def of_lane(self) -> Expr:
        """The same operation on the base alone."""
        return smart.binary(type(self.node), self.base, self.scalar)

    def uniform(self, lane: Expr) -> Expr:
        return Broadcast(self.node.dtype, lane)

    def ramp(self, base: Expr) -> Expr:
        return Ramp(self.node.dtype, base, Const(self.stride, self.base.dtype))


def _ramp_division(node: Expr, s: Knowledge) -> _RampDivision | None:
    """The parts of a division of an index ramp by a constant but zero."""
    dividend, divisor = node.operands
    if type(dividend) is not Ramp or type(divisor) is not Broadcast:
        return None
    base, stride = dividend.operands[0], _int(dividend.operands[1])
    number = _int(divisor.operands[0])
    if stride is None or not number or not is_index_type(base.dtype):
        return None
    assert isinstance(node, Binary)
    return _RampDivision(node, base, stride, number, s.modulus(base))


@rule("division of ramps: whose stride is a multiple of the divisor")
def multiple_stride(node: Expr, s: Knowledge) -> Expr | None:
    parts = _ramp_division(node, s)
    if parts is None or parts.stride % parts.divisor:
        return None
    # Toward zero, lanes are rounded in the direction that their sign says.
    if not parts.is_floor and not (_is_exact(parts) or _is_nonnegative(parts, s)):
        return None
    if not parts.is_quotient:
        return parts.uniform(parts.of_lane())
    step = parts.stride // parts.divisor
    return Ramp(node.dtype, parts.of_lane(), Const(step, parts.base.dtype))


def _is_exact(parts: _RampDivision) -> bool:
    """Whether the base is a multiple of the divisor."""
    return (
        parts.known.coeff % parts.divisor == 0 and parts.known.base % parts.divisor == 0
    )


def _is_nonnegative(parts: _RampDivision, s: Knowledge) -> bool:
    """Whether no lane is negative."""
    last = _last_offset(parts)
    if last is None:
        return parts.stride >= 0 and s.bound(parts.base).min >= 0
    return s.bound(parts.base).min + min(last, 0) >= 0


def _last_offset(parts: _RampDivision) -> int | None:
    """What the last lane adds to the base; None where the lanes are not counted."""
    lanes = _lanes(parts.node)
    return None if lanes is None else (lanes - 1) * parts.stride


@rule("division of ramps: whose lanes are all in one block")
def one_block(node: Expr, s: Knowledge) -> Expr | None:
    """All lanes have one quotient: the residue of the base leaves room for the others."""
    parts = _ramp_division(node, s)
    last = None if parts is None else _last_offset(parts)
    if parts is None or last is None:
        return None
    first, c = parts.known.base, parts.divisor
    if parts.known.coeff % c or first // c != (first + last) // c:
        return None
    # No lane is negative if the base is not: the block of the base begins at 0 or above.
    if not parts.is_floor and not (c > 0 and s.proves_at_least(parts.base, 0)):
        return None
    if parts.is_quotient:
        return parts.uniform(parts.of_lane())
    return parts.ramp(Const(first % c, parts.base.dtype))


@rule("division of ramps: whose lanes stay below the next known residue")
def small_block(node: Expr, s: Knowledge) -> Expr | None:
    """The base is `k * n + b`, `k` divides the divisor, and the lanes stay below `k`."""
    parts = _ramp_division(node, s)
    last = None if parts is None else _last_offset(parts)
    if parts is None or last is None or not parts.is_floor:
        return None
    k, first = parts.known.coeff, parts.known.base
    if k == 0 or parts.divisor <= 0 or parts.divisor % k:
        return None
    if not (0 <= first + last < k):
        return None
    if parts.is_quotient:
        return parts.uniform(parts.of_lane())
    return parts.ramp(parts.of_lane())


@rule("remainder of ramps: with a base that counts modulo the divisor only")
def reduced_base(node: Expr, s: Knowledge) -> Expr | None:
    parts = _ramp_division(node, s)
    if parts is None or parts.is_quotient or parts.known.coeff % parts.divisor:
        return None
    base = parts.known.base % parts.divisor
    if not parts.is_floor and (parts.divisor < 0 or not _is_nonnegative(parts, s)):
        return None
    if not parts.is_floor and _reaches_below(parts, base):
        return None
    if _int(parts.base) == base:
        return None
    ramp = parts.ramp(Const(base, parts.base.dtype))
    return type(parts.node)(ramp, node.operands[1])


def _reaches_below(parts: _RampDivision, base: int) -> bool:
    """Whether lanes would be negative if the base was this one."""
    last = _last_offset(parts)
    return parts.stride < 0 if last is None else base + min(last, 0) < 0
