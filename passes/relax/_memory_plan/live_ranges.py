"""Lives of allocated tensors: which can be planned, and when each is used last.

A value that is memory of allocated tensors has a `Node`: a `Token` for the tensor
itself, which views share, or a `MemoryGroup` for a tuple and for what an external call
returns.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import TypeAlias

from xdsl.ir import Block, Operation, SSAValue

from xdsl_tvm.analysis.relax.live_ranges import VIEWS
from xdsl_tvm.dialects import relax

_NO_MEMORY = (relax.PrimType, relax.ShapeType)


@dataclass(eq=False)
class Node:
    """Memory that a value stands for, with the number of its uses yet to come."""

    block: int | None
    """The straight-line code that all uses must be in; None before the first use."""
    parts: tuple[Node | None, ...] = ()
    """What this keeps alive as long as it is used itself."""
    refs: int = 0
    escaped: bool = False
    """Whether a use is not known, so that the memory may live on."""


@dataclass(eq=False)
class Token(Node):
    """The memory of one allocated tensor."""

    alloc: relax.AllocTensorOp = field(kw_only=True)


@dataclass(eq=False)
class MemoryGroup(Node):
    """Several memories: a tuple's fields, or all that a call may have returned."""

    is_tuple: bool = True


@dataclass(frozen=True)
class Use:
    """One use of memory comes to its end."""

    node: Node


@dataclass(frozen=True)
class Leave:
    """A branch ends, and with it the visibility of the symbols defined there."""

    symbols: AbstractSet[str]


Event: TypeAlias = Token | Use | Leave
"""What matters of one operation, a token being its allocation."""


@dataclass(frozen=True)
class Begin:
    """A tensor that can be planned is allocated."""

    token: Token
    is_used: bool


@dataclass(frozen=True)
class End:
    """A tensor has been used for the last time."""

    token: Token


@dataclass(frozen=True)
class Result:
    """A tensor is allocated that the function returns, outside of branches."""

    token: Token


Step: TypeAlias = Begin | End | Leave | Result


def planned_lives(func: relax.FuncOp, relax_functions: AbstractSet[str]) -> list[Step]:
    """When the tensors of a function that can be planned begin and end their lives.

    They are in the order of execution, branches one after the other. A tensor without
    uses has no end, and a result none within the function. `relax_functions` are the
    symbols of the functions that may keep or return their arguments.
    """
    steps: list[Step] = []
    walk = _EventWalk(relax_functions)
    walk.visit_block(func.body.block)
    results = walk.results(func)
    for event in walk.events:
        match event:
            case Token():
                if not event.escaped:
                    steps.append(Begin(event, event.refs > 0))
                elif event in results:
                    steps.append(Result(event))
            case Use():
                steps += _ended(event.node)
            case Leave():
                steps.append(event)
    return steps


def _ended(first: Node) -> Iterator[End]:
    """The tensors that are not used any more once a use of a node is over."""
    pending: list[Node | None] = [first]
    while pending:
        node = pending.pop()
        if node is None or node.escaped:
            continue
        node.refs -= 1
        if node.refs:
            continue
        if isinstance(node, Token):
            yield End(node)
        pending += reversed(node.parts)


