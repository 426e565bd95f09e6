"""Groups of bindings of one block, each of which can run as one operation.

A group runs where its last member is. So nothing that a member needs may come of another
member through a binding outside of the group, and no write of memory may be between.
Bindings that write memory are in no group.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from xdsl.ir import Block, Operation, SSAValue

from xdsl_tvm.analysis.all_ops import all_ops
from xdsl_tvm.analysis.relax.binding_order import BindingOrder, stable_order
from xdsl_tvm.analysis.relax.memory_sharing import Writers
from xdsl_tvm.dialects import relax


class Group:
    """Bindings that become one, and what they are called."""

    def __init__(self, members: Iterable[Operation], label: str) -> None:
        self.members = frozenset(members)
        self.label = label
        """What kind of group it is: the name of a pattern, or of a code generator."""


class Partition:
    """The groups of a block."""

    def __init__(self, block: Block, writers: Writers) -> None:
        self._block = block
        self._order = BindingOrder(block, writers)
        self._group: dict[Operation, Group] = {}

    @property
    def ops(self) -> Sequence[Operation]:
        """The bindings of the block, in order."""
        return self._order.ops

    def group_of(self, op: Operation) -> Group | None:
        """The group that a binding is in."""
        return self._group.get(op)

    def holds(self, op: Operation) -> bool:
        """Whether an operation is a binding of the block."""
        return op in self._order.places

    def in_order(self, members: Iterable[Operation]) -> list[Operation]:
        """Bindings in the order of the block."""
        return sorted(members, key=self._order.places.__getitem__)

    def add(self, group: Group) -> bool:
        """Make a group, in the place of groups that it holds; False if it cannot run.

        Time is linear in what is between the first and the last member.
        """
        members = group.members
        if not members.isdisjoint(self._order.fences) or not self._is_runnable(members):
            return False
        self._group.update((op, group) for op in members)
        return True

    def _is_runnable(self, members: frozenset[Operation]) -> bool:
        places = self._order.places
        first = min(places[op] for op in members)
        pending = [o for op in members for o in self._order.needs[op] if o not in members]
        seen = set[Operation]()
        while pending:
            op = pending.pop()
            if op in members:
                return False
            if op in seen:
                continue
            around = self._group.get(op)
            is_other = around is not None and not around.members <= members
            together = around.members if around is not None and is_other else {op}
            seen |= together
            # What is before all members needs none of them.
            if max(places[each] for each in together) >= first:
                needed = (n for each in together for n in self._order.needs[each])
                pending += (each for each in needed if each not in together)
        return True

    def groups(self) -> Iterator[tuple[Group, list[Operation]]]:
        """The groups with their members in order, in the order of the last members."""
        found = [(g, self.in_order(g.members)) for g in set(self._group.values())]
        yield from sorted(found, key=lambda each: self._order.places[each[1][-1]])

    def settle(self) -> None:
        """Put the members of each group next to each other, with their users after them.

        What is outside of groups keeps its order, as far as it can.
        """
        nodes: dict[Operation | Group, int] = {}
        for op in self.ops:
            node = self._node(op)
            nodes[node] = max(self._order.places[op], nodes.get(node, 0))
        needs: dict[Operation | Group, list[Operation | Group]] = {n: [] for n in nodes}
        for op in self.ops:
            node = self._node(op)
            found = map(self._node, self._order.needs[op])
            needs[node] += (other for other in found if other is not node)
        order = stable_order(list(nodes), needs.__getitem__, nodes)
        assert order is not None, "groups are added only where they can run"
        ops = list[Operation]()
        for node in order:
            ops += self.in_order(node.members if isinstance(node, Group) else (node,))
        if ops == list(self.ops):
            return
        last = self._block.last_op
        assert last is not None, "a block ends with a terminator"
        for op in ops:
            op.detach()
        self._block.insert_ops_before(ops, last)

    def _node(self, op: Operation) -> Operation | Group:
        return self._group.get(op, op)


def outputs_of(members: Sequence[Operation]) -> list[SSAValue]:
    """The results of bindings that something else uses."""
    inside = set(members)
    return [
        result
        for op in members
        for result in op.results
        if any(not _is_inside(use.operation, inside) for use in result.uses)
    ]


def _is_inside(op: Operation | None, members: set[Operation]) -> bool:
    while op is not None:
        if op in members:
            return True
        op = op.parent_op()
    return False


def dataflow_blocks(func: relax.FuncOp) -> list[Block]:
    """The dataflow blocks of a function, in the order of the text."""
    return [op.body.block for op in all_ops(func) if isinstance(op, relax.DataflowOp)]
