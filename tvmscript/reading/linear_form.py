"""Differences of index expressions, with what both sides share taken away.

A slice `i * 4 : i * 4 + 4` is a range of 4 elements: TVM's parser simplifies the
difference of its bounds (docs/spec/tvmscript.md §3.4). Sums, differences and products
with constants are taken apart into terms; everything else is an atom, equal to another
one of the same structure.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from xdsl_tvm.dialects.tir.types import is_integer
from xdsl_tvm.tvmscript.nodes.expressions import (
    Binary,
    Broadcast,
    BufferLoad,
    Call,
    Cast,
    Compare,
    Expr,
    ExprLike,
    FloatImm,
    IntImm,
    Let,
    Not,
    Ramp,
    Select,
    add,
    const,
    convert,
    literal,
    match_types,
    mul,
    operands,
    sub,
)


class _Atoms:
    """Numbers for expressions: those of equal structure have one."""

    def __init__(self) -> None:
        self._numbers: dict[Hashable, int] = {}
        self._of: dict[int, int] = {}
        self._values: dict[int, Expr] = {}
        """What the variables of `Let`s that have been met are bound to."""

    def number(self, root: Expr) -> int:
        stack = [root]
        while stack:
            expr = stack[-1]
            if id(expr) in self._of:
                stack.pop()
                continue
            if isinstance(expr, Let):
                self._values[id(expr.var)] = expr.value
            parts = self._parts_of(expr)
            # The value of a `Let` comes before its body.
            waiting = next((part for part in parts if id(part) not in self._of), None)
            if waiting is not None:
                stack.append(waiting)
                continue
            stack.pop()
            label = "let" if id(expr) in self._values else _label(expr)
            key = (label, *(self._of[id(part)] for part in parts))
            self._of[id(expr)] = self._numbers.setdefault(key, len(self._numbers))
        return self._of[id(root)]

    def _parts_of(self, expr: Expr) -> Sequence[Expr]:
        value = self._values.get(id(expr))
        return operands(expr) if value is None else (value,)


def _label(expr: Expr) -> Hashable:
    match expr:
        case Binary():
            return expr.op
        case Compare():
            return expr.predicate
        case Cast():
            return ("cast", expr.type)
        case Not() | Select() | Let():
            return type(expr)
        case Ramp() | Broadcast():
            return (type(expr), expr.type)
        case IntImm() | FloatImm():
            return (expr.type, expr.value)
        case BufferLoad() if expr.predicate is None:
            return ("load", id(expr.buffer))
        case Call() if len(expr.args) == len(operands(expr)):
            return (expr.name, expr.type)
        case _:
            return id(expr)


class _Sum:
    """A sum of atoms with integer factors, and a constant."""

    def __init__(self) -> None:
        self.constant = 0
        self.factors: dict[int, int] = {}
        self.atoms: dict[int, Expr] = {}
        self._numbers = _Atoms()

    def add(self, root: Expr, factor: int) -> None:
        stack = [(root, factor)]
        while stack:
            expr, scale = stack.pop()
            number = literal(expr)
            if isinstance(number, int):
                self.constant += scale * number
            elif isinstance(expr, Binary) and expr.op in ("add", "sub"):
                sign = 1 if expr.op == "add" else -1
                stack += [(expr.rhs, sign * scale), (expr.lhs, scale)]
            elif isinstance(expr, Binary) and (scaled := _scaled(expr)) is not None:
                stack.append((scaled[0], scaled[1] * scale))
            else:
                atom = self._numbers.number(expr)
                self.atoms.setdefault(atom, expr)
                self.factors[atom] = self.factors.get(atom, 0) + scale

    def expr(self, like: Expr) -> Expr:
        """The sum as an expression of the type of `like`."""
        result: Expr | None = None
        for atom, factor in self.factors.items():
            if factor:
                term = mul(self.atoms[atom], const(factor, like.type))
                result = term if result is None else add(result, term)
        constant = const(self.constant, like.type)
        return constant if result is None else add(result, constant)

    @property
    def has_cancelled(self) -> bool:
        """Whether a term fell out."""
        return not all(self.factors.values())


def _scaled(expr: Binary) -> tuple[Expr, int] | None:
    if expr.op != "mul":
        return None
    for operand, other in ((expr.lhs, expr.rhs), (expr.rhs, expr.lhs)):
        number = literal(other)
        if isinstance(number, int):
            return operand, number
    return None


def difference(lhs: ExprLike, rhs: ExprLike) -> Expr:
    """`lhs - rhs`, without the terms that cancel; `x` as it is for `b + x` and `b`."""
    left, right = convert(lhs), convert(rhs)
    if left.type != right.type and is_integer(left.type) and is_integer(right.type):
        # The terms of a narrow operand are those of the wide one once it is converted.
        left, right = match_types(left, right)
    if (rest := behind(right, left)) is not None:
        return rest
    whole = sub(left, right)
    if not is_integer(whole.type) or literal(whole) is not None:
        return whole
    terms = _Sum()
    terms.add(left, 1)
    terms.add(right, -1)
    return terms.expr(whole) if terms.has_cancelled else whole


def behind(start: Expr, stop: Expr) -> Expr | None:
    """`x` as it is where `stop` is `start + x` as scripts fold it, None for all else."""
    if is_same(start, stop):
        return const(0, stop.type)
    if isinstance(stop, Binary) and stop.op == "add" and is_same(stop.lhs, start):
        return stop.rhs
    return None


def is_same(lhs: Expr, rhs: Expr) -> bool:
    """Whether two expressions have one structure, as far as differences look into them;
    what they do not look into is the same only if it is the same object."""
    atoms = _Atoms()
    return lhs is rhs or atoms.number(lhs) == atoms.number(rhs)