class _EventWalk:
    def __init__(self, relax_functions: AbstractSet[str]) -> None:
        self.events: list[Event] = []
        """In the order of execution, uses counted in the nodes; those of nodes that have
        escaped are to be skipped."""
        self._relax_functions = relax_functions
        self._nodes: dict[SSAValue, Node] = {}
        self._blocks = 0
        self._block = 0
        self._defined = set[str]()

    def results(self, func: relax.FuncOp) -> set[Token]:
        """The tensors that the function returns and allocates in its own block."""
        found = set[Token]()
        pending = [self._nodes.get(func.return_op.value)]
        while pending:
            node = pending.pop()
            if isinstance(node, Token) and node.alloc.parent is func.body.block:
                found.add(node)
            elif isinstance(node, MemoryGroup) and node.is_tuple:
                pending += node.parts
        return found

    # ---- operations ----

    def visit_block(self, block: Block) -> None:
        for op in block.ops:
            self._visit(op)

    def _visit(self, op: Operation) -> None:
        match op:
            case relax.AllocTensorOp():
                token = Token(self._block, alloc=op)
                self._nodes[op.result] = token
                self.events.append(token)
            case _ if isinstance(op, VIEWS):
                self._share(op.results[0], op.operands[0])
                if isinstance(op, relax.MatchCastOp):
                    self._defined.update(op.defined_symbols)
            case relax.TupleOp():
                self._group(op.result, op.elements, True)
            case relax.GetItemOp():
                self._get_item(op)
            case relax.IfOp():
                self._visit_if(op)
            case relax.DataflowOp():
                self._visit_dataflow(op)
            case relax.OutputOp() | relax.KillTensorOp() | relax.VMKillObjectOp():
                # Neither reads memory: the end of a life drops a name.
                pass
            case relax.VMCallTIRDynOp():
                self._use_all(op.arguments)
            case relax.CallOp() if self._is_external(op):
                self._visit_external(op)
            case relax.CallPackedOp():
                self._visit_external(op)
            case _:
                self._visit_unknown(op)

    def _is_external(self, call: relax.CallOp) -> bool:
        return call.callee.string_value() not in self._relax_functions

    def _visit_external(self, op: relax.CallOp | relax.CallPackedOp) -> None:
        """What the call returns may be a view of any of its arguments."""
        self._use_all(op.arguments)
        if op.result is not None and not isinstance(op.result.type, _NO_MEMORY):
            self._group(op.result, op.arguments, False)

    def _get_item(self, op: relax.GetItemOp) -> None:
        node = self._nodes.get(op.tuple_value)
        if isinstance(node, MemoryGroup) and node.is_tuple:
            node = node.parts[op.index.value.data]
        if node is not None:
            self._nodes[op.result] = node

    def _visit_if(self, op: relax.IfOp) -> None:
        self._escape(self._nodes.get(op.condition))
        outer, defined = self._block, self._defined
        for region in op.regions:
            self._enter_block()
            self._defined = set[str]()
            self.visit_block(region.block)
            if self._defined:
                self.events.append(Leave(self._defined))
        self._block, self._defined = outer, defined

    def _visit_dataflow(self, op: relax.DataflowOp) -> None:
        self._enter_block()
        self.visit_block(op.body.block)
        for value, result in zip(op.output_op.values, op.outputs, strict=True):
            self._share(result, value)
        # What follows is another block of bindings.
        self._enter_block()

    def _visit_unknown(self, op: Operation) -> None:
        """Nothing is known of the use, nor of when regions of the operation run."""
        for inner in op.walk():
            for operand in inner.operands:
                self._escape(self._nodes.get(operand))

    def _enter_block(self) -> None:
        self._blocks += 1
        self._block = self._blocks

    # ---- values ----

    def _share(self, result: SSAValue, value: SSAValue) -> None:
        if (node := self._nodes.get(value)) is not None:
            self._nodes[result] = node

    def _group(
        self, result: SSAValue, values: Iterable[SSAValue], is_tuple: bool
    ) -> None:
        parts = tuple(map(self._nodes.get, values))
        if any(part is not None for part in parts):
            self._nodes[result] = MemoryGroup(None, parts, is_tuple=is_tuple)

    # ---- uses ----

    def _use_all(self, values: Iterable[SSAValue]) -> None:
        for value in values:
            if (node := self._nodes.get(value)) is not None and self._acquire(node):
                self.events.append(Use(node))

    def _acquire(self, first: Node) -> bool:
        """Count a use here; False if the node escapes."""
        pending: list[Node | None] = [first]
        while pending:
            node = pending.pop()
            if node is None or node.escaped:
                continue
            if node.block is None:
                node.block = self._block
            if node.block != self._block:
                self._escape(node)
                continue
            node.refs += 1
            if node.refs == 1:
                pending += node.parts
        return not first.escaped

    def _escape(self, first: Node | None) -> None:
        pending = [first]
        while pending:
            node = pending.pop()
            if node is not None and not node.escaped:
                node.escaped = True
                pending += node.parts
