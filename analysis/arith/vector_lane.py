"""One lane of a vector expression, as a scalar expression."""

from __future__ import annotations

from collections.abc import Callable

from xdsl.ir import Attribute

from xdsl_tvm.analysis.arith import smart
from xdsl_tvm.analysis.arith.expr import (
    Binary,
    Broadcast,
    Cast,
    Const,
    Expr,
    Ramp,
    Select,
    fold,
)
from xdsl_tvm.dialects import tir


def of_lane(root: Expr, lane: Callable[[Attribute], Expr]) -> Expr | None:
    """A lane of a vector of a fixed number of lanes.

    `lane` returns the number of the lane in a dtype. None where the vector is made of
    parts other than ramps, broadcasts, constants and arithmetic lane by lane.
    """

    def scalar(node: Expr, operands: list[Expr | None]) -> Expr | None:
        if tir.is_scalar(node.dtype):
            return node
        parts = [each for each in operands if each is not None]
        if len(parts) < len(operands):
            return None
        match node:
            case Broadcast():
                return parts[0]
            case Ramp():
                base, stride = parts
                return smart.add(base, smart.mul(stride, lane(base.dtype)))
            case Const():
                return Const(node.value, tir.element_of(node.dtype))
            case Cast():
                return smart.cast(tir.element_of(node.dtype), parts[0])
            case Binary():
                return type(node)(*parts)
            case Select():
                return Select(*parts)
            case _:
                return None

    return fold(root, scalar)
