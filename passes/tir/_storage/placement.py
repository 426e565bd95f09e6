"""Where allocations go: to the start of what they belong to, with their extents."""

from __future__ import annotations

from collections.abc import Iterable

from xdsl.ir import Block, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.utils.exceptions import PassFailedException

from xdsl_tvm.analysis.tir.side_effect import own_effect
from xdsl_tvm.dialects import tir
from xdsl_tvm.dialects.by_class import of_classes
from xdsl_tvm.passes.tir.rewriting.statements import can_speculate, describe

_is_allocation = of_classes(tir.AllocateOp)
_DECLARATIONS = (
    tir.AllocateConstOp,
    tir.AssertOp,
    tir.DataOp,
    tir.DeclBufferOp,
    tir.LetOp,
    tir.MatchBufferOp,
    tir.ShapeVarOp,
)
_MAX_DEPTH = 64
"""How deep the expression of an extent may be that is computed elsewhere."""


class Placement:
    """The places at which the allocations of a function go."""

    def __init__(self, func: tir.FuncOp) -> None:
        self._func = func
        self._attach: dict[Operation, Operation] = {}
        self._copies: dict[tuple[Operation, SSAValue], SSAValue] = {}
        self._marks: dict[Operation, Operation] = {}
        self._entry: set[Operation] = set()
        self._find_entry()
        self._assign()

    def _find_entry(self) -> None:
        """The ops at the start of the function that allocations go after."""
        for op in self._func.body.block.ops:
            plain = not op.regions and own_effect(op) <= tir.CallEffect.READ_STATE
            if not isinstance(op, _DECLARATIONS) and not plain:
                return
            if isinstance(op, tir.AllocateOp):
                return
            self._entry.add(op)

    def _assign(self) -> None:
        """Find what each op with a block belongs to."""
        stack: list[tuple[Operation, Operation]] = [(self._func, self._func)]
        while stack:
            op, owner = stack.pop()
            if _is_allocation(op):
                self._attach[op] = owner
            inner = self._opened(op, owner) if op.regions else owner
            for region in op.regions:
                for block in region.blocks:
                    stack += [(each, inner) for each in block.ops]

    def _opened(self, op: Operation, owner: Operation) -> Operation:
        match op:
            case tir.LaunchThreadOp() if op.virtual is not None:
                if owner is not self._func:
                    raise _nested(op, owner)
                return op
            case tir.LaunchThreadOp():
                return self._thread(op, owner)
            case tir.ForOp() if op.thread_tag is not None:
                return self._thread(op, owner)
            case tir.ForOp() if op.kind.data is tir.ForKind.PARALLEL:
                return op
            case _:
                return owner

    def _thread(self, op: Operation, owner: Operation) -> Operation:
        if owner is self._func:
            return op
        if isinstance(owner, tir.ForOp) and owner.thread_tag is None:
            around = self._around(owner)
            if around is None:
                raise _nested(op, owner)
            return owner
        if isinstance(owner, tir.LaunchThreadOp) and owner.virtual is not None:
            raise _nested(op, owner)
        return owner

    def _around(self, loop: Operation) -> Operation | None:
        """A launch around a parallel loop."""
        parent = loop.parent_op()
        while parent is not None and parent is not self._func:
            if isinstance(parent, tir.LaunchThreadOp):
                return parent
            if isinstance(parent, tir.ForOp) and parent.thread_tag is not None:
                return parent
            parent = parent.parent_op()
        return None

    def attach_of(self, memory: Operation) -> Operation:
        """The function, launch or loop at whose start an allocation goes."""
        return self._attach[memory]

    def can_move(self, memory: tir.AllocateOp) -> bool:
        """Whether extents and condition of an allocation can be computed there."""
        attach = self._attach[memory]
        return all(self._is_available(each, attach, 0) for each in memory.operands)

    def can_compute(self, values: Iterable[SSAValue], attach: Operation) -> bool:
        """Whether values can be computed where allocations of `attach` go."""
        return all(self._is_available(each, attach, 0) for each in values)

    def can_move_buffer(self, buffer: tir.DeclBufferOp, attach: Operation) -> bool:
        """Whether the numbers of a buffer can be computed where memory goes."""
        return all(self._is_available(each, attach, 0) for each in buffer.operands[1:])

    def _is_available(self, value: SSAValue, attach: Operation, depth: int) -> bool:
        if self._is_before(value, attach):
            return True
        op = value.owner
        if isinstance(op, Block) or depth > _MAX_DEPTH:
            return False
        if isinstance(op, tir.LetOp):
            return self._is_available(op.value, attach, depth + 1)
        if op.regions or own_effect(op) > tir.CallEffect.PURE or not can_speculate(op):
            return False
        return all(self._is_available(each, attach, depth + 1) for each in op.operands)

    def _is_before(self, value: SSAValue, attach: Operation) -> bool:
        """Whether a value is defined where allocations of `attach` go."""
        owner = value.owner
        if isinstance(owner, Block):
            around = owner.parent_op()
            return around is not None and around.is_ancestor(attach)
        if owner in self._entry:
            return True
        block = owner.parent
        around = None if block is None else block.parent_op()
        return around is not None and around is not attach and around.is_ancestor(attach)

    # ---- insertion ----

    def mark(self, attach: Operation) -> Operation:
        """An op before which allocations of `attach` go, until `finish`."""
        found = self._marks.get(attach)
        if found is None:
            found = self._marks[attach] = tir.EvaluateOp()
            block = attach.regions[0].block
            ops = (op for op in block.ops if op not in self._entry)
            following = next(ops, None)
            if following is None:
                block.add_op(found)
            else:
                Rewriter.insert_op(found, InsertPoint.before(following))
        return found

    def value(self, value: SSAValue, attach: Operation) -> SSAValue:
        """A value where allocations of `attach` go, computed there if need be."""
        if self._is_before(value, attach):
            return value
        op = value.owner
        assert isinstance(op, Operation), "the value is available"
        if isinstance(op, tir.LetOp):
            return self.value(op.value, attach)
        found = self._copies.get((attach, value))
        if found is None:
            operands = {each: self.value(each, attach) for each in op.operands}
            copy = op.clone(operands)
            Rewriter.insert_op(copy, InsertPoint.before(self.mark(attach)))
            for old, new in zip(op.results, copy.results, strict=True):
                new.name_hint = old.name_hint
                self._copies[attach, old] = new
            found = self._copies[attach, value]
        return found

    def finish(self) -> None:
        """Remove what marks the places."""
        for op in self._marks.values():
            Rewriter.erase_op(op)
        self._marks.clear()


def _nested(op: Operation, owner: Operation) -> PassFailedException:
    around = "a parallel loop" if isinstance(owner, tir.ForOp) else "other threads"
    what = "virtual threads" if isinstance(op, tir.LaunchThreadOp) and op.virtual else ""
    return PassFailedException(
        f"{describe(op)}: {what or 'threads'} in {around} cannot have memory placed at "
        "their start; run tir-inject-virtual-thread first, or launch threads outermost"
    )
