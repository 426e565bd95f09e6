"""Whether what is read from a buffer was written before, and since when.

For a read of the element `r`, a store before it to the element `w(v)`, in loops of
its own with the variables `v`, is one of `r` if there are values of `v` in the ranges of
the loops with `w(v) == r`, for which the store's conditions hold. Such values are found
by solving the indices as iterator maps, and then proved to be right. Loops around both
stay where they are. Where the store is under a condition on their variables, as that of
an init is, it was executed in their first iteration, and the value is carried from there.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack

from xdsl.ir import Operation, Region, SSAValue

from xdsl_tvm.analysis.arith import smart
from xdsl_tvm.analysis.arith.analyzer import Analyzer, Range
from xdsl_tvm.analysis.arith.expr import (
    Expr,
    Value,
    leaf_values,
    substitute,
)
from xdsl_tvm.analysis.arith.facts import negated
from xdsl_tvm.analysis.arith.iter_forms import IterMapLevel
from xdsl_tvm.analysis.arith.iter_map import detect_iter_map
from xdsl_tvm.analysis.arith.iter_subspace import inverse_affine_iter_map
from xdsl_tvm.analysis.arith.linear_equation import mentions
from xdsl_tvm.analysis.tir.buffer_accesses import Access, BufferAccesses, regions_around
from xdsl_tvm.analysis.tir.scoped_facts import FactsWalker
from xdsl_tvm.dialects import tir
from xdsl_tvm.dialects.tir import ForKind, StorageRank
from xdsl_tvm.dialects.tir.storage_scope import ThreadAxis
from xdsl_tvm.dialects.tir.types import is_index_type

MAX_WRITES = 8
"""How many of the stores before a read are tried, the last ones."""
_SEQUENTIAL = (ForKind.SERIAL, ForKind.UNROLLED)
_ONCE = (tir.IfOp, tir.IfThenElseOp, tir.BlockOp, tir.AttrOp, tir.ScopeOp)


def carrying_loops(
    func: Operation, accesses: BufferAccesses, buffers: Sequence[SSAValue]
) -> dict[SSAValue, list[tir.ForOp] | None]:
    """For each buffer, the loops that carry a value that is read in a later iteration.

    They are loops around an allocation of the buffer, or not; all others have written
    whatever they read in the same iteration. None means that a read may see anything.
    """
    search = _Search(func, accesses, buffers)
    search.run()
    return search.found


class _Search:
    def __init__(
        self, func: Operation, accesses: BufferAccesses, buffers: Sequence[SSAValue]
    ) -> None:
        self._func = func
        self._accesses = accesses
        self._stores: dict[SSAValue, list[Access]] = {each: [] for each in buffers}
        self.found: dict[SSAValue, list[tir.ForOp] | None] = {
            each: [] for each in buffers
        }
        self._analyzer = Analyzer()
        self._walker = FactsWalker(self._analyzer, self._visit)
        self._walker.trees = accesses.trees

    def run(self) -> None:
        self._walker.walk(self._func)

    def _visit(self, op: Operation) -> None:
        for access in self._accesses.at.get(op, ()):
            stores = self._stores.get(access.buffer)
            if stores is None:
                continue
            if access.reads:
                self._read(access, stores[-MAX_WRITES:])
            if access.is_certain_write:
                stores.append(access)

    def _read(self, read: Access, stores: Sequence[Access]) -> None:
        known = self.found[read.buffer]
        if known is None:
            return
        carrying = self._carrying(read, stores)
        if carrying is None:
            self.found[read.buffer] = None
        else:
            known += carrying

    def _carrying(self, read: Access, stores: Sequence[Access]) -> list[tir.ForOp] | None:
        """The loops that carry what is read; None if it may be anything."""
        if not read.is_element:
            return None
        with ExitStack() as scopes:
            definition = tir.buffer_definition(read.buffer)
            for index, size in zip(read.indices, definition.shape, strict=True):
                for fact in _within(index, size, self._accesses):
                    scopes.enter_context(self._analyzer.constraint(fact))
            for store in reversed(stores):
                pair = _Pair(self._analyzer, self._accesses, store, read)
                carrying = pair.carrying()
                if carrying is not None:
                    return carrying
        return None


def _within(
    index: Expr, size: SSAValue | int, accesses: BufferAccesses
) -> Iterator[Expr]:
    """That an index is within an extent, since any other access is an error."""
    if not is_index_type(index.dtype):
        return
    yield smart.ge(index, 0)
    if isinstance(size, int) and not smart.fits(size, index.dtype):
        # All values of the type are less.
        return
    extent = (
        smart.const(size, index.dtype) if isinstance(size, int) else accesses.tree(size)
    )
    if extent.dtype == index.dtype:
        yield smart.lt(index, extent)


class _Pair:
    """A store and a read after it, in the order of the text."""

    def __init__(
        self, analyzer: Analyzer, accesses: BufferAccesses, store: Access, read: Access
    ) -> None:
        self._analyzer = analyzer
        self._accesses = accesses
        self._store = store
        self._read = read
        allocation = store.buffer.owner
        assert isinstance(allocation, Operation)
        outermost = allocation.parent_region()
        self._path = regions_around(store.op, outermost)
        others = regions_around(read.op, outermost)
        count = 0
        while (
            count < min(len(self._path), len(others))
            and self._path[count] is others[count]
        ):
            count += 1
        self._common = self._path[:count]
        self._own = self._path[count:]

    def carrying(self) -> list[tir.ForOp] | None:
        """The loops whose first iteration wrote what is read; None if it is not known."""
        if not all(map(_is_understood, self._own)) or self._is_of_other_thread():
            return None
        failed = self._failed([])
        if failed is None:
            return None
        if not failed:
            return []
        carrying = [
            loop
            for region in self._common
            if isinstance(loop := region.parent_op(), tir.ForOp)
            and loop.kind.data in _SEQUENTIAL
            and any(mentions(each, Value(loop.loop_var)) for each in failed)
        ]
        return carrying if carrying and self._failed(carrying) == [] else None

    def _failed(self, restarted: Sequence[tir.ForOp]) -> list[Expr] | None:
        """The conditions of the store that are not shown to hold where it wrote `r`.

        None if it is not known to have written `r` anyway. `restarted` are in their first
        iteration when it does.
        """
        known: dict[Expr, Expr] = {}
        for loop in restarted:
            low = self._accesses.tree(loop.min)
            known[Value(loop.loop_var)] = substitute(low, known)
        elsewhere = [op for op in map(_op_of, self._common) if self._is_cooperative(op)]
        repeated = [*restarted, *elsewhere, *map(_op_of, self._own)]
        if not self._solve(known) or not self._are_fixed(repeated, known):
            return None
        return [
            condition
            for condition in self._conditions()
            if not self._holds(substitute(condition, known))
        ]

    def _holds(self, condition: Expr) -> bool:
        return self._analyzer.can_prove(condition)

    # ---- the loops of the store ----

    def _solve(self, known: dict[Expr, Expr]) -> bool:
        """Find variables of the store's loops for which it stores to what is read.

        They are added to `known`, and proved to be in range.
        """
        indices = [substitute(index, known) for index in self._store.indices]
        loops: dict[Expr, Range] = {}
        for region in self._path:
            variable = self._variable(region)
            if variable is None:
                continue
            leaf, domain = variable
            sides = (substitute(side, known) for side in (domain.min, domain.extent))
            loops[leaf] = Range(*sides)
        solved = _solution(indices, self._read.indices, loops)
        if solved is None:
            return False
        for leaf, domain in loops.items():
            low = substitute(domain.min, known)
            extent = substitute(domain.extent, known)
            value = solved.get(leaf, low)
            if value.dtype != leaf.dtype:
                return False
            known[leaf] = value
            inside = smart.conjunction(
                smart.ge(value, low), smart.lt(value, smart.add(low, extent))
            )
            if value is not low or smart.literal(extent) is None:
                if not self._holds(inside):
                    return False
            elif not self._holds(smart.gt(extent, 0)):
                return False
        return all(
            self._are_equal(substitute(index, known), wanted)
            for index, wanted in zip(self._store.indices, self._read.indices, strict=True)
        )

    def _is_of_other_thread(self) -> bool:
        """Whether the store is in loops over threads that do not share the buffer."""
        assert isinstance(self._store.buffer.type, tir.BufferType)
        rank = self._store.buffer.type.storage_scope.rank
        return rank not in (StorageRank.GLOBAL, StorageRank.SHARED) and any(
            axis is not None and axis.is_thread
            for axis in (thread_axis_of(_op_of(region)) for region in self._own)
        )

    def _are_equal(self, found: Expr, wanted: Expr) -> bool:
        if found is wanted:
            return True
        if found.dtype != wanted.dtype or not is_index_type(found.dtype):
            return False
        return self._analyzer.can_prove_equal(found, wanted)

    def _variable(self, region: Region) -> tuple[Expr, Range] | None:
        """The variable of a loop that may have another value at the store."""
        op = region.parent_op()
        if region in self._own or (op is not None and self._is_cooperative(op)):
            match op:
                case tir.ForOp():
                    low, extent = map(self._accesses.tree, (op.min, op.extent))
                    return Value(op.loop_var), Range(low, extent)
                case tir.LaunchThreadOp():
                    extent = self._accesses.tree(op.extent)
                    zero = smart.const(0, op.thread_var.type)
                    return Value(op.thread_var), Range(zero, extent)
                case _:
                    pass
        return None

    def _is_cooperative(self, op: Operation) -> bool:
        """Whether all threads of a launch write to one and the same buffer in it."""
        assert isinstance(self._store.buffer.type, tir.BufferType)
        if self._store.buffer.type.storage_scope.rank is not StorageRank.SHARED:
            return False
        axis = thread_axis_of(op)
        return axis is not None and axis.is_thread

    def _are_fixed(self, repeated: Sequence[Operation], known: dict[Expr, Expr]) -> bool:
        """Whether all that says where the store goes is as it is at the read.

        But for the variables that are known, nothing of it is computed in a loop that is
        in another iteration, and loops in such a loop have the same bounds.
        """
        bounds = (
            bound for region in self._own for bound in self._bounds(region.parent_op())
        )
        pending = [*self._store.indices, *self._conditions(), *bounds]
        seen: set[SSAValue] = set()
        while pending:
            for leaf in leaf_values(pending.pop()):
                if leaf in seen or Value(leaf) in known:
                    continue
                seen.add(leaf)
                inside = self._accesses.symbols.get(leaf, leaf.owner)
                if not isinstance(inside, Operation):
                    loop = inside.parent_op()
                    bounds = self._bounds(loop)
                    if any(mentions(bound, *known) for bound in bounds):
                        return False
                    pending += bounds
                elif not isinstance(inside, tir.ShapeVarOp) and any(
                    op.is_ancestor(inside) for op in repeated
                ):
                    return False
        return True

    def _bounds(self, loop: Operation | None) -> list[Expr]:
        match loop:
            case tir.ForOp():
                return [self._accesses.tree(loop.min), self._accesses.tree(loop.extent)]
            case tir.LaunchThreadOp():
                return [self._accesses.tree(loop.extent)]
            case _:
                return []

    def _conditions(self) -> list[Expr]:
        """What has to hold for the store to run, besides being in its loops."""
        found: list[Expr] = []
        for region in self._path:
            match op := region.parent_op():
                case tir.IfOp() | tir.IfThenElseOp():
                    condition = self._accesses.tree(op.condition)
                    first = region is op.regions[0]
                    found.append(condition if first else negated(condition))
                case tir.BlockOp() if op.predicate is not None:
                    found.append(self._accesses.tree(op.predicate))
                case _:
                    pass
        return found


def thread_axis_of(op: Operation) -> ThreadAxis | None:
    """The axis that a loop or a launch is over, if threads execute it."""
    match op:
        case tir.ForOp():
            return op.thread_axis
        case tir.LaunchThreadOp():
            return op.axis
        case _:
            return None


def _op_of(region: Region) -> Operation:
    op = region.parent_op()
    assert op is not None, "a region of the path is in the function"
    return op


def _is_understood(region: Region) -> bool:
    """Whether it is known how often a region runs."""
    return isinstance(region.parent_op(), (tir.ForOp, tir.LaunchThreadOp, *_ONCE))


def _solution(
    indices: Sequence[Expr], wanted: Sequence[Expr], loops: dict[Expr, Range]
) -> dict[Expr, Expr] | None:
    """Values of the variables for which the indices may be those wanted."""
    pairs = [
        (index, value)
        for index, value in zip(indices, wanted, strict=True)
        if mentions(index, *loops)
    ]
    if not pairs:
        return {}
    if not all(
        is_index_type(index.dtype) and index.dtype == value.dtype
        for index, value in pairs
    ):
        return None
    level = IterMapLevel.NO_CHECK
    found = detect_iter_map([index for index, _ in pairs], loops, None, level)
    if found.errors:
        return None
    try:
        return inverse_affine_iter_map(found.indices, [value for _, value in pairs])
    except ValueError:
        return None
