"""The element-wise operators that follow a convolution, for passes that move them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from xdsl.dialects.builtin import f32
from xdsl.ir import Attribute, Operation, SSAValue

from xdsl_tvm.dialects import relax
from xdsl_tvm.dialects.relax.types import TensorInfo

FOLLOWERS = (relax.AddOp, relax.MultiplyOp, relax.ReluOp)
"""Those that may follow. Results are either operand of those that have two."""


@dataclass(frozen=True)
class Follower:
    """An element-wise operator on the results of an operation."""

    op: Operation
    others: tuple[SSAValue, ...]
    """Its operands but the results."""


def followers(op: Operation, accepts: Callable[[SSAValue], bool]) -> Iterator[Follower]:
    """The operators whose operand, in one block, is the result of the one before and has
    no other use, and of whose other operands each is accepted; results have one type."""
    value: SSAValue = op.results[0]
    while True:
        uses = tuple(value.uses)
        user = uses[0].operation if len(uses) == 1 else None
        if not isinstance(user, FOLLOWERS) or user.parent is not op.parent:
            return
        others = tuple(each for each in user.operands if each is not value)
        if user.result.type != value.type or not all(map(accepts, others)):
            return
        yield Follower(user, others)
        value = user.result


def known_shape(type_: Attribute) -> tuple[int, ...] | None:
    """The extents of a tensor of f32, if they are known."""
    info = TensorInfo.of(type_)
    if info is None or info.dtype != f32 or info.shape is None:
        return None
    values = [dim.value for dim in info.shape]
    known = tuple(value for value in values if value is not None)
    return known if len(known) == len(values) else None
