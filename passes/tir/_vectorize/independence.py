"""Whether the iterations of a loop may run as lanes: no lane meets what another writes.

A vectorized loop runs each of its statements for all iterations before the next. That is
the loop as written if no iteration accesses a place that another one writes.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from xdsl.ir import Block, Operation, SSAValue
from xdsl.traits import MemoryEffectKind, get_effects

from xdsl_tvm.analysis.all_ops import all_ops
from xdsl_tvm.analysis.arith.analyzer import Analyzer, Range
from xdsl_tvm.analysis.arith.expr import (
    Const,
    Expr,
    Ramp,
    Value,
    is_expression_class,
    leaf_values,
    view,
)
from xdsl_tvm.analysis.arith.polynomial import Monomial, Polynomial, polynomial
from xdsl_tvm.analysis.tir.memory_order import Memory, memory_of
from xdsl_tvm.dialects import tir
from xdsl_tvm.dialects.tir.types import is_index_type

_MOST_PLACES = 256
"""More accesses of different places of one memory are not compared."""

_ONCE = (tir.IfOp, tir.IfThenElseOp, tir.ScopeOp, tir.AttrOp, tir.BlockOp, tir.InitOp)


class _Index(NamedTuple):
    """The values of an index: `stride * lane + outer + [low, high]`."""

    stride: int
    outer: Polynomial
    low: int
    high: int


class _Footprint(NamedTuple):
    """What an access may touch, by dimension; None where that is not known."""

    buffer: SSAValue | None
    indices: tuple[_Index | None, ...]
    writes: bool
    repeated: bool
    """Whether a lane may come there more than once."""


@dataclass
class _Accesses:
    """The accesses in a loop, by memory."""

    by_memory: dict[Memory, dict[_Footprint, int]] = field(
        default_factory=dict[Memory, dict[_Footprint, int]]
    )
    """How many ops there are to a place."""
    writes: bool = False
    reads_anything: bool = False
    writes_anything: bool = False

    def add(self, memory: Memory, place: _Footprint) -> None:
        places = self.by_memory.setdefault(memory, {})
        places[place] = places.get(place, 0) + 1
        self.writes |= place.writes


def lanes_are_independent(loop: tir.ForOp, lanes: int | None) -> bool:
    """Whether the statements of a loop can run one by one for all of its iterations.

    `lanes` is the number of iterations, None where only the running program knows. True
    is certain, under the promise that buffers of different parameters do not overlap;
    False says that it could not be shown. A store may meet itself in another lane, as
    lanes are written in their order. Linear in the size of the loop.
    """
    walk = _AccessCollector(loop)
    found = walk.accesses
    if found.writes_anything or (found.reads_anything and found.writes):
        return False
    unknown = found.by_memory.get(None)
    if unknown is not None and found.writes and len(found.by_memory) > 1:
        return False
    return all(
        _are_apart(places, lanes)
        for memory, places in found.by_memory.items()
        if memory not in walk.inside
    )


class _AccessCollector:
    """Collects the accesses of a loop."""

    def __init__(self, loop: tir.ForOp) -> None:
        self.accesses = _Accesses()
        self.inside: set[Memory] = set()
        """The values that the loop defines, its memory among them."""
        self._variable = Value(loop.loop_var)
        self._trees: dict[SSAValue, Expr] = {}
        self._analyzer = Analyzer()
        self._kinds: dict[Expr, str] = {}
        self._forms: dict[Expr, _Index | None] = {}
        self._ops: dict[Memory, list[tuple[tir.LoadOp | tir.StoreOp, bool]]] = {}
        """Loads and stores, and whether a lane may come there more than once."""
        self._bind(loop)
        self._block(loop.body.block, repeated=False)
        self._add_accesses()

    def _bind(self, loop: tir.ForOp) -> None:
        low, extent = (view(value, self._trees) for value in (loop.min, loop.extent))
        if loop.loop_var not in leaf_values(low, extent):
            self._analyzer.bind(loop.loop_var, Range(low, extent))

    def _block(self, block: Block, *, repeated: bool) -> None:
        self.inside.update(block.args)
        for op in block.ops:
            self.inside.update(op.results)
            self._visit(op, repeated)

    def _visit(self, op: Operation, repeated: bool) -> None:
        if is_expression_class(type(op)):
            return
        match op:
            case tir.LoadOp() | tir.StoreOp():
                self._access(op, repeated)
                return
            case tir.LetOp() if op.result.type == op.value.type:
                self._trees[op.result] = view(op.value, self._trees)
                return
            case tir.CallOp() if op.callee.data in TEXTURE_CALLS:
                writes = op.callee.data == "texture2d_store"
                place = _Footprint(None, (), writes, repeated)
                self.accesses.add(_memory(op.arg("texture")), place)
                return
            case tir.ReducerOp():
                return
            case tir.ForOp():
                self._bind(op)
            case _:
                if not isinstance(op, _ONCE):
                    self._effects(op)
        inner = repeated or isinstance(op, tir.ForOp)
        for region in op.regions:
            for block in region.blocks:
                self._block(block, repeated=inner)

    def _effects(self, op: Operation) -> None:
        """Take note of an op that is known by its effects only."""
        effects = get_effects(op)
        if effects is None or op.regions:
            self.accesses.writes_anything = True
            return
        kinds = {effect.kind for effect in effects}
        if kinds & {MemoryEffectKind.WRITE, MemoryEffectKind.FREE}:
            self.accesses.writes_anything = True
        if MemoryEffectKind.READ in kinds:
            self.accesses.reads_anything = True

    def _access(self, op: tir.LoadOp | tir.StoreOp, repeated: bool) -> None:
        self._ops.setdefault(_memory(op.buffer), []).append((op, repeated))

    def _add_accesses(self) -> None:
        """Add all loads and stores, with indices where these are going to be compared.

        Loads alone never meet, and one store that a lane comes to once may meet itself.
        """
        for memory, ops in self._ops.items():
            writes = any(isinstance(op, tir.StoreOp) for op, _ in ops)
            are_compared = writes and (len(ops) > 1 or any(again for _, again in ops))
            for op, repeated in ops:
                indices = map(self._index, op.indices) if are_compared else ()
                is_store = isinstance(op, tir.StoreOp)
                place = _Footprint(op.buffer, tuple(indices), is_store, repeated)
                self.accesses.add(memory, place)

    # ---- indices ----

    def _index(self, value: SSAValue) -> _Index | None:
        tree = view(value, self._trees)
        if tree not in self._forms:
            self._forms[tree] = self._form(tree)
        return self._forms[tree]

    def _form(self, tree: Expr) -> _Index | None:
        length = 0
        if isinstance(tree, Ramp):
            stride = tree.stride
            if not isinstance(stride, Const) or tir.is_scalable(tree.dtype):
                return None
            length = int(stride.value) * (tir.lanes_of(tree.dtype) - 1)
            tree = tree.base
        if not is_index_type(tree.dtype):
            return None
        form = self._linear(tree) or self._linear(self._analyzer.simplify(tree))
        if form is None:
            return None
        low, high = form.low + min(length, 0), form.high + max(length, 0)
        return form._replace(low=low, high=high)

    def _linear(self, tree: Expr) -> _Index | None:
        stride, constant = 0, 0
        outer: dict[Monomial, int] = {}
        inner: dict[Monomial, int] = {}
        for monomial, coefficient in polynomial(tree).terms.items():
            kinds = {self._kind(atom) for atom in monomial}
            if monomial == (self._variable,):
                stride = coefficient
            elif not monomial:
                constant = coefficient
            elif "lane" in kinds:
                return None
            else:
                (inner if "inner" in kinds else outer)[monomial] = coefficient
        low, high = self._bounds(inner, tree)
        if math.isinf(low) or math.isinf(high):
            return None
        return _Index(
            stride, Polynomial(outer), int(low) + constant, int(high) + constant
        )

    def _bounds(self, terms: dict[Monomial, int], tree: Expr) -> tuple[float, float]:
        if not terms:
            return 0, 0
        part = Polynomial(terms)
        if not part.fits(tree.dtype):
            return -math.inf, math.inf
        bound = self._analyzer.const_int_bound(part.to_expr(tree.dtype))
        return bound.min, bound.max

    def _kind(self, atom: Expr) -> str:
        """`lane` if it depends on the loop variable itself, `inner` if on another value
        that the loop defines, `outer` if on none."""
        found = self._kinds.get(atom)
        if found is None:
            leaves = leaf_values(atom)
            if self._variable.value in leaves:
                found = "lane"
            else:
                found = "inner" if any(v in self.inside for v in leaves) else "outer"
            self._kinds[atom] = found
        return found


TEXTURE_CALLS = frozenset(("texture2d_load", "texture2d_store"))


def _memory(value: SSAValue) -> Memory:
    return memory_of(value, distinct_parameters=True)


# ---- comparing places ----


def _are_apart(places: dict[_Footprint, int], lanes: int | None) -> bool:
    """Whether no lane accesses a place in a memory that another lane writes."""
    if not any(place.writes for place in places):
        return True
    if len(places) > _MOST_PLACES:
        return False
    return all(
        _never_meet(one, other, lanes)
        or (one is other and count == 1 and not one.repeated)
        for one, other, count in _pairs(places)
    )


def _pairs(places: dict[_Footprint, int]) -> Iterator[tuple[_Footprint, _Footprint, int]]:
    """The pairs of which one writes, with itself too, and the ops to the first."""
    listed = list(places.items())
    for number, (one, count) in enumerate(listed):
        for other, _ in listed[number:]:
            if one.writes or other.writes:
                yield one, other, count


def _never_meet(one: _Footprint, other: _Footprint, lanes: int | None) -> bool:
    """Whether two accesses never touch the same place in different lanes."""
    if one.buffer is None or one.buffer is not other.buffer:
        return False
    return any(
        _differ(a, b, lanes)
        for a, b in zip(one.indices, other.indices, strict=True)
        if a is not None and b is not None
    )


def _differ(a: _Index, b: _Index, lanes: int | None) -> bool:
    if a.stride != b.stride or a.outer != b.outer:
        return False
    low, high = b.low - a.high, b.high - a.low
    if a.stride == 0:
        return low > 0 or high < 0
    step = abs(a.stride)
    first, last = -(-low // step), high // step
    if lanes is not None:
        first, last = max(first, 1 - lanes), min(last, lanes - 1)
    # Distances between lanes at which the two may meet; 0 is the same lane.
    return first > last or first == last == 0


def values_in(ops: Iterable[Operation]) -> set[SSAValue]:
    """The values that ops define, with all that is inside of them."""
    found: set[SSAValue] = set()
    for op in ops:
        for inner in all_ops(op):
            found.update(inner.results)
            for region in inner.regions:
                for block in region.blocks:
                    found.update(block.args)
    return found
