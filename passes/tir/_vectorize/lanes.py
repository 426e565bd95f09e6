"""The vectors that scalar expressions become when a loop variable becomes a ramp.

All of it is on trees. The lanes of a vector are ordered by iteration first: where every
iteration has a vector of `e` lanes, lane `i * e + k` is lane `k` of iteration `i`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from xdsl.ir import Attribute
from xdsl.utils.exceptions import PassFailedException

from xdsl_tvm.analysis.arith import smart
from xdsl_tvm.analysis.arith.analyzer import Analyzer
from xdsl_tvm.analysis.arith.expr import (
    Add,
    Binary,
    Broadcast,
    Call,
    Cast,
    Cmp,
    Const,
    Expr,
    Mul,
    Not,
    Ramp,
    Select,
    Sub,
)
from xdsl_tvm.dialects import tir


class NeedsScalars(Exception):
    """No vector holds this value, so what uses it runs lane by lane."""


@dataclass(frozen=True)
class Width:
    """A number of lanes; of scalable ones, the factor of `vscale`."""

    lanes: int
    scalable: bool = False

    @staticmethod
    def of(dtype: Attribute) -> Width:
        """That of a type, 1 for a scalar."""
        return Width(tir.lanes_of(dtype), tir.is_scalable(dtype))

    def times(self, factor: int) -> Width:
        """As many lanes for each of these."""
        return Width(self.lanes * factor, self.scalable)

    def vector(self, element: Attribute) -> Attribute:
        """The type of so many of the elements of a type.

        Raises NeedsScalars for more lanes than a vector can have.
        """
        if self.lanes > tir.MAX_LANES:
            raise NeedsScalars
        return tir.with_lanes(element, self.lanes, scalable=self.scalable)


SCALAR = Width(1)


def common_width(trees: Iterable[Expr]) -> Width:
    """The width to which trees are brought: the largest.

    Raises NeedsScalars where some are scalable and others are fixed vectors.
    """
    widths = {Width.of(tree.dtype) for tree in trees} - {SCALAR}
    if len({width.scalable for width in widths}) > 1:
        raise NeedsScalars
    return max(widths, key=lambda width: width.lanes, default=SCALAR)


def broadcast(tree: Expr, width: Width) -> Expr:
    """The tree with so many lanes.

    Raises NeedsScalars for a vector of other lanes, unless all its lanes are equal.
    """
    if Width.of(tree.dtype) == width:
        return tree
    if isinstance(tree, Broadcast):
        tree = tree.value
    if width == SCALAR or not tir.is_scalar(tree.dtype):
        raise NeedsScalars
    return Broadcast(width.vector(tree.dtype), tree)


def widened(node: Expr, operands: Sequence[Expr], analyzer: Analyzer) -> Expr:
    """What `node` computes in all lanes, of operands of which one at least is a vector.

    Raises NeedsScalars where that takes scalars, and PassFailedException for vectors that
    would have more lanes than any can.
    """
    match node:
        case Add() | Sub():
            return _sum(type(node), *operands)
        case Mul():
            lhs, rhs = operands
            return _product(lhs, rhs, analyzer)
        case Binary():
            return type(node)(*_brought_together(operands))
        case Cmp():
            return Cmp(node.predicate, *_brought_together(operands))
        case Select():
            return Select(*_brought_together(operands))
        case Not():
            return Not(*operands)
        case Cast():
            (value,) = operands
            return smart.cast(tir.like_lanes(node.dtype, value.dtype), value)
        case Ramp():
            base, stride = operands
            return _ramp(node, base, stride, analyzer)
        case Call(name="reinterpret"):
            return _reinterpreted(node, *operands)
        case Call() if _is_vectorizable(node):
            together = _brought_together(operands)
            return Call(
                node.name, together, tir.like_lanes(node.dtype, together[0].dtype)
            )
        case _:
            raise NeedsScalars


def _brought_together(operands: Sequence[Expr]) -> list[Expr]:
    width = common_width(operands)
    return [broadcast(operand, width) for operand in operands]


def _is_vectorizable(node: Call) -> bool:
    known = tir.INTRINSICS[node.name]
    return known.vectorizable and not tir.is_scalable(node.dtype)


def _sum(kind: type[Add | Sub], lhs: Expr, rhs: Expr) -> Expr:
    combine = smart.add if kind is Add else smart.sub
    if isinstance(lhs, Ramp) and not tir.is_vector(rhs.dtype):
        return Ramp(lhs.dtype, combine(lhs.base, rhs), lhs.stride)
    if isinstance(rhs, Ramp) and not tir.is_vector(lhs.dtype):
        if kind is Add:
            return Ramp(rhs.dtype, combine(lhs, rhs.base), rhs.stride)
        if tir.is_int(rhs.dtype):
            zero = smart.const(0, rhs.stride.dtype)
            return Ramp(rhs.dtype, combine(lhs, rhs.base), smart.sub(zero, rhs.stride))
    return kind(*_brought_together((lhs, rhs)))


def _product(lhs: Expr, rhs: Expr, analyzer: Analyzer) -> Expr:
    for ramp, factor in ((lhs, rhs), (rhs, lhs)):
        if not isinstance(ramp, Ramp) or tir.is_vector(factor.dtype):
            continue
        if analyzer.can_prove(smart.gt(factor, 0)):
            base, stride = (smart.mul(part, factor) for part in (ramp.base, ramp.stride))
            return Ramp(ramp.dtype, base, stride)
    return Mul(*_brought_together((lhs, rhs)))


def _ramp(node: Ramp, base: Expr, stride: Expr, analyzer: Analyzer) -> Expr:
    """The ramps of all iterations, one after the other."""
    if any(tir.is_scalable(part.dtype) for part in (base, stride)):
        raise PassFailedException(
            f"a ramp of type {node.dtype} cannot start at or step by the lanes of a "
            "scalable vector; make the loop around it serial"
        )
    if tir.is_scalable(node.dtype):
        raise PassFailedException(
            f"a ramp of type {node.dtype} is scalable already and cannot be widened; "
            "make the loop around it serial"
        )
    lanes = tir.lanes_of(node.dtype)
    if isinstance(base, Ramp) and not tir.is_vector(stride.dtype):
        length = smart.mul(stride, smart.const(lanes, stride.dtype))
        if analyzer.can_prove_equal(base.stride, length):
            width = Width.of(base.dtype).times(lanes)
            return Ramp(width.vector(base.dtype), base.base, stride)
    raise NeedsScalars


def _reinterpreted(node: Call, value: Expr) -> Expr:
    """The bits of all iterations as elements of the result."""
    width = Width.of(value.dtype)
    bits = tir.bits_of_lane(value.dtype) * width.lanes
    lanes, rest = divmod(bits, tir.bits_of_lane(node.dtype))
    if rest or tir.is_handle(node.dtype):
        raise NeedsScalars
    return Call(node.name, (value,), Width(lanes, width.scalable).vector(node.dtype))


def scalar_lanes(tree: Expr) -> tuple[Expr, Expr] | None:
    """Base and limit of the lanes for which a condition `base + lane < limit` holds."""
    match tree:
        case Cmp(tir.CmpPredicate.LT, Ramp() as ramp, Broadcast() as limit):
            is_unit = isinstance(ramp.stride, Const) and ramp.stride.value == 1
            return (ramp.base, limit.value) if is_unit else None
        case _:
            return None
