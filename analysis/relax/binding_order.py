"""Which operations of a block of bindings must be before which others.

An operation is after those whose results it uses and those that define symbols which it
uses. One that may write memory, or has effects that are not known, keeps its place among
all others.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeVar

from xdsl.ir import Block, Operation, SSAValue
from xdsl.traits import is_side_effect_free

from xdsl_tvm.analysis.all_ops import all_ops
from xdsl_tvm.analysis.relax.memory_sharing import Writers, written_operands
from xdsl_tvm.dialects import relax
from xdsl_tvm.dialects.relax.types import symbols_in

_Item = TypeVar("_Item")


class BindingOrder:
    """The operations of a block, with their places, and what each must be after.

    The terminator is none of them. Linear in the size of the block.
    """

    def __init__(self, block: Block, writers: Writers) -> None:
        self.ops = [op for op in block.ops if op is not block.last_op]
        self.places = {op: place for place, op in enumerate(self.ops)}
        self.needs: dict[Operation, list[Operation]] = {}
        """For each operation, those of the block that must be before it."""
        self.fences = set[Operation]()
        """Operations that keep their place among all others."""
        definitions: dict[str, Operation] = {}
        fence, since_fence = None, list[Operation]()
        for op in self.ops:
            needed = dict.fromkeys(self.sources(op))
            for inner in op.walk():
                needed.update(
                    (definitions[name], None)
                    for name in symbols_in(inner)
                    if name in definitions
                )
                if isinstance(inner, relax.MatchCastOp):
                    definitions.update((name, op) for name in inner.defined_symbols)
            if fence is not None:
                needed[fence] = None
            if _keeps_its_place(op, writers):
                self.fences.add(op)
                needed.update(dict.fromkeys(since_fence))
                fence, since_fence = op, []
            else:
                since_fence.append(op)
            needed.pop(op, None)
            self.needs[op] = list(needed)

    def sources(self, op: Operation) -> Iterable[Operation]:
        """The operations of the block whose results an operation uses."""
        values = (value for inner in all_ops(op) for value in inner.operands)
        return (o for v in values if (o := self._owner(v)) is not None)

    def _owner(self, value: SSAValue) -> Operation | None:
        owner = value.owner
        return owner if isinstance(owner, Operation) and owner in self.places else None


def _keeps_its_place(op: Operation, writers: Writers) -> bool:
    if any(written_operands(inner, writers) for inner in all_ops(op)):
        return True
    return not op.name.startswith("relax.") and not is_side_effect_free(op)


def stable_order(
    items: Sequence[_Item],
    needs: Callable[[_Item], Iterable[_Item]],
    place: Mapping[_Item, int],
) -> list[_Item] | None:
    """The items, each after those that it needs, else in the order of their places.

    None where some need each other. `needs` gives some of the items, repeated or not.
    """
    waiting = {item: set(needs(item)) for item in items}
    users: dict[_Item, list[_Item]] = {item: [] for item in items}
    for item, needed in waiting.items():
        for other in needed:
            users[other].append(item)
    left = {item: len(needed) for item, needed in waiting.items()}
    numbers = {item: number for number, item in enumerate(items)}
    ready = [(place[item], numbers[item]) for item in items if not left[item]]
    heapq.heapify(ready)
    order = list[_Item]()
    while ready:
        item = items[heapq.heappop(ready)[1]]
        order.append(item)
        for user in users[item]:
            left[user] -= 1
            if not left[user]:
                heapq.heappush(ready, (place[user], numbers[user]))
    return order if len(order) == len(items) else None
