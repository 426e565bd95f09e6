"""Which part of each allocation a function accesses.

A part is a box in terms of what is known where the buffer is allocated: the variables of
loops in its scope are relaxed, and those of threads around it that share the memory; so
is whatever is computed in its scope. Conditions narrow what the variables run over. The
box holds every element that is accessed.

See docs/spec/tir-passes-a-blocks-and-buffers.md, CompactBufferAllocation and §0.1, §0.2.
Other than there, what several accesses say is put together with the facts that hold at
the allocation, not with those of the last access.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import reduce
from itertools import islice

from xdsl.builder import Builder
from xdsl.dialects.builtin import i64
from xdsl.ir import Block, BlockArgument, Operation, SSAValue
from xdsl.rewriter import InsertPoint
from xdsl.utils.exceptions import PassFailedException

from xdsl_tvm.analysis.all_ops import all_ops
from xdsl_tvm.analysis.arith import smart
from xdsl_tvm.analysis.arith.analyzer import Analyzer, Range
from xdsl_tvm.analysis.arith.expr import (
    Add,
    Broadcast,
    Cmp,
    Const,
    Expr,
    Max,
    Min,
    Ramp,
    Sub,
    Value,
    emit,
    leaf_values,
    substitute,
)
from xdsl_tvm.analysis.arith.facts import conjuncts
from xdsl_tvm.analysis.arith.int_set import (
    EVERYTHING,
    IntSet,
    IntSetEvaluator,
    always_defined,
    bodies_of,
    cover_range,
    from_range,
    simplified,
    union,
    varies,
)
from xdsl_tvm.analysis.arith.region_estimate import estimate_region_upper_bound
from xdsl_tvm.analysis.tir.conditional_bounds import ConditionalBounds
from xdsl_tvm.analysis.tir.flat_index import as_tree
from xdsl_tvm.analysis.tir.memory_order import Facts
from xdsl_tvm.analysis.tir.scoped_facts import FactsWalker
from xdsl_tvm.dialects import tir
from xdsl_tvm.dialects.by_class import of_classes
from xdsl_tvm.dialects.integers import INF
from xdsl_tvm.dialects.tir.annotations import integer_of
from xdsl_tvm.dialects.tir.types import is_index_type
from xdsl_tvm.passes.tir._compact_buffers.uses import Candidate
from xdsl_tvm.passes.tir._storage_align import entry
from xdsl_tvm.passes.tir.rewriting.statements import describe

_WARP = 32
_MOST_CONDITIONS = 32
_MOST_ENDS = 16
_MOST_CHOICES = 3
_NO_BOUND = 1 << 30
"""A number that is this large says nothing of an extent."""
_INEQUALITIES = (
    tir.CmpPredicate.LT,
    tir.CmpPredicate.LE,
    tir.CmpPredicate.GT,
    tir.CmpPredicate.GE,
)
_EXPLICIT = ("explicit_read_region", "explicit_write_region")

Side = Range | Expr | None
"""Where an access starts in a dimension and how far it goes; the numbers of a vector;
None for anywhere."""
Box = tuple[IntSet, ...]


@dataclass(frozen=True)
class _Iterator:
    """The variable of a loop or of a thread axis."""

    depth: int
    axis: tir.ThreadAxis | None
    domain: Range | None
    """None where its bounds are of another type."""


@dataclass(eq=False)
class Scope:
    """The part of the program in which an allocated buffer lives."""

    candidate: Candidate
    position: float
    depth: int
    """The number of loops and thread axes around it."""
    relaxed: AbstractSet[Expr]
    """The variables of those among them that are relaxed."""
    bodies: AbstractSet[Block]
    boxes: dict[Box, None] = field(default_factory=dict[Box, None])
    """What was accessed, once each."""
    entry_loads: dict[tuple[object, ...], SSAValue] = field(
        default_factory=dict[tuple[object, ...], SSAValue]
    )
    """Loads before it by buffer and indices."""
    loads: dict[Expr, Expr] = field(default_factory=dict[Expr, Expr])
    """Loads in the scope whose value is available before it, and that value."""
    is_whole: bool = False
    """Whether one box is the buffer as a whole."""
    region: tuple[Range | None, ...] | None = None
    """For each dimension the part to keep, None for all; None as a whole if no access was
    found."""


_is_noted = of_classes(tir.BufferDefinition, tir.CallOp, tir.AssertOp, tir.RetOp)
_is_access = of_classes(tir.LoadOp, tir.StoreOp)
_may_access = of_classes(
    tir.LetOp,
    tir.AddressOfOp,
    tir.ThreadAllreduceOp,
    tir.PrefetchOp,
    tir.MatchRegionOp,
)


class RegionCollector(FactsWalker):
    """Finds the accessed part of each candidate of one function, into `scopes`."""

    def __init__(
        self, func: Operation, candidates: Iterable[Candidate], *, is_strict: bool
    ) -> None:
        super().__init__(Analyzer(), self._see)
        self._func = func
        self._is_strict = is_strict
        self._candidates = {each.buffer: each for each in candidates}
        self._opaque_uses: dict[Operation, list[Candidate]] = {}
        for each in self._candidates.values():
            for op in dict.fromkeys(each.opaque_uses):
                self._opaque_uses.setdefault(op, []).append(each)
        self.scopes: list[Scope] = []
        self.lets: dict[SSAValue, Expr] = {}
        """The trees of indices with a name."""
        self._open: dict[SSAValue, Scope] = {}
        self._bounds = ConditionalBounds(self.analyzer)
        self._iterators: dict[Expr, _Iterator] = {}
        self._blocks: list[_Declared] = []
        """The blocks around,"""
        self._explicit: list[_Declared] = []
        """and those of them with regions that stand for accesses."""
        self._known: dict[tuple[object, ...], Box | None] = {}
        self._positions: dict[Operation, float] = {}
        self._bound_at: dict[SSAValue, int] = {}
        self._synchronizes = False
        self._stops: list[int] = []
        self._order: Facts | None = None
        self.added: list[SSAValue] = []
        """Loads that were added before allocations."""
        for position, op in enumerate(all_ops(func)):
            self._note(op, position)

    def _note(self, op: Operation, position: int) -> None:
        """Note where an op is, and which symbols it binds."""
        self._positions[op] = position
        if not _is_noted(op):
            return
        match op:
            case tir.BufferDefinition():
                for value in op.operands:
                    if isinstance(value.owner, tir.ShapeVarOp):
                        self._bound_at.setdefault(value, position)
            case tir.CallOp() if _is_barrier(op.callee.data):
                self._synchronizes = True
            case tir.AssertOp() | tir.RetOp():
                self._stops.append(position)
            case _:
                pass

    def run(self) -> list[Scope]:
        """The scopes of all candidates, in the order in which they end."""
        self.walk(self._func)
        return self.scopes

    # ---- the walk ----

    def _enter(self, op: Operation, position: int, scopes: ExitStack) -> None:
        super()._enter(op, position, scopes)
        if isinstance(op, tir.BlockOp):
            declared = _Declared(op)
            stacks = (
                [self._blocks, self._explicit]
                if any(declared.explicit)
                else [self._blocks]
            )
            for stack in stacks:
                stack.append(declared)
                scopes.callback(stack.pop)

    def _after(self, op: Operation, scopes: ExitStack) -> None:
        super()._after(op, scopes)
        if not isinstance(op, tir.BufferDefinition):
            return
        if isinstance(op, tir.MatchBufferOp):
            for extent in op.extents:
                self.analyzer.mark_global_nonneg(self.tree(extent))
        candidate = self._candidates.get(op)
        if candidate is not None:
            scope = self._scope(candidate)
            self._open[candidate.buffer.buffer] = scope
            scopes.callback(self._close, scope)

    def _assume(self, condition: Expr, scopes: ExitStack) -> None:
        scopes.enter_context(self._bounds.condition(condition))

    def _bind_range(
        self, variable: SSAValue, low: Expr, extent: Expr, scopes: ExitStack
    ) -> None:
        super()._bind_range(variable, low, extent, scopes)
        leaf, domain = Value(variable), None
        known = low.dtype == extent.dtype == variable.type
        if known and is_index_type(variable.type):
            domain = Range(low, extent)
            scopes.enter_context(self._bounds.variable(leaf, domain))
        axis = _axis_of(variable)
        self._iterators[leaf] = _Iterator(len(self._iterators), axis, domain)
        scopes.callback(self._iterators.pop, leaf)

    def _see(self, op: Operation) -> None:
        """Record what an op accesses."""
        if _is_access(op):
            self._access(op)
        elif _may_access(op):
            self._see_other(op)
        for candidate in self._opaque_uses.get(op, ()):
            self._opaque_use(candidate.buffer.buffer)

    def _see_other(self, op: Operation) -> None:
        match op:
            case tir.LetOp() if is_index_type(op.result.type):
                if op.value.type == op.result.type:
                    self.lets[op.result] = self.trees[op.result] = self.tree(op.value)
            case tir.AddressOfOp():
                self._record(op.buffer, self._points(op.indices))
            case tir.ThreadAllreduceOp():
                for place in op.places:
                    self._record(place.buffer, self._points(place.indices))
            case tir.PrefetchOp():
                self._record(op.buffer, self._sides(op.region))
            case tir.MatchRegionOp():
                self._record(op.source, self._sides(op.region))
            case _:
                pass

    def _access(self, op: tir.LoadOp | tir.StoreOp) -> None:
        if op.buffer not in self._open:
            return
        kind = 0 if isinstance(op, tir.LoadOp) else 1
        for block in reversed(self._explicit):
            declared = block.explicit[kind].get(op.buffer, ())
            for region in declared:
                self._declared(region)
            if declared:
                return
        self._record(op.buffer, self._points(op.indices))

    def _opaque_use(self, buffer: SSAValue) -> None:
        """What the nearest block around declares, or else everything."""
        for block in reversed(self._blocks):
            declared = block.regions.get(buffer, ())
            for region in declared:
                self._declared(region)
            if declared:
                return
        self._record(buffer, [None] * len(tir.buffer_definition(buffer).shape))

    def _declared(self, region: tir.BufferRegion) -> None:
        sides = zip(region.mins, region.extents, strict=True)
        self._record(region.buffer, self._sides(sides))

    def _points(self, indices: Iterable[SSAValue]) -> list[Side]:
        return [self._side(self.tree(index)) for index in indices]

    def _side(self, index: Expr) -> Side:
        """The numbers that an index is: of a vector, those of all lanes."""
        element = tir.element_of(index.dtype)
        if not is_index_type(element):
            return None
        if not tir.is_vector(index.dtype):
            return Range(index, smart.const(1, element))
        index = self.analyzer.simplify(index)
        match index:
            case Broadcast(_, value):
                return Range(value, smart.const(1, element))
            case Ramp(_, base, stride) if not tir.is_scalable(index.dtype):
                step = smart.literal(stride)
                if isinstance(step, int) and step > 0:
                    reach = step * (tir.lanes_of(index.dtype) - 1) + 1
                    return Range(base, smart.const(reach, element))
                return index
            case _:
                return index

    def _sides(self, region: Iterable[tuple[SSAValue, int | SSAValue]]) -> list[Side]:
        sides: list[Side] = []
        for low, size in region:
            start = self.tree(low)
            is_static = isinstance(size, int)
            if not is_index_type(start.dtype) or (
                is_static and not smart.fits(size, start.dtype)
            ):
                sides.append(None)
                continue
            if isinstance(size, int):
                extent = smart.const(size, start.dtype)
            else:
                extent = smart.cast(start.dtype, self.tree(size))
            sides.append(Range(start, extent))
        return sides

    # ---- scopes ----

    def _scope(self, candidate: Candidate) -> Scope:
        relaxed = self._shared_variables(candidate.buffer.type.storage_scope)
        return Scope(
            candidate,
            self._positions[candidate.memory or candidate.buffer],
            len(self._iterators),
            relaxed,
            bodies_of(relaxed),
        )

    def _shared_variables(self, scope: tir.StorageScope) -> AbstractSet[Expr]:
        """The variables around an allocation that one piece of memory sees all values of.

        Those of the thread axes along which the memory is shared, and in them those of
        loops whose bounds depend on the thread. Where the program has barriers of its
        own, they order what threads do to the memory of one iteration; so no iteration
        gets the memory of another one then.
        """
        found: set[Expr] = set()
        bodies: set[Block] = set()
        for leaf, iterator in self._iterators.items():
            if iterator.axis is not None:
                is_shared = self._is_shared_along(scope, iterator.axis)
            else:
                is_shared = bool(found) and (
                    self._synchronizes or _depends(iterator, found, bodies)
                )
            if is_shared:
                found.add(leaf)
                bodies = bodies_of(found)
        return found

    def _is_shared_along(self, scope: tir.StorageScope, axis: tir.ThreadAxis) -> bool:
        """Whether threads that differ on an axis see the same piece of memory."""
        if scope.rank is not tir.StorageRank.WARP:
            return scope.rank <= axis.rank
        return axis.is_thread and (axis.dim == 0 or not self._has_whole_warps())

    def _has_whole_warps(self) -> bool:
        """Whether the threads of a warp differ on the first axis only."""
        domains = (
            iterator.domain
            for iterator in self._iterators.values()
            if iterator.axis is not None
            and iterator.axis.is_thread
            and iterator.axis.dim == 0
        )
        sizes = [None if d is None else smart.literal(d.extent) for d in domains]
        return bool(sizes) and all(
            size is not None and size % _WARP == 0 for size in sizes
        )

    def _close(self, scope: Scope) -> None:
        del self._open[scope.candidate.buffer.buffer]
        self.scopes.append(scope)
        definition = scope.candidate.buffer
        known = (self._position(value) < scope.position for value in definition.extents)
        if not scope.boxes or not all(known):
            return
        shape = definition.shape
        columns = zip(*scope.boxes, strict=True)
        scope.region = tuple(
            self._part(scope, list(dict.fromkeys(sets)), size)
            for sets, size in zip(columns, shape, strict=True)
        )

    # ---- what an access covers ----

    def _record(self, buffer: SSAValue, sides: Sequence[Side]) -> None:
        scope = self._open.get(buffer)
        if scope is None or scope.is_whole:
            return
        box = self._box(scope, sides)
        if box is not None:
            scope.boxes[box] = None
            # Strict regions are parts of the buffer: no other access adds to all of it.
            scope.is_whole = self._is_strict and _covers(
                box, scope.candidate.buffer.shape
            )

    def _box(self, scope: Scope, sides: Sequence[Side]) -> Box | None:
        """What an access covers; None if it never happens."""
        sides = [self._at_entry(scope, side) for side in sides]
        roots = [tree for side in sides for tree in _trees(side)]
        env = self._environment(scope, roots)
        predicate = self._predicate(scope, env)
        domains = {
            leaf: self._domain(leaf, found)
            for leaf, found in env.items()
            if found.is_bounded
        }
        if any(_is_empty(domain) for domain in domains.values()):
            return None
        innermost = next(reversed(self._iterators), None)
        key = (scope, innermost, *sides, predicate, *env.items())
        if key not in self._known:
            self._known[key] = self._estimate(scope, sides, env, domains, predicate)
        return self._known[key]

    def _domain(self, leaf: Expr, found: IntSet) -> Range:
        iterator = self._iterators.get(leaf)
        domain = None if iterator is None else iterator.domain
        if domain is not None and found == from_range(domain):
            return domain
        return cover_range(found, Range(leaf, leaf), self.analyzer)

    def _environment(self, scope: Scope, roots: Sequence[Expr]) -> dict[Expr, IntSet]:
        """The sets of what the trees are made of that is not known at the allocation."""
        env: dict[Expr, IntSet] = {}
        pending = [Value(leaf) for leaf in leaf_values(*roots)]
        while pending:
            leaf = pending.pop()
            if leaf in env or not self._is_relaxed(scope, leaf):
                continue
            sets = self._bounds.relaxed if leaf in self._iterators else self._bounds.hints
            found = env[leaf] = sets.get(leaf, EVERYTHING)
            ends = [end for end in (found.min, found.max) if end is not None]
            pending += [Value(leaf) for leaf in leaf_values(*ends)]
        return env

    def _is_relaxed(self, scope: Scope, leaf: Value) -> bool:
        iterator = self._iterators.get(leaf)
        if iterator is not None:
            return iterator.depth >= scope.depth or leaf in scope.relaxed
        return self._position(leaf.value) >= scope.position or varies(leaf, scope.bodies)

    def _position(self, value: SSAValue) -> float:
        """Where a value is there from."""
        owner = value.owner
        if isinstance(owner, tir.ShapeVarOp):
            return self._bound_at.get(value, INF)
        op = owner.parent_op() if isinstance(owner, Block) else owner
        return -1 if op is None else self._positions.get(op, -1)

    def _predicate(self, scope: Scope, env: dict[Expr, IntSet]) -> Expr | None:
        """What conditions say of the leaves of `env`, which their other leaves join."""
        parts: list[Expr] = []
        for condition in islice(reversed(self._bounds.pending), _MOST_CONDITIONS):
            for part in conjuncts(condition):
                leaves = [Value(leaf) for leaf in leaf_values(part)]
                if not _is_inequality(part) or env.keys().isdisjoint(leaves):
                    continue
                more = self._environment(scope, [part])
                if all(found.is_bounded for found in more.values()):
                    env |= more
                    parts.append(part)
        return reduce(smart.conjunction, parts) if parts else None

    def _estimate(
        self,
        scope: Scope,
        sides: Sequence[Side],
        env: Mapping[Expr, IntSet],
        domains: Mapping[Expr, Range],
        predicate: Expr | None,
    ) -> Box | None:
        evaluate = IntSetEvaluator(self.analyzer, env)
        found: list[IntSet | None] = [None] * len(sides)
        joint: dict[int, Range] = {}
        for axis, side in enumerate(sides):
            leaves = self._environment(scope, _trees(side)).keys()
            if side is None:
                found[axis] = EVERYTHING
            elif isinstance(side, Range) and not leaves:
                found[axis] = from_range(side)
            elif isinstance(side, Range) and leaves <= domains.keys():
                joint[axis] = side
            elif isinstance(side, Range):
                found[axis] = evaluate.of_range(side)
            else:
                found[axis] = evaluate(side)
        sets = estimate_region_upper_bound(
            list(joint.values()), domains, predicate, self.analyzer
        )
        for axis, each in zip(joint, sets, strict=True):
            found[axis] = each
        box = tuple(simplified(each, self.analyzer) for each in found if each is not None)
        return None if any(each.is_nothing for each in box) else box

    # ---- loads that may be before the scope ----

    def _at_entry(self, scope: Scope, side: Side) -> Side:
        """The side in terms of loads before the allocation, where they are known."""
        match side:
            case None:
                return None
            case Range():
                low = self._with_known_loads(scope, side.min)
                return Range(low, self._with_known_loads(scope, side.extent))
            case _:
                return self._with_known_loads(scope, side)

    def _with_known_loads(self, scope: Scope, tree: Expr) -> Expr:
        for value in leaf_values(tree):
            load = value.owner
            if isinstance(load, tir.LoadOp) and Value(value) not in scope.loads:
                self._hoist(scope, load)
        return substitute(tree, scope.loads) if scope.loads else tree

    def _hoist(self, scope: Scope, load: tir.LoadOp) -> None:
        """Load what a load in the scope reads before it, if that is no other value.

        It must be certain to be executed, or else it might not be in bounds.
        """
        if not (self._is_certain(scope, load) and self._sees_entry(scope, load)):
            return
        trees = [
            self._with_known_loads(scope, self.tree(index)) for index in load.indices
        ]
        if any(self._is_relaxed(scope, Value(v)) for v in leaf_values(*trees)):
            return
        key = (load.buffer, *trees)
        if key not in scope.entry_loads:
            anchor = scope.candidate.memory or scope.candidate.buffer
            builder = Builder(InsertPoint.before(anchor))
            new = tir.LoadOp(load.buffer, [emit(tree, builder) for tree in trees])
            builder.insert(new)
            new.location = load.location
            self._positions[new] = scope.position - 0.5
            scope.entry_loads[key] = new.result
            self.added.append(new.result)
        scope.loads[Value(load.result)] = Value(scope.entry_loads[key])

    def _is_certain(self, scope: Scope, load: tir.LoadOp) -> bool:
        """Whether a load is executed whenever its scope is, by the same thread."""
        start, end = scope.position, self._positions[load]
        if load.predicate is not None or end < start:
            return False
        if bisect_left(self._stops, end) > bisect_left(self._stops, start):
            return False
        outer = scope.candidate.buffer.parent_op()
        parent = load.parent_op()
        while parent is not outer:
            if parent is None or not _runs_its_body(parent):
                return False
            parent = parent.parent_op()
        return True

    def _sees_entry(self, scope: Scope, load: tir.LoadOp) -> bool:
        """Whether a load sees the memory as it is before its scope."""
        if self._position(load.buffer) >= scope.position:
            return False
        if self._order is None:
            self._order = Facts([self._func])
        anchor = scope.candidate.memory or scope.candidate.buffer
        return self._order.state(load) < self._order.ops[anchor].start

    # ---- the part to keep ----

    def _part(
        self, scope: Scope, sets: list[IntSet], size: int | SSAValue
    ) -> Range | None:
        """The part of a dimension that holds all sets, None for the whole."""
        hull = self._hull(scope, sets)
        if hull.min is None or hull.max is None:
            return None
        definition = scope.candidate.buffer
        shape = as_tree(size, definition, self.tree)
        analyzer = self.analyzer
        low, extent = hull.min, smart.add(smart.sub(hull.max, hull.min), 1)
        extent = analyzer.simplify(extent)
        if self._is_strict:
            low = analyzer.simplify(smart.maximum(low, 0))
            if not self._is_within(extent, shape):
                extent = analyzer.simplify(smart.minimum(shape, extent))
        extent = self._allocated(extent, size)
        if extent is None:
            return None
        extent = smart.cast(definition.extent_type, extent)
        if extent is shape and (self._is_strict or smart.literal(low) == 0):
            return None
        return Range(low, extent)

    def _is_within(self, extent: Expr, shape: Expr) -> bool:
        extent, shape = smart.matched(extent, shape)
        return self.analyzer.can_prove_within_shape(extent, shape)

    def _allocated(self, extent: Expr, size: int | SSAValue) -> Expr | None:
        """The extent as one to allocate; None if there is none.

        It depends on nothing but parameters and symbols, and is no constant less often
        than the old one.
        """
        number = smart.literal(extent)
        symbols = leaf_values(extent)
        if number is not None:
            return extent if number > 0 else None
        if isinstance(size, int):
            return self._bounded(extent, size)
        if any(map(self._is_variable, symbols)):
            return self._bounded(extent, _NO_BOUND)
        if not all(map(_is_parameter, symbols)):
            return None
        if not self.analyzer.can_prove(smart.ge(extent, 0)):
            extent = smart.maximum(extent, 0)
        return extent

    def _bounded(self, extent: Expr, limit: int) -> Expr | None:
        """A number that an extent does not exceed, if that is no more than a limit."""
        most = self._largest(extent, _MOST_CHOICES)
        if not 0 < most <= limit or not smart.fits(int(most), extent.dtype):
            return None
        return smart.const(most, extent.dtype)

    def _largest(self, tree: Expr, choices: int) -> float:
        """A number that a tree does not exceed.

        A sum with a minimum does not exceed the sum with either operand in its place,
        where other terms may cancel.
        """
        most = self.analyzer.const_int_bound(tree).max
        terms = list(_terms(tree))
        for place, (sign, term) in enumerate(terms):
            if isinstance(term, Min if sign > 0 else Max) and choices:
                rest = [*terms[:place], *terms[place + 1 :]]
                for operand in term.operands:
                    whole = self.analyzer.simplify(_sum([*rest, (sign, operand)]))
                    most = min(most, self._largest(whole, choices - 1))
                break
        return most

    def _is_variable(self, value: SSAValue) -> bool:
        return Value(value) in self._iterators

    def _hull(self, scope: Scope, sets: list[IntSet]) -> IntSet:
        """The least interval around sets, in terms of what the allocation knows."""
        if any(not found.is_bounded for found in sets):
            return EVERYTHING
        sets = _of_one_type(sets)
        numbers = [found for found in sets if _are_numbers(found)]
        others = [found for found in sets if not _are_numbers(found)]
        if len(others) > _MOST_ENDS or not always_defined(*others):
            return EVERYTHING
        total = union([*numbers, *others], self.analyzer)
        ends = [end for end in (total.min, total.max) if end is not None]
        # Ends are made of nothing else, but what they would mean otherwise is too bad.
        known = all(self._position(leaf) < scope.position for leaf in leaf_values(*ends))
        return total if known else EVERYTHING


def _covers(box: Box, shape: Sequence[int | SSAValue]) -> bool:
    """Whether a box holds all of a buffer, as numbers say."""
    return all(
        isinstance(size, int)
        and found.min is not None
        and found.max is not None
        and smart.literal(found.min) == 0
        and smart.literal(found.max) == size - 1
        for found, size in zip(box, shape, strict=True)
    )


# ---- blocks ----

_Regions = dict[SSAValue, list[tir.BufferRegion]]


class _Declared:
    """What a block declares to access."""

    def __init__(self, block: tir.BlockOp) -> None:
        self.regions: _Regions = {}
        self.explicit: tuple[_Regions, _Regions] = {}, {}
        """What stands for the loads of a buffer, and for the stores."""
        found: list[Sequence[tir.BufferRegion]] = [(), ()]
        for op in block.body.block.ops:
            if isinstance(op, tir.ReadsOp | tir.WritesOp):
                regions = found[isinstance(op, tir.WritesOp)] = op.buffer_regions
                for region in regions:
                    self.regions.setdefault(region.buffer, []).append(region)
        for key, regions, chosen in zip(_EXPLICIT, found, self.explicit, strict=True):
            for item in entry(block.annotations, key):
                region = _numbered(block, key, regions, integer_of(item))
                chosen.setdefault(region.buffer, []).append(region)


def _numbered(
    block: tir.BlockOp,
    key: str,
    regions: Sequence[tir.BufferRegion],
    number: int | None,
) -> tir.BufferRegion:
    if number is None or not 0 <= number < len(regions):
        raise PassFailedException(
            f"{describe(block)}: {key} names region {number}, but the block declares "
            f"{len(regions)}; count them from 0"
        )
    return regions[number]


# ---- variables ----


def _axis_of(variable: SSAValue) -> tir.ThreadAxis | None:
    """The thread axis that a variable is the index on."""
    assert isinstance(variable, BlockArgument)
    match variable.owner.parent_op():
        case tir.ForOp() as loop:
            return loop.thread_axis
        case tir.LaunchThreadOp() as launch:
            return launch.axis
        case _:
            return None


def _depends(
    iterator: _Iterator, found: AbstractSet[Expr], bodies: AbstractSet[Block]
) -> bool:
    """Whether the bounds of a loop may be others for other values of some variables."""
    if iterator.domain is None:
        return True
    leaves = leaf_values(iterator.domain.min, iterator.domain.extent)
    return any(Value(leaf) in found or varies(Value(leaf), bodies) for leaf in leaves)


def _runs_its_body(op: Operation) -> bool:
    match op:
        case tir.BlockOp():
            return op.predicate is None
        case tir.ForOp(thread_tag=None):
            extent = tir.constant_value(op.extent)
            return extent is not None and extent > 0
        case _:
            return isinstance(op, tir.AttrOp | tir.ScopeOp)


def _is_barrier(callee: str) -> bool:
    return callee == "tvm_storage_sync" or "barrier" in callee


def _is_parameter(value: SSAValue) -> bool:
    """Whether a value is a parameter of a function, or a symbol of a shape."""
    if isinstance(value, BlockArgument):
        return isinstance(value.owner.parent_op(), tir.FuncOp)
    return isinstance(value.owner, tir.ShapeVarOp)


# ---- trees ----


def _terms(tree: Expr) -> Iterator[tuple[int, Expr]]:
    """The terms of a sum, each with its sign."""
    pending = [(1, tree)]
    while pending:
        sign, node = pending.pop()
        match node:
            case Add(lhs, rhs):
                pending += ((sign, rhs), (sign, lhs))
            case Sub(lhs, rhs):
                pending += ((-sign, rhs), (sign, lhs))
            case _:
                yield sign, node


def _sum(terms: Sequence[tuple[int, Expr]]) -> Expr:
    """The sum of terms, of which there are some."""
    positive = [term for sign, term in terms if sign > 0]
    negative = [term for sign, term in terms if sign < 0]
    zero = smart.const(0, (positive or negative)[0].dtype)
    return reduce(smart.sub, negative, reduce(smart.add, positive, zero))


# ---- sets ----


def _trees(side: Side) -> tuple[Expr, ...]:
    match side:
        case None:
            return ()
        case Range():
            return side.min, side.extent
        case _:
            return (side,)


def _is_empty(domain: Range) -> bool:
    number = smart.literal(domain.extent)
    return number is not None and number <= 0


def _is_inequality(condition: Expr) -> bool:
    return (
        isinstance(condition, Cmp)
        and condition.predicate in _INEQUALITIES
        and is_index_type(condition.lhs.dtype)
    )


def _of_one_type(sets: list[IntSet]) -> list[IntSet]:
    """The sets with ends of one type, the wider one of two."""
    ends = [end for found in sets for end in (found.min, found.max) if end is not None]
    if len({end.dtype for end in ends}) < 2:
        return sets
    return [
        IntSet(smart.cast(i64, found.min), smart.cast(i64, found.max))
        for found in sets
        if found.min is not None and found.max is not None
    ]


def _are_numbers(found: IntSet) -> bool:
    return isinstance(found.min, Const) and isinstance(found.max, Const)
