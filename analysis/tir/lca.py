"""The lowest common ancestors of accesses: where what several ops share may live.

    found = buffer_access_lca(func)
    place = found[buffer]          # a tir.for, a tir.block, or the function itself

`CommonAncestors` is the core: it takes any ops for places and anything hashable for what
is found there, along one walk in the order of the text. See
docs/spec/tir-passes-a-blocks-and-buffers.md §0.4; TVM name `DetectBufferAccessLCA`. The
algorithm is that of Tarjan (1979) for lowest common ancestors, which takes close to
constant time per access.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from typing import Generic, TypeAlias, TypeVar

from xdsl.ir import Operation, SSAValue

from xdsl_tvm.analysis.arith.expr import Expr, leaf_values, view
from xdsl_tvm.analysis.tir.access_regions import get_block_access_region
from xdsl_tvm.dialects import tir
from xdsl_tvm.dialects.by_class import of_classes
from xdsl_tvm.dialects.tir import StorageRank

Key = TypeVar("Key", bound=Hashable)
"""What is looked for: buffers, thread tags, …"""


class CommonAncestors(Generic[Key]):
    """The innermost of nested places that holds all there is of each key.

    A walk enters and leaves places in the order of the text, and touches keys at places
    that are open. The root is open from the start to the end.
    """

    def __init__(self, root: Operation) -> None:
        self._places = [root]
        self._around = [0]
        """For each place the one it is in, by number; the root is in itself."""
        self._open = [0]
        """For each place one around it, or itself, that is closer to those open."""
        self._path = [0]
        self._number = {root: 0}
        self._found: dict[Key, int] = {}

    @property
    def innermost(self) -> Operation:
        """The innermost place that is open."""
        return self._places[self._path[-1]]

    def enter(self, place: Operation) -> None:
        """Open a place in the innermost open one."""
        number = len(self._places)
        self._number[place] = number
        self._places.append(place)
        self._around.append(self._path[-1])
        self._open.append(number)
        self._path.append(number)

    def leave(self) -> None:
        """Close the innermost open place."""
        number = self._path.pop()
        self._open[number] = self._path[-1]

    def touch(self, key: Key, place: Operation | None = None) -> None:
        """Find a key in a place that is open, without one in the innermost."""
        here = self._path[-1] if place is None else self._number[place]
        old = self._found.get(key)
        # Of places that are open, the outer one has the lower number.
        self._found[key] = here if old is None else min(here, self._closest_open(old))

    def outer(self, first: Operation, second: Operation) -> Operation:
        """The outer one of two places that are open."""
        return min(first, second, key=self._number.__getitem__)

    def join(self, keys: Iterable[Key], other: Key) -> None:
        """Let each of the keys be also wherever `other` is; linear for all together."""
        if other not in self._found:
            return
        path = {number := self._found[other]}
        while number:
            path.add(number := self._around[number])
        meets: list[int] = []
        for number, around in enumerate(self._around):
            meets.append(number if number in path else meets[around])
        for key in keys:
            if key in self._found:
                self._found[key] = meets[self._found[key]]

    def __contains__(self, key: Key) -> bool:
        return key in self._found

    def __getitem__(self, key: Key) -> Operation:
        return self._places[self._found[key]]

    def __iter__(self) -> Iterator[Key]:
        return iter(self._found)

    def _closest_open(self, number: int) -> int:
        links = self._open
        while links[number] != number:
            links[number] = links[links[number]]
            number = links[number]
        return number


def buffer_access_lca(func: Operation) -> dict[SSAValue, Operation]:
    """For each buffer, the innermost loop or block with all accesses, or else `func`.

    Buffers are in the order of their first access; those that nothing accesses, and views
    of regions, are not there. An access is whatever uses a buffer or its pointer, but not
    what `tir.reads` and `tir.writes` declare; a `tir.data` counts where its pointer is
    used. Bounds of a loop are computed before it and so are the bindings of a block.

    Where iteration variables of a block say that its instances depend on each other, what
    it writes is accessed outside of the loops that these are bound to; if they are no
    reductions, so is what it reads in a region that moves along. Buffers in global memory
    are outside of all that `blockIdx` is launched in, or just in the loop bound to it.
    """
    walk = _AncestorWalk(func)
    walk.visit_regions(func)
    return walk.result()


_BLOCK_INDEX = "blockIdx"
_Key: TypeAlias = SSAValue | str


class _AncestorWalk:
    def __init__(self, func: Operation) -> None:
        self._places = CommonAncestors[_Key](func)
        self._trees: dict[SSAValue, Expr] = {}
        self._around_loop: dict[SSAValue, Operation] = {}
        """For each loop variable, the place around the loop."""

    def result(self) -> dict[SSAValue, Operation]:
        buffers = [
            key
            for key in self._places
            if isinstance(key, SSAValue) and not isinstance(key.owner, tir.MatchRegionOp)
        ]
        in_global = [each for each in buffers if _is_global(each)]
        self._places.join(in_global, _BLOCK_INDEX)
        return {each: self._places[each] for each in buffers}

    def visit_regions(self, op: Operation) -> None:
        for region in op.regions:
            for block in region.blocks:
                for inner in block.ops:
                    self._visit(inner)

    def _visit(self, op: Operation) -> None:
        if not _is_special(op):
            self._use(op)
            if op.regions:
                self.visit_regions(op)
            return
        match op:
            case tir.ReadsOp() | tir.WritesOp() | tir.DataOp():
                return
            case tir.ForOp():
                self._around_loop[op.loop_var] = self._places.innermost
                self._places.enter(op)
                if op.thread_axis is not None and op.thread_axis.is_block:
                    self._places.touch(_BLOCK_INDEX)
            case tir.BlockOp():
                self._places.enter(op)
                if not op.is_opaque:
                    self._depend(op)
            case tir.LaunchThreadOp() if op.axis.is_block:
                self._places.touch(_BLOCK_INDEX)
            case _:
                self._use(op)
        self.visit_regions(op)
        if isinstance(op, tir.ForOp | tir.BlockOp):
            self._places.leave()

    def _use(self, op: Operation) -> None:
        for operand in op.operands:
            owner = operand.owner
            if _is_buffer(operand.type):
                self._places.touch(operand)
            elif _is_data(owner):
                self._places.touch(owner.buffer)

    # ---- dependences of a block's instances on each other ----

    def _depend(self, block: tir.BlockOp) -> None:
        """Touch what instances of a block pass on to each other."""
        reduced: list[Operation] = []
        ordered: dict[SSAValue, Operation] = {}
        for variable, it in zip(block.iter_vars, block.iters, strict=True):
            if it.kind is tir.IterKind.SPATIAL:
                continue
            place = self._outside_of_loops(it.binding)
            if place is None:
                continue
            if it.kind is tir.IterKind.REDUCE:
                reduced.append(place)
            else:
                ordered[variable] = place
        if not reduced and not ordered:
            return
        written = list(_written(block))
        for place in (*reduced, *ordered.values()):
            for buffer in written:
                self._places.touch(buffer, place)
        if ordered:
            self._depend_in_order(block, ordered)

    def _depend_in_order(
        self, block: tir.BlockOp, ordered: dict[SSAValue, Operation]
    ) -> None:
        for op in block.body.block.ops:
            if not isinstance(op, tir.ReadsOp | tir.WritesOp):
                continue
            for region in op.buffer_regions:
                for variable in self._leaves(region):
                    if variable in ordered:
                        self._places.touch(region.buffer, ordered[variable])

    def _leaves(self, region: tir.BufferRegion) -> Iterator[SSAValue]:
        for side in (*region.mins, *region.extents):
            if not isinstance(side, int):
                yield from self._variables(side)

    def _outside_of_loops(self, binding: SSAValue) -> Operation | None:
        """The place around the outermost loop whose variable is in a binding."""
        found: Operation | None = None
        for variable in self._variables(binding):
            place = self._around_loop.get(variable)
            if place is not None:
                found = place if found is None else self._places.outer(found, place)
        return found

    def _variables(self, value: SSAValue) -> Iterator[SSAValue]:
        """The leaves of a value, and those of the indices that it is loaded at."""
        pending, seen = [value], set[SSAValue]()
        while pending:
            for found in leaf_values(view(pending.pop(), self._trees)):
                if found in seen:
                    continue
                seen.add(found)
                yield found
                if isinstance(found.owner, tir.LoadOp):
                    pending += found.owner.indices


def _is_global(buffer: SSAValue) -> bool:
    assert isinstance(buffer.type, tir.BufferType)
    return buffer.type.storage_scope.rank is StorageRank.GLOBAL


def _written(block: tir.BlockOp) -> Iterator[SSAValue]:
    """The buffers that a block says it writes, or writes, if it does not say."""
    for op in block.body.block.ops:
        if isinstance(op, tir.WritesOp):
            yield from op.buffers
            return
    found = get_block_access_region(block)
    yield from (each.buffer for each in (*found.writes, *found.opaque))


_is_special = of_classes(
    tir.ReadsOp, tir.WritesOp, tir.DataOp, tir.ForOp, tir.BlockOp, tir.LaunchThreadOp
)
_is_buffer = of_classes(tir.BufferType)
_is_data = of_classes(tir.DataOp)
