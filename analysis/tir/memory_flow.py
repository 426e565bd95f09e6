"""One walk over a program, forward or backward, with statements about its memory.

Forward, they say what elements hold; backward, which are overwritten before they are
read. What ops touch makes holes in them: writes forward, reads backward.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from itertools import islice
from typing import TypeAlias, TypeVar

from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.traits import MemoryEffectKind, get_effects

from xdsl_tvm.analysis.arith import smart
from xdsl_tvm.analysis.arith.analyzer import Range
from xdsl_tvm.analysis.arith.expr import (
    Broadcast,
    Cmp,
    Const,
    Expr,
    Or,
    Ramp,
    Value,
    leaf_values,
    postorder,
    substitute,
)
from xdsl_tvm.analysis.arith.facts import conjuncts, negated
from xdsl_tvm.analysis.tir.known_contents import (
    MAX_HOLES,
    Known,
    Space,
    Span,
    Touch,
    environment,
    whole,
    without_values_in,
)
from xdsl_tvm.analysis.tir.known_contents import Region as Elements
from xdsl_tvm.analysis.tir.memory_order import memory_of
from xdsl_tvm.analysis.tir.side_effect import is_assume
from xdsl_tvm.dialects import tir
from xdsl_tvm.dialects.tir import CmpPredicate, ForKind

MAX_KNOWN = 8
"""Statements about one buffer that are kept, and touches of it that are told apart."""
MAX_SIZE = 64
"""Nodes of values with what is known put in; of larger ones the loads stay."""
MAX_BUFFERS = 32
"""Buffers about which statements are kept at one time."""

State: TypeAlias = dict[SSAValue, tuple[Known, ...]]
"""The statements about each buffer, oldest first."""
Touches: TypeAlias = dict[SSAValue, tuple[Touch, ...]]
"""What is touched of each buffer."""
Stores: TypeAlias = dict[SSAValue, tuple[tir.StoreOp, ...]]
"""The stores to each buffer; of many, not all."""
Changes: TypeAlias = dict[int, tuple[Touch, ...]]
"""What may change of the elements that a statement is about, by its serial number."""
_Key = TypeVar("_Key")

_ONCE = (tir.ScopeOp, tir.AttrOp, tir.IfOp, tir.IfThenElseOp, tir.InitOp)
_LOOPS = (tir.ForOp, tir.LaunchThreadOp)
_Loop: TypeAlias = tir.ForOp | tir.LaunchThreadOp


_AT_OTHER_TIMES = ("volatile_scope", "async_scope", "async_commit_queue_scope")


def with_known_loads(tree: Expr, value_of: Callable[[tir.LoadOp], Expr | None]) -> Expr:
    """The tree with loads replaced by their values, and so on in those values."""
    values: dict[SSAValue, Expr | None] = {}
    for _ in range(MAX_KNOWN):
        replaced: dict[Expr, Expr] = {}
        for leaf in leaf_values(tree):
            if isinstance(leaf.owner, tir.LoadOp):
                if leaf not in values:
                    values[leaf] = value_of(leaf.owner)
                if (known := values[leaf]) is not None:
                    replaced[Value(leaf)] = known
        if not replaced:
            break
        tree = substitute(tree, replaced)
    return tree


def is_volatile(op: Operation) -> bool:
    """Whether it says that memory may change, or be accessed, at other times."""
    return isinstance(op, tir.AttrOp) and op.key.data in _AT_OTHER_TIMES


def _kinds(op: Operation) -> set[MemoryEffectKind] | None:
    effects = get_effects(op)
    return None if effects is None else {effect.kind for effect in effects}


class _Touched:
    """What ops touch, in terms of values outside of them."""

    def __init__(
        self, space: Space, access: type[tir.LoadOp | tir.StoreOp], *, reads: bool
    ) -> None:
        self._space = space
        self._access = access
        self._reads = reads
        self._known: dict[Region, Touches | None] = {}

    def by_op(self, op: Operation) -> Touches | None:
        """By an op without regions; None where it may be anything."""
        if isinstance(op, tir.LoadOp | tir.StoreOp):
            if not isinstance(op, self._access):
                return {}
            return {op.buffer: (self._space.touch(op.indices),)}
        if is_assume(op):
            return {}
        kinds = _kinds(op)
        if kinds is None or MemoryEffectKind.WRITE in kinds:
            return None
        if not self._reads:
            return {}
        # After a failed assertion the caller sees the memory as it is.
        seen = MemoryEffectKind.READ in kinds or isinstance(op, tir.AssertOp)
        return None if seen else {}

    def by_region(self, region: Region) -> Touches | None:
        """By all ops in a region; they may be given in terms of its arguments."""
        if region not in self._known:
            self._known[region] = self._merged(
                self._by_any(op) for block in region.blocks for op in block.ops
            )
        return self._known[region]

    def by_regions(self, op: Operation) -> Touches | None:
        """By all ops in the regions of an op, in terms of values outside of it."""
        found = self._merged(map(self.by_region, op.regions))
        return None if found is None else _outside(op, found)

    def by_iteration(self, op: _Loop, variable: Value) -> Touches | None:
        """By one iteration of a loop, in terms of the variable and values outside."""
        found = self.by_region(op.body)
        return None if found is None else _outside(op, found, variable)

    def _by_any(self, op: Operation) -> Touches | None:
        if not op.regions:
            return self.by_op(op)
        if isinstance(op, tir.ReducerOp):
            return {}
        if isinstance(op, _LOOPS):
            return self._by_loop(op)
        if is_volatile(op):
            return None
        if isinstance(op, (*_ONCE, tir.BlockOp)):
            return self.by_regions(op)
        if isinstance(op, tir.WhileOp) and not self._reads:
            return self.by_regions(op)
        return {} if get_effects(op) == set() else None

    def _by_loop(self, op: _Loop) -> Touches | None:
        variable, full = range_of(op, self._space)
        found = self.by_iteration(op, variable)
        if found is None or full is None:
            return self.by_regions(op)
        return over(found, [whole(variable, full)], self._space)

    def _merged(self, parts: Iterable[Touches | None]) -> Touches | None:
        merged: Touches = {}
        for part in parts:
            if part is None:
                return None
            for buffer, touches in part.items():
                both = tuple(dict.fromkeys((*merged.get(buffer, ()), *touches)))
                merged[buffer] = both if len(both) <= MAX_KNOWN else (Touch((), ()),)
        return merged


def _is_inside(value: SSAValue, op: Operation) -> bool:
    return op.is_ancestor(value.owner)


def _outside(op: Operation, found: Touches, variable: Value | None = None) -> Touches:
    """What is touched, in terms of the variable and values outside of an op.

    Memory that is allocated inside counts no more; a view that is made inside stands for
    all of its memory.
    """
    outside: Touches = {}
    for buffer, touches in found.items():
        if not _is_inside(buffer, op):
            outside[buffer] = tuple(
                replace(touch, where=without_values_in(op, touch.where, variable))
                for touch in touches
            )
            continue
        memory = memory_of(buffer)
        if not (isinstance(memory, SSAValue) and _is_inside(memory, op)):
            outside[buffer] = (Touch((), ()),)
    return outside


def over(
    touches: Mapping[_Key, tuple[Touch, ...]], spans: Sequence[Span], space: Space
) -> dict[_Key, tuple[Touch, ...]]:
    """What is touched in the iterations of spans."""
    return {
        key: tuple(
            replace(touch, where=space.covering(touch.where, span))
            for touch in each
            for span in spans
        )
        for key, each in touches.items()
    }


def range_of(op: _Loop, space: Space) -> tuple[Value, Range | None]:
    """The variable of a loop, and what it is in; None where types differ."""
    if isinstance(op, tir.ForOp):
        low, extent, variable = space.tree(op.min), space.tree(op.extent), op.loop_var
    else:
        extent, variable = space.tree(op.extent), op.thread_var
        low = smart.const(0, extent.dtype)
    same = low.dtype == extent.dtype == variable.type
    return Value(variable), Range(low, extent) if same else None


class _Flow(ABC):
    """A walk in one direction.

    `record` receives, for loads and stores, the statements about their buffer: those
    that hold before the op forward, after it backward.
    """

    def __init__(
        self, space: Space, record: dict[Operation, tuple[Known, ...]], touched: _Touched
    ) -> None:
        self._space = space
        self._record = record
        self._touched = touched

    def run(self, root: Operation) -> None:
        """Walk over the regions of an op, each with nothing known."""
        for region in root.regions:
            self._region(region, {})

    # ---- what a direction defines ----

    @abstractmethod
    def _ops(self, block: Block) -> Sequence[Operation]:
        """The ops of a block in the order of the walk."""

    @abstractmethod
    def _plain(self, op: Operation, state: State) -> None:
        """An op without regions."""

    @abstractmethod
    def _done_before(self, span: Span, value: Expr) -> tuple[Span, Expr]:
        """The iterations that a serial loop runs before the one with this value, and the
        value of the iteration that is last, both in the order of the walk."""

    @abstractmethod
    def _done_after(self, span: Span, value: Expr) -> Span:
        """The iterations after that with this value, in the order of the walk."""

    @abstractmethod
    def _enter(self, op: Operation, holds: Expr, state: State) -> None:
        """A branch of an op is entered, where this holds."""

    @abstractmethod
    def _changes(self, op: _Loop, state: State, touches: Touches) -> Changes:
        """For statements that hold before a loop, where an iteration may change them.

        It may leave statements out: all that the iteration touches may change then.
        """

    @abstractmethod
    def _interrupted(self) -> None:
        """Something may have been touched."""

    # ---- structure ----

    def _region(self, region: Region, state: State) -> None:
        for block in region.blocks:
            if len(region.blocks) > 1:
                state.clear()
            for op in self._ops(block):
                self._step(op, state)
        if len(region.blocks) > 1:
            state.clear()

    def _step(self, op: Operation, state: State) -> None:
        match op:
            case tir.ReducerOp():
                pass
            case tir.ForOp() | tir.LaunchThreadOp():
                self._loop(op, state)
            case tir.IfOp() | tir.IfThenElseOp():
                self._choice(op, state)
            case tir.BlockOp():
                self._block(op, state)
            case tir.AttrOp() if is_volatile(op):
                self._interrupted()
                state.clear()
            case tir.ScopeOp() | tir.AttrOp():
                self._region(op.body, state)
                self._leave(op, state)
            case _ if op.regions:
                self._unknown(op, state)
            case _:
                self._plain(op, state)

    def _unknown(self, op: Operation, state: State) -> None:
        """An op whose regions run who knows how often: a `tir.while`, an init."""
        self._interrupted()
        touches = self._touched.by_regions(op)
        known = isinstance(op, tir.WhileOp | tir.InitOp) and touches is not None
        if known and touches is not None:
            self._touch_all(state, touches)
        elif get_effects(op) != set():
            state.clear()
        for region in op.regions:
            self._region(region, dict(state) if known else {})

    def _choice(self, op: tir.IfOp | tir.IfThenElseOp, state: State) -> None:
        condition = self._space.tree(op.condition)
        regions = [*op.regions, None][:2]
        arms = [(holds, dict(state)) for holds in (condition, negated(condition))]
        for holds, arm in arms:
            self._enter(op, holds, arm)
        for region, (holds, arm) in zip(regions, arms, strict=True):
            if region is not None:
                with self._space.analyzer.constraint(holds):
                    self._region(region, arm)
            for buffer, known in list(arm.items()):
                self._put(arm, buffer, [each for each in known if each.source is not op])
        self._set(state, _joined(*arms))
        self._leave(op, state)

    def _block(self, op: tir.BlockOp, state: State) -> None:
        """A block runs once, where its predicate holds, with variables that are bound."""
        before = dict(state)
        bindings: dict[Expr, Expr] = {}
        for variable, binding in zip(op.iter_vars, op.iter_values, strict=True):
            if variable.type == binding.type:
                bindings[Value(variable)] = self._space.tree(binding)
        with self._space.analyzer.assumed(()):
            for variable, binding in bindings.items():
                self._space.analyzer.bind(variable, binding)
            self._region(op.body, state)
        if op.predicate is not None:
            holds = self._space.tree(op.predicate)
            self._set(state, _joined((holds, state), (negated(holds), before)))
        for buffer, known in state.items():
            state[buffer] = tuple(each.substituted(bindings) for each in known)
        self._leave(op, state)

    # ---- loops ----

    def _loop(self, op: _Loop, state: State) -> None:
        variable, full = range_of(op, self._space)
        touches = self._touched.by_iteration(op, variable)
        if touches is None or full is None:
            self._interrupted()
            self._region(op.body, {})
            state.clear()
            return
        if touches:
            self._interrupted()
        span = whole(variable, full)
        serial = isinstance(op, tir.ForOp) and op.kind.data in _IN_ORDER
        changes = self._changes(op, state, touches)
        old = {known.serial for each in state.values() for known in each}
        inner = dict(state)
        spans = self._before(span, variable, serial)
        self._touch_all(inner, touches, changes, spans)
        with self._space.analyzer.assumed(()):
            self._space.analyzer.bind(variable, full)
            self._region(op.body, inner)
        # What was so before stays so apart from what the whole loop touches.
        self._touch_all(state, touches, changes, (span,))
        for buffer, each in inner.items():
            for known in each:
                if known.serial not in old:
                    behind = self._behind(known, span, touches.get(buffer, ()), serial)
                    if behind is not None:
                        self._add(state, buffer, behind)
        self._leave(op, state)

    def _before(self, span: Span, value: Expr, serial: bool) -> tuple[Span, ...]:
        earlier = self._done_before(span, value)[0]
        return (earlier,) if serial else (earlier, self._done_after(span, value))

    def _behind(
        self, known: Known, span: Span, touches: Sequence[Touch], serial: bool
    ) -> Known | None:
        """What a statement about the end of an iteration says when the loop is over."""
        variable = span.variable
        solved = self._space.solved(known.where, variable, span.full)
        if solved is None:
            # The last iteration has the last word, if there is one.
            if not serial:
                return None
            last = self._done_before(span, variable)[1]
            return known.substituted({variable: last}).limited(span.is_some)
        where, value = solved
        moved = replace(known.substituted({variable: value}), where=where)
        found: Known | None = moved.limited(*span.around(value))
        others = [self._done_after(span, value)]
        if not serial:
            others.append(self._done_before(span, value)[0])
        for touch in touches:
            for other in others:
                if found is not None:
                    where = self._space.covering(touch.where, other)
                    found = self._without(found, Touch(touch.axes, where))
        return found

    # ---- statements ----

    def _touch_all(
        self,
        state: State,
        touches: Touches,
        changes: Changes | None = None,
        spans: Sequence[Span] = (),
    ) -> None:
        """Touch what the iterations of spans touch, if there are spans."""
        changes = changes or {}
        if spans:
            touches = over(touches, spans, self._space)
            changes = over(changes, spans, self._space)
        for buffer, each in touches.items():
            self._touch(state, buffer, each, changes)

    def _touch(
        self,
        state: State,
        buffer: SSAValue,
        touches: Sequence[Touch],
        changes: Changes | None = None,
    ) -> None:
        """Something is touched: make holes, and drop what is said of the same memory.

        For statements that are keys of `changes`, only those touches make holes.
        """
        self._interrupted()
        memory = memory_of(buffer)
        for other in list(state):
            if other is buffer:
                continue
            if memory is None or memory_of(other) in (memory, None):
                del state[other]
        kept: list[Known] = []
        for known in state.get(buffer, ()):
            left: Known | None = known
            for touch in (changes or {}).get(known.serial, touches):
                left = None if left is None else self._without(left, touch)
            if left is not None:
                kept.append(left)
        self._put(state, buffer, kept)

    def _without(self, known: Known, touch: Touch) -> Known | None:
        """The statement about the elements that are not touched."""
        if touch.axes is not known.axes:
            return None
        hole = self._hole(known, touch.where)
        if hole is None:
            return known
        return None if not hole else known.with_holes((*known.holes, hole))

    def _hole(self, known: Known, where: Elements) -> Elements | None:
        """The part of a region that matters for a statement; None for no element.

        Nothing is left of the conditions where it is all of the statement's elements.
        """
        equal = {
            part.lhs: part.rhs
            for part in known.where
            if isinstance(part, Cmp)
            and part.predicate is CmpPredicate.EQ
            and part.lhs in known.axes
        }
        kept: list[Expr] = []
        for part in where:
            seen = self._space.analyzer.simplify(substitute(part, equal))
            if not isinstance(seen, Const):
                kept.append(part)
            elif not seen.value:
                return None
        return tuple(kept)

    def _add(self, state: State, buffer: SSAValue, known: Known) -> None:
        if tir.buffer_definition(buffer).layout_strides:
            # Elements with different indices may be one.
            return
        self._put(state, buffer, [*state.get(buffer, ()), known])

    def _put(self, state: State, buffer: SSAValue, known: Sequence[Known]) -> None:
        state.pop(buffer, None)
        if known:
            state[buffer] = tuple(known[-MAX_KNOWN:])
        if len(state) > MAX_BUFFERS:
            del state[next(iter(state))]

    def _set(self, state: State, new: State) -> None:
        state.clear()
        for buffer, known in new.items():
            self._put(state, buffer, known)

    def _leave(self, op: Operation, state: State) -> None:
        """Drop what needs values that are defined in an op."""
        for buffer, known in list(state.items()):
            if _is_inside(buffer, op):
                del state[buffer]
                continue
            left = (each.outside(op) for each in known)
            self._put(state, buffer, [each for each in left if each is not None])


_IN_ORDER = (ForKind.SERIAL, ForKind.UNROLLED)


def _joined(first: tuple[Expr, State], second: tuple[Expr, State]) -> State:
    """What is so where one of two conditions holds, each with what is then so."""
    (here, one), (there, two) = first, second
    joined: State = {}
    for buffer in dict.fromkeys((*one, *two)):
        others = {known.serial: known for known in two.get(buffer, ())}
        found: list[Known | None] = []
        for known in one.get(buffer, ()):
            other = others.pop(known.serial, None)
            if other is None:
                found.append(known.limited(here))
            else:
                found.append(_of_both(known, here, other, there))
        found += [other.limited(there) for other in others.values()]
        joined[buffer] = tuple(known for known in found if known is not None)
    return joined


def _of_both(known: Known, here: Expr, other: Known, there: Expr) -> Known | None:
    """One statement that has got holes where one of two conditions holds."""
    common = [hole for hole in known.holes if hole in other.holes]
    holes = [(here, *hole) for hole in known.holes if hole not in common]
    holes += [(there, *hole) for hole in other.holes if hole not in common]
    return known.with_holes([*common, *holes])


class Forward(_Flow):
    """What elements hold."""

    def __init__(self, space: Space, record: dict[Operation, tuple[Known, ...]]) -> None:
        super().__init__(space, record, _Touched(space, tir.StoreOp, reads=False))
        self._clock = 0
        self._read_at: dict[Operation, int] = {}
        self._stores: dict[Operation, Stores] = {}

    def _ops(self, block: Block) -> Sequence[Operation]:
        return list(block.ops)

    def _done_before(self, span: Span, value: Expr) -> tuple[Span, Expr]:
        return replace(span, high=value), smart.sub(span.high, 1)

    def _done_after(self, span: Span, value: Expr) -> Span:
        return replace(span, low=smart.add(value, 1))

    def _enter(self, op: Operation, holds: Expr, state: State) -> None:
        for part in conjuncts(holds):
            self._assume(op, part, state, exact=True)

    def _interrupted(self) -> None:
        self._clock += 1

    def _plain(self, op: Operation, state: State) -> None:
        match op:
            case tir.LoadOp():
                self._record[op] = state.get(op.buffer, ())
                self._read_at[op] = self._clock
            case tir.StoreOp():
                self._record[op] = state.get(op.buffer, ())
                self._store(op, state)
            case tir.CallOp() if is_assume(op):
                for part in conjuncts(self._space.tree(op.operands[0])):
                    self._assume(op, part, state)
            case _:
                if self._touched.by_op(op) is None:
                    self._interrupted()
                    state.clear()

    def _store(self, op: tir.StoreOp, state: State) -> None:
        self._touch(state, op.buffer, (self._space.touch(op.indices),))
        indices = self._space.indices(op.indices)
        if indices is None or op.predicate is not None:
            return
        value: Expr | None = self._known_value(op.value)
        where = self._space.region(indices)
        axes = self._space.axes(indices.trees)
        if indices.lane is not None:
            value = _of_lane(value, indices.lane)
        if value is None:
            return
        known: Known | None = Known(axes, where, value, op)
        if indices.lane is not None:
            span = whole(indices.lane, indices.lane_range)
            known = self._behind(known, span, (), serial=False)
        if known is not None:
            self._add(state, op.buffer, known)

    # ---- what loops leave as it is ----

    def _changes(self, op: _Loop, state: State, touches: Touches) -> Changes:
        """Stores of a loop that write what is there, as zeros are added to padding.

        By induction over the iterations: if each store writes to its element the value of
        the statement, provided that the element held it before and that conditions hold
        on what the loop only reads, then the statement stays true of all elements that no
        store touches where a condition fails.
        """
        changes: Changes = {}
        if not any(buffer in touches for buffer in state):
            return changes
        all_stores = self._stores_in(op)
        for buffer, each in state.items():
            stores = all_stores.get(buffer, ()) if buffer in touches else ()
            if not stores or len(stores) > MAX_KNOWN:
                continue
            for known in each:
                found: list[Touch] = []
                for store in stores:
                    changed = self._changed_by(store, op, known, state, touches)
                    if changed is None:
                        break
                    found += changed
                else:
                    if len(found) <= MAX_HOLES:
                        changes[known.serial] = tuple(found)
        return changes

    def _stores_in(self, op: Operation) -> Stores:
        found = self._stores.get(op)
        if found is None:
            found = self._stores[op] = {}
            for region in op.regions:
                for block in region.blocks:
                    for each in block.ops:
                        if isinstance(each, tir.StoreOp):
                            inner: Stores = {each.buffer: (each,)}
                        else:
                            inner = self._stores_in(each) if each.regions else {}
                        for buffer, stores in inner.items():
                            merged = (*found.get(buffer, ()), *stores)
                            found[buffer] = merged[: MAX_KNOWN + 1]
        return found

    def _changed_by(
        self,
        store: tir.StoreOp,
        loop: _Loop,
        known: Known,
        state: State,
        touches: Touches,
    ) -> list[Touch] | None:
        """Where a store in an iteration may write another value than the known one.

        In terms of the variable of the loop and values outside. None where that may be
        wherever it writes.
        """
        indices = self._space.indices(store.indices)
        surroundings = self._around(store, loop)
        if (
            indices is None
            or indices.lane is not None
            or known.axes is not self._space.axes(indices.trees)
            or surroundings is None
            or known.value is None
            or not tir.is_integer(known.value.dtype)
        ):
            return None
        given, spans = surroundings
        expected = substitute(known.value, environment(known, indices))
        needed: list[Expr] = []
        replaced: dict[Expr, Expr] = {}
        value = self._space.tree(store.value)
        for leaf in leaf_values(value):
            load = leaf.owner
            if not (isinstance(load, tir.LoadOp) and loop.is_ancestor(load)):
                continue
            if load.predicate is not None:
                continue
            at = self._space.indices(load.indices)
            if load.buffer is store.buffer:
                if at is not None and at.trees == indices.trees:
                    replaced[Value(leaf)] = expected
            elif at is not None and at.lane is None:
                read = self._read_only(load, state, touches)
                if read is None or read.axes is not self._space.axes(at.trees):
                    continue
                element: dict[Expr, Expr] = environment(read, at)
                if read.value is not None:
                    replaced[Value(leaf)] = substitute(read.value, element)
                    needed += [substitute(part, element) for part in read.where]
        element = dict(zip(known.axes, indices.trees, strict=True))
        expected = substitute(known.value, element)
        value = substitute(
            value, {k: substitute(v, element) for k, v in replaced.items()}
        )
        analyzer = self._space.analyzer
        with ExitStack() as scopes:
            scopes.enter_context(analyzer.assumed(()))
            for span in reversed(spans):
                analyzer.bind(span.variable, span.full)
            for condition in given:
                scopes.enter_context(analyzer.constraint(condition))
            if value.dtype != expected.dtype or not analyzer.can_prove_equal(
                value, expected
            ):
                return None
            needed = [part for part in needed if not analyzer.can_prove(part)]
        found: list[Touch] = []
        for part in dict.fromkeys(needed):
            where = (*self._space.region(indices), *conjuncts(negated(part)))
            for condition in given:
                where += tuple(conjuncts(condition))
            for span in spans[:-1]:
                where = self._space.covering(where, span)
            where = without_values_in(loop, where, spans[-1].variable)
            found.append(Touch(known.axes, where))
        return found

    def _around(self, op: Operation, loop: _Loop) -> tuple[list[Expr], list[Span]] | None:
        """Conditions and loops around an op, innermost first, the last one `loop`.

        None where they are not all there is around it.
        """
        given: list[Expr] = []
        spans: list[Span] = []
        inner: Operation = op
        while inner is not loop:
            outer = inner.parent_op()
            match outer:
                case tir.IfOp():
                    condition = self._space.tree(outer.condition)
                    is_else = inner.parent_region() is not outer.then_region
                    given.append(negated(condition) if is_else else condition)
                case tir.ForOp() | tir.LaunchThreadOp():
                    variable, full = range_of(outer, self._space)
                    if full is None:
                        return None
                    spans.append(whole(variable, full))
                case tir.ScopeOp():
                    pass
                case _:
                    return None
            inner = outer
        return given, spans

    def _read_only(
        self, load: tir.LoadOp, state: State, touches: Touches
    ) -> Known | None:
        """What is known of elements like the loaded one, if touches leave its memory."""
        each = [known for known in state.get(load.buffer, ()) if not known.holes]
        memory = memory_of(load.buffer)
        if not each or memory is None:
            return None
        if any(memory_of(touched) in (memory, None) for touched in touches):
            return None
        return each[-1]

    def _known_value(self, value: SSAValue) -> Expr:
        """What is stored, if possible in terms of what is not loaded."""
        tree = self._space.tree(value)
        known = with_known_loads(tree, self._value_of)
        is_small = (
            known is tree or len(list(islice(postorder(known), MAX_SIZE))) < MAX_SIZE
        )
        return known if is_small else tree

    def _value_of(self, load: tir.LoadOp) -> Expr | None:
        if load.predicate is not None:
            return None
        found, analyzer = self._record.get(load, ()), self._space.analyzer
        return self._space.value(found, load.indices, load.result.type, analyzer)

    def _assume(
        self, op: Operation, part: Expr, state: State, *, exact: bool = False
    ) -> None:
        """What one of several conditions says of an element, if the others are false.

        Only what TVM concludes from a branch if it must be `exact`: values without loads,
        and no floats, of which 0.0 equals -0.0.
        """
        pieces = _disjuncts(part)
        for position, piece in enumerate(pieces):
            match piece:
                case Cmp(predicate=CmpPredicate.EQ, lhs=Value() as lhs, rhs=rhs) if (
                    self._is_fresh(lhs)
                ):
                    load, value = lhs.value.owner, rhs
                case Cmp(predicate=CmpPredicate.EQ, lhs=lhs, rhs=Value() as rhs) if (
                    self._is_fresh(rhs)
                ):
                    load, value = rhs.value.owner, lhs
                case _:
                    continue
            assert isinstance(load, tir.LoadOp)
            if exact and not (tir.is_integer(value.dtype) and _is_load_free(value)):
                continue
            indices = self._space.indices(load.indices)
            if indices is None or indices.lane is not None:
                continue
            others = (*pieces[:position], *pieces[position + 1 :])
            where = (*self._space.region(indices), *map(negated, others))
            axes = self._space.axes(indices.trees)
            self._add(state, load.buffer, Known(axes, where, value, op))
            return

    def _is_fresh(self, node: Value) -> bool:
        """Whether it is what memory holds now."""
        load = node.value.owner
        return (
            isinstance(load, tir.LoadOp)
            and load.predicate is None
            and self._read_at.get(load) == self._clock
        )


def _is_load_free(tree: Expr) -> bool:
    return not any(isinstance(leaf.owner, tir.LoadOp) for leaf in leaf_values(tree))


def _disjuncts(condition: Expr) -> tuple[Expr, ...]:
    found: list[Expr] = []
    stack = [condition]
    while stack:
        match stack.pop():
            case Or(lhs, rhs):
                stack += (rhs, lhs)
            case part:
                found.append(part)
    return tuple(found)


def _of_lane(value: Expr | None, lane: Value) -> Expr | None:
    """One lane of a vector, if it is known how lanes differ."""
    match value:
        case Broadcast(value=inner):
            return inner
        case Ramp(base=base, stride=stride) if base.dtype == lane.dtype:
            return smart.add(base, smart.mul(stride, lane))
        case _:
            return None


class Backward(_Flow):
    """Which elements are overwritten before they are read."""

    def __init__(self, space: Space, record: dict[Operation, tuple[Known, ...]]) -> None:
        super().__init__(space, record, _Touched(space, tir.LoadOp, reads=True))

    def _ops(self, block: Block) -> Sequence[Operation]:
        return list(reversed(block.ops))

    def _done_before(self, span: Span, value: Expr) -> tuple[Span, Expr]:
        return replace(span, low=smart.add(value, 1)), span.low

    def _done_after(self, span: Span, value: Expr) -> Span:
        return replace(span, high=value)

    def _enter(self, op: Operation, holds: Expr, state: State) -> None:
        """Nothing to do: that an element will be overwritten is no matter of values."""

    def _changes(self, op: _Loop, state: State, touches: Touches) -> Changes:
        """None are told apart: any read makes a difference."""
        return {}

    def _interrupted(self) -> None:
        """Nothing to do: no statement depends on when it is made."""

    def _plain(self, op: Operation, state: State) -> None:
        match op:
            case tir.StoreOp():
                self._record[op] = state.get(op.buffer, ())
                self._store(op, state)
            case tir.LoadOp():
                self._touch(state, op.buffer, (self._space.touch(op.indices),))
            case _:
                if self._touched.by_op(op) is None:
                    state.clear()

    def _store(self, op: tir.StoreOp, state: State) -> None:
        indices = self._space.indices(op.indices)
        if indices is None or op.predicate is not None:
            return
        touch = self._space.touch(op.indices)
        if indices.lane is None or self._space.solved(
            self._space.region(indices), indices.lane, indices.lane_range
        ):
            self._add(state, op.buffer, Known(touch.axes, touch.where, None, op))
