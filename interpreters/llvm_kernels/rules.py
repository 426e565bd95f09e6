"""The tables of what operations with effects do, by class of operation.

An action is a function of the team, the mask of threads and the arrays of the operands.
A synchronization point says who meets and what they do once they have met.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias, TypeVar

from xdsl.ir import Operation

from xdsl_tvm.interpreters.llvm_kernels.copies import Copies
from xdsl_tvm.interpreters.llvm_kernels.layouts import Array, Mask, Value
from xdsl_tvm.interpreters.llvm_kernels.memory import Spaces


class TeamState(Protocol):
    """What operations see of the threads that run together."""

    values: list[Value]
    count: int
    """Threads."""
    lane: Array
    """The number in its warp, of each thread."""
    warp_start: Array
    """The thread that is lane 0 of the warp of each thread."""
    spaces: Spaces
    copies: Copies
    barriers: Any
    """The counting barriers (`counting.PhaseBarriers`)."""
    products: Any
    """The products of warpgroups in flight (`products.PendingProducts`)."""

    def jump(self, target: int, mask: Mask) -> None:
        """Send threads to a segment."""
        ...

    def register(self, name: str) -> Array:
        """A special register, such as `tid.x`."""
        ...

    def forget_local(self, start: int, size: int, mask: Mask) -> None:
        """Local memory is allocated anew."""
        ...

    def lanes_of(self, mask: Mask) -> Array:
        """The bits of the lanes of a mask that are in the warp of each thread."""
        ...


Action: TypeAlias = Callable[..., Value]
"""Of the team, the mask and the values of the operands."""
SimpleAction: TypeAlias = "Callable[[TeamState, Mask], Value]"
"""An action without operands."""
_OpT = TypeVar("_OpT", bound=Operation)


@dataclass(frozen=True, eq=False)
class Sync:
    """A synchronization point.

    `scope` is `block`, all threads of the block; `lanes`, those of the mask that is
    operand number `mask`; `warp`, all lanes of a warp; `count`, each thread by itself
    once `ready` says so.
    """

    op: Operation
    scope: str
    action: Action
    mask: int = 0
    ready: Callable[..., Array] | None = None


ACTIONS: dict[type[Operation], Callable[[Any], Action]] = {}
SYNCS: dict[type[Operation], Callable[[Any], Sync]] = {}
ACTION_INTRINSICS: dict[str, Callable[[Any], Action]] = {}
SYNC_INTRINSICS: dict[str, Callable[[Any], Sync]] = {}


def action(
    *classes: type[_OpT],
) -> Callable[[Callable[[_OpT], Action]], Callable[[_OpT], Action]]:
    """Registers the rule of operations that threads execute without meeting."""

    def register(rule: Callable[[_OpT], Action]) -> Callable[[_OpT], Action]:
        for operation in classes:
            ACTIONS[operation] = rule
        return rule

    return register


def sync(
    *classes: type[_OpT],
) -> Callable[[Callable[[_OpT], Sync]], Callable[[_OpT], Sync]]:
    """Registers the rule of operations at which threads meet."""

    def register(rule: Callable[[_OpT], Sync]) -> Callable[[_OpT], Sync]:
        for operation in classes:
            SYNCS[operation] = rule
        return rule

    return register
