"""The bindings of dataflow blocks in another order."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.traits import is_side_effect_free

from xdsl_tvm.analysis.all_ops import all_ops
from xdsl_tvm.dialects import relax
from xdsl_tvm.dialects.relax.types import symbols_in
from xdsl_tvm.passes.infra import CompilerPass
from xdsl_tvm.passes.relax.rewriting.insertion import by_function
from xdsl_tvm.passes.relax.rewriting.symbols import symbols_of_casts

_Node: TypeAlias = Operation | SSAValue
ORDERS = ("depth-first", "breadth-first")
DIRECTIONS = ("from-inputs", "from-outputs")


@dataclass(frozen=True)
class TopologicalSort(CompilerPass):
    """Summary: Sorts the bindings of dataflow blocks.

    TVM name: relax.TopologicalSort (v0.20)
    Input form: any
    Output form: the same
    Options: `order`: "depth-first" or "breadth-first" ("depth-first"); `direction`:
        "from-inputs" or "from-outputs" ("from-inputs")
    Rewrites: before

            %a = relax.nn.relu %x : ...
            %b = relax.nn.relu %y : ...
            %c = relax.exp %a : ...
            %d = relax.exp %b : ...
            relax.output %c, %d : ...

        after, depth-first from inputs

            %a = relax.nn.relu %x : ...
            %c = relax.exp %a : ...
            %b = relax.nn.relu %y : ...
            %d = relax.exp %b : ...
            relax.output %c, %d : ...

        From inputs, a list starts with the values from outside, arguments of functions
        first, and the bindings without operands. A binding is written once all that it
        needs is; then its users come to the front of the list (depth-first) or to its
        end. From outputs, the list starts with what the block gives and with what nothing
        uses, users take the place of operands, and the result is turned around. What is
        found at once keeps its order, but is turned around with the rest breadth-first
        from outputs. Time is linear in the size of the module.
    Leaves alone: bindings outside of dataflow blocks; blocks in operations that a
        dataflow block holds; functions of other dialects
    Errors: none; another `order` or `direction` is a ValueError when the pass is made
    Attributes: read: none; created: none; removed: none
    Differs from TVM: operations that see memory which one of them writes, and operations
        with effects, stay in order among themselves. A binding that uses a symbol stays
        after the cast that defines it.
    """

    name = "relax-topological-sort"

    order: str = "depth-first"
    direction: str = "from-inputs"

    def __post_init__(self) -> None:
        for option, value, allowed in (
            ("order", self.order, ORDERS),
            ("direction", self.direction, DIRECTIONS),
        ):
            if value not in allowed:
                raise ValueError(
                    f"{self.name}: {option} must be one of {', '.join(allowed)}, "
                    f"not {value}"
                )

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for blocks, written in by_function(op, relax.DataflowOp):
            for dataflow in blocks:
                self._sort(dataflow, written)

    def _sort(self, dataflow: relax.DataflowOp, written: set[SSAValue]) -> None:
        graph = _Graph(dataflow, written)
        block, output = dataflow.body.block, dataflow.output_op
        depth_first = self.order == "depth-first"
        if self.direction == "from-inputs":
            nodes = _walk(graph.starts(), graph.needs, graph.users, depth_first)
        else:
            ends, needs = graph.ends(), graph.needs
            if not depth_first:
                # What is found at once comes out turned around, as in TVM.
                ends = [output, *(op for op in reversed(ends) if op is not output)]
                needs = {node: others[::-1] for node, others in needs.items()}
            nodes = _walk(ends, graph.users, needs, depth_first)
            nodes.reverse()
        order = [n for n in nodes if isinstance(n, Operation) and n is not output]
        for op in order:
            op.detach()
        block.insert_ops_before(order, output)


def _walk(
    starts: Iterable[_Node],
    before: dict[_Node, list[_Node]],
    after: dict[_Node, list[_Node]],
    depth_first: bool,
) -> list[_Node]:
    """All nodes, each after those that stand `before` it."""
    waiting = {node: len(needed) for node, needed in before.items()}
    todo, order = deque(starts), list[_Node]()
    while todo:
        node = todo.popleft()
        if waiting[node]:
            continue
        waiting[node] = -1
        order.append(node)
        for each in after[node]:
            waiting[each] -= 1
        if depth_first:
            todo.extendleft(reversed(after[node]))
        else:
            todo.extend(after[node])
    return order


@dataclass
class _Graph:
    """What the operations of a block, its outputs included, wait for."""

    dataflow: relax.DataflowOp
    written: set[SSAValue]
    needs: dict[_Node, list[_Node]] = field(default_factory=dict[_Node, list[_Node]])
    """Operations from the last one to the first, so that the order turned around is that
    of the block."""
    users: dict[_Node, list[_Node]] = field(default_factory=dict[_Node, list[_Node]])
    """In the order of the block."""
    inputs: dict[SSAValue, None] = field(default_factory=dict[SSAValue, None])
    """Values from outside: parameters of the function, and then the others."""

    def __post_init__(self) -> None:
        self.inputs.update(dict.fromkeys(_parameters(self.dataflow)))
        self.ops = list(self.dataflow.body.block.ops)
        positions = {op: index for index, op in enumerate(self.ops)}
        for value in self.inputs:
            self.needs[value], self.users[value] = [], []
        defined: dict[str, Operation] = {}
        last: Operation | None = None
        for op in self.ops:
            needed = {o for v in _free_values(op) if (o := v.owner) in positions}
            needed |= {defined[name] for name in _symbols(op) if name in defined}
            if self._is_ordered(op):
                needed |= set() if last is None else {last}
                last = op
            defined.update((name, op) for name in symbols_of_casts(op))
            ops = [each for each in needed if isinstance(each, Operation)]
            ops.sort(key=lambda each: positions[each], reverse=True)
            self._add(op, ops, positions)

    def _add(
        self, op: Operation, needed: list[Operation], positions: dict[Operation, int]
    ) -> None:
        outside = [v for v in dict.fromkeys(_free_values(op)) if v.owner not in positions]
        for value in outside:
            if value not in self.inputs:
                self.inputs[value] = None
                self.needs[value], self.users[value] = [], []
        self.users[op] = []
        self.needs[op] = [*needed, *outside]
        for other in self.needs[op]:
            self.users[other].append(op)

    def _is_ordered(self, op: Operation) -> bool:
        """Whether an operation may see what another one does, or the other way."""
        if op is self.ops[-1]:
            return False
        if any(v in self.written for v in (*_free_values(op), *op.results)):
            return True
        if isinstance(op, relax.MatchCastOp):
            return False
        return not op.name.startswith("relax.") and not is_side_effect_free(op)

    def starts(self) -> list[_Node]:
        """Values from outside, and what needs nothing."""
        return [*self.inputs, *(op for op in self.ops if not self.needs[op])]

    def ends(self) -> list[_Node]:
        """What the block gives, and what nothing uses; the last one first."""
        return [op for op in reversed(self.ops) if not self.users[op]]


def _parameters(dataflow: relax.DataflowOp) -> Sequence[SSAValue]:
    func = dataflow.parent_op()
    while func is not None and not isinstance(func, relax.FuncOp):
        func = func.parent_op()
    return () if func is None else func.args


def _free_values(op: Operation) -> Sequence[SSAValue]:
    """The operands of an operation, and what the blocks that it holds use."""
    if not op.regions:
        return op.operands
    return [value for inner in all_ops(op) for value in inner.operands]


def _symbols(op: Operation) -> Iterator[str]:
    for inner in op.walk():
        yield from symbols_in(inner)
