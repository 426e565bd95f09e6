"""How far an allocation may move inward: past loops that carry none of its values.

A buffer that is allocated in a loop starts undefined in each iteration. So its allocation
may move into the loop if no iteration reads what another one wrote. This is known of

- a loop that is bound to blocks of a grid, or to threads where nothing in it makes them
  meet. Such a dependence would be a race;
- a loop around a block that has all accesses, some of them by a pointer, if all iteration
  variables of the block that the loop is bound to are spatial: nothing else is known of
  what a call accesses, so the block is believed;
- a loop whose iterations all access the buffer alike, up to a shift: indices are linear
  in its variable with equal factors, conditions and bounds of loops do not depend on it.
  An access by a pointer into a view of a region counts as that region, if what else says
  where it goes is the same in each iteration; of the offsets that a matrix builtin has,
  those of its other pointers say nothing.
  The first iteration finds the memory undefined, so it reads nothing but what it wrote,
  and then the others do too;
- a loop for which a store of the same iteration is found for each read (see
  `covering_writes`).

It takes it for granted that the program reads nothing undefined.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.ir import Block, Operation, SSAValue

from xdsl_tvm.analysis.arith import smart
from xdsl_tvm.analysis.arith.expr import Expr, Value, leaf_values
from xdsl_tvm.analysis.arith.linear_equation import linear_form, mentions
from xdsl_tvm.analysis.derivation import derivation, origin
from xdsl_tvm.analysis.tir.buffer_accesses import Access, BufferAccesses, regions_around
from xdsl_tvm.analysis.tir.reaching_stores import carrying_loops, thread_axis_of
from xdsl_tvm.analysis.tir.thread_divergence import is_collective
from xdsl_tvm.dialects import tir
from xdsl_tvm.dialects.tir import StorageRank

Path = Sequence[Operation]
"""Ops around each other, from the outermost on."""
_ONCE = (tir.IfOp, tir.IfThenElseOp, tir.BlockOp, tir.AttrOp, tir.ScopeOp)
_Shift = tuple[int, ...]
"""How far each index moves from one iteration to the next."""


def enterable(func: Operation, paths: Mapping[SSAValue, Path]) -> dict[SSAValue, int]:
    """How many ops of its path each buffer may be allocated in.

    The path of a buffer, which a `tir.alloc_buffer` defines, leads from where that is to
    ops that hold all its accesses.
    """
    return _Paths(func, paths).run()


class _Paths:
    def __init__(self, func: Operation, paths: Mapping[SSAValue, Path]) -> None:
        self._func = func
        self._paths = paths
        self._accesses = BufferAccesses(func, paths)
        self._meeting: dict[Operation, bool] = {}

    def run(self) -> dict[SSAValue, int]:
        free = {buffer: self._free(buffer) for buffer in self._paths}
        found = {
            buffer: self._progress(buffer, free[buffer], 0) for buffer in self._paths
        }
        stuck = [
            buffer for buffer, path in self._paths.items() if found[buffer] < len(path)
        ]
        if not stuck:
            return found
        carrying = carrying_loops(self._func, self._accesses, stuck)
        for buffer in stuck:
            loops = carrying[buffer]
            if loops is None:
                continue
            path = self._paths[buffer]
            limit = min(
                (path.index(loop) for loop in loops if loop in path), default=len(path)
            )
            found[buffer] = self._progress(buffer, free[buffer], limit)
        return found

    def _progress(self, buffer: SSAValue, free: set[Operation], limit: int) -> int:
        """How many ops may be entered, if nothing is carried by those up to a limit."""
        path = self._paths[buffer]
        for position, op in enumerate(path):
            if position >= limit and not (isinstance(op, _ONCE) or op in free):
                return position
            if not isinstance(op, _KNOWN) or self._parts_threads(op, buffer):
                return position
        return len(path)

    def _free(self, buffer: SSAValue) -> set[Operation]:
        """The loops of the path that are known to carry nothing, one by one."""
        path = self._paths[buffer]
        loops = [op for op in path if isinstance(op, tir.ForOp | tir.LaunchThreadOp)]
        if not loops:
            return set()
        alike = _AlikeIterations(self._accesses, buffer, loops).run()
        opaque = not all(each.is_element for each in self._accesses.of[buffer])
        return {
            loop
            for loop in loops
            if loop in alike
            or self._runs_at_once(loop, buffer)
            or (opaque and self._is_declared(loop, path[path.index(loop) + 1 :]))
        }

    def _runs_at_once(self, loop: Operation, buffer: SSAValue) -> bool:
        """Whether a dependence between iterations would be a race."""
        axis = thread_axis_of(loop)
        if axis is None or axis.is_virtual:
            return False
        assert isinstance(buffer.type, tir.BufferType)
        rank = buffer.type.storage_scope.rank
        # All threads of a block have one and the same shared buffer.
        return axis.is_block or rank is StorageRank.SHARED or not self._meet(loop)

    def _parts_threads(self, loop: Operation, buffer: SSAValue) -> bool:
        """Whether each thread would have a memory of its own where they may share one.

        So it is in the end with global memory that is allocated in a loop over blocks.
        """
        axis = thread_axis_of(loop)
        assert isinstance(buffer.type, tir.BufferType)
        rank = buffer.type.storage_scope.rank
        if axis is None or not axis.is_block or rank is not StorageRank.GLOBAL:
            return False
        accesses = self._accesses.of[buffer]
        threads = {
            op: None
            for access in accesses
            for region in regions_around(access.op, loop.regions[0])
            if (op := region.parent_op()) is not None
            and (inner := thread_axis_of(op)) is not None
            and inner.is_thread
        }
        if not all(op.is_ancestor(each.op) for op in threads for each in accesses):
            return True
        alike = _AlikeIterations(self._accesses, buffer, list(threads)).run()
        return any(op not in alike and self._meet(op) for op in threads)

    def _meet(self, loop: Operation) -> bool:
        """Whether threads wait for each other in a loop, or anything else may happen."""
        if loop not in self._meeting:
            self._meeting[loop] = any(map(is_collective, loop.walk()))
        return self._meeting[loop]

    def _is_declared(self, loop: Operation, inside: Path) -> bool:
        """Whether a block with all accesses says that its instances are independent."""
        leaf = _variable(loop)
        for block in inside:
            if isinstance(block, tir.BlockOp) and not block.is_opaque:
                bound = False
                for it in block.iters:
                    binding = self._accesses.tree(it.binding)
                    if not mentions(binding, leaf):
                        continue
                    factor = _factor(binding, leaf)
                    if it.kind is not tir.IterKind.SPATIAL or not factor:
                        return False
                    bound = True
                if bound:
                    return True
        return False


_KNOWN = (tir.ForOp, tir.LaunchThreadOp, tir.WhileOp, *_ONCE)


def _variable(loop: Operation) -> Value:
    match loop:
        case tir.ForOp():
            return Value(loop.loop_var)
        case tir.LaunchThreadOp():
            return Value(loop.thread_var)
        case _:
            raise ValueError(f"{loop.name} has no variable; ask about a loop")


def _factor(tree: Expr, leaf: Expr) -> int | None:
    """How much a tree grows with a leaf; None if it is not known."""
    if not mentions(tree, leaf):
        return 0
    form = linear_form(tree, [leaf])
    if form is None or not form.factors:
        return None
    number = smart.literal(form.factors[leaf])
    return number if isinstance(number, int) else None


class _AlikeIterations:
    """Which loops around all accesses of a buffer make the same ones in each iteration.

    Up to a shift of all of them. Linear in the accesses and the ops around them, times
    the number of loops.
    """

    def __init__(
        self, accesses: BufferAccesses, buffer: SSAValue, loops: Sequence[Operation]
    ) -> None:
        self._accesses = accesses
        self._buffer = buffer
        self._alike = {_variable(loop): loop for loop in loops}
        self._shifts: dict[Value, _Shift] = {}
        self._seen: set[Operation] = set()

    def run(self) -> set[Operation]:
        allocation = self._buffer.owner
        assert isinstance(allocation, Operation)
        outermost = allocation.parent_region()
        for access in self._accesses.of[self._buffer]:
            self._compare(access)
            for region in regions_around(access.op, outermost):
                op = region.parent_op()
                if op is not None and op not in self._seen:
                    self._seen.add(op)
                    self._control(op)
        return set(self._alike.values())

    def _compare(self, access: Access) -> None:
        for tree in access.indices:
            self._require_fixed_leaves(tree)
        for tree in access.values:
            self._require_fixed_leaves(tree, access)
            self._require_free(tree)
        for leaf in tuple(self._alike):
            factors = [_factor(index, leaf) for index in access.indices]
            known = [factor for factor in factors if factor is not None]
            shift = tuple(known) if any(known) else ()
            if len(known) < len(factors) or self._shifts.setdefault(leaf, shift) != shift:
                del self._alike[leaf]

    def _control(self, op: Operation) -> None:
        """Take note of an op that may decide whether an access is made."""
        match op:
            case tir.ForOp():
                values = [op.min, op.extent]
            case tir.LaunchThreadOp():
                values = [op.extent]
            case tir.IfOp() | tir.IfThenElseOp():
                values = [op.condition]
            case tir.BlockOp():
                values = [] if op.predicate is None else [op.predicate]
            case tir.AttrOp() | tir.ScopeOp():
                values = []
            case _:
                self._drop_around(op)
                return
        for value in values:
            tree = self._accesses.tree(value)
            self._require_fixed_leaves(tree)
            self._require_free(tree)

    def _require_free(self, tree: Expr) -> None:
        for leaf in leaf_values(tree):
            self._alike.pop(Value(leaf), None)

    def _require_fixed_leaves(self, tree: Expr, access: Access | None = None) -> None:
        """What is computed in a loop other than from variables may change in it.

        For an access by a pointer into a view, the symbols of the view do not matter: its
        start has been compared. Strides of a view are those of its source, and its
        extents are those of the region.
        """
        for leaf in leaf_values(tree):
            match self._accesses.symbols.get(leaf, leaf.owner):
                case tir.MatchRegionOp() as view_op:
                    if access is None or not _is_by_pointer_into(view_op, access):
                        self._require_fixed_symbol(leaf, view_op)
                case Block() | tir.ShapeVarOp():
                    pass
                case owner:
                    self._drop_around(owner)

    def _require_fixed_symbol(self, symbol: SSAValue, view_op: tir.MatchRegionOp) -> None:
        if symbol in view_op.strides:
            source = origin(view_op.source, (tir.MatchRegionOp,)).owner
            self._drop_around(source)
        elif symbol in view_op.extents:
            for size in view_op.region_extents:
                tree = self._accesses.tree(size)
                self._require_fixed_leaves(tree)
                self._require_free(tree)
        if symbol is view_op.elem_offset or symbol not in (
            *view_op.strides,
            *view_op.extents,
        ):
            self._drop_around(view_op)

    def _drop_around(self, op: Operation | Block) -> None:
        for leaf, loop in tuple(self._alike.items()):
            if loop.is_ancestor(op):
                del self._alike[leaf]


def _is_by_pointer_into(view_op: tir.MatchRegionOp, access: Access) -> bool:
    return not access.is_element and any(
        source is view_op.buffer
        for operand in access.op.operands
        if origin(operand) is access.buffer
        for source in derivation(operand)
    )
