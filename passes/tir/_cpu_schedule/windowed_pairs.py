"""Terms of a convolution in pairs, for blocks of channels that fill half of a vector, and
for single blocks that fill one.

Two neighbouring elements of the image are loaded for all channels at once, the first one
for even lanes and the other one for odd lanes. The weight is rearranged before, for all
columns of a strip.

Where channels fill half of a vector, lanes `2 * o` and `2 * o + 1` add the even and the
odd terms of channel `o`, and are added to each other at the end. So all lanes are used.

Where they fill a vector, each column has two: lane `o` of the first adds the even terms
of channel `o` if `o` is even and else the odd ones, and the neighbour of lane `o` of the
second adds the others. So two products share an element that is loaded, where one alone
would take as long for its element as for itself.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from xdsl.ir import SSAValue

from xdsl_tvm.analysis.arith import smart
from xdsl_tvm.analysis.arith.expr import Add, Expr, Value, view
from xdsl_tvm.dialects import tir
from xdsl_tvm.passes.tir._cpu_schedule.options import Machine
from xdsl_tvm.passes.tir._loops.loop_nest import Axis, Nest, Point
from xdsl_tvm.passes.tir._schedule.axes import loops_over
from xdsl_tvm.passes.tir.rewriting.loop_code import LoopCode

PAIR = 2


@dataclass(frozen=True)
class Panel:
    """What tiles of some channels read, in pairs of terms."""

    weight: SSAValue
    initial: SSAValue | None
    """What sums begin with; None where that is 0."""


@dataclass(frozen=True)
class Pairs:
    """What is added in pairs of terms."""

    nest: Nest
    image: tir.LoadOp
    """Loads neighbouring elements at neighbouring places of `axis`."""
    weight: tir.LoadOp
    """Loads neighbouring elements for neighbouring lanes."""
    terms: Sequence[Axis]
    """The axes of the terms, in the order of their loops; that of the pairs is last."""
    lane: Axis
    fills_vector: bool
    """Whether channels fill a vector, so that each column has two."""

    @property
    def axis(self) -> Axis:
        return self.terms[-1]

    @property
    def lanes(self) -> int:
        """How many lanes the sums of a column have: two for each channel."""
        return PAIR * (self.lane.size or 1)

    @property
    def count(self) -> Expr:
        """The pairs along the axis."""
        return smart.const((self.axis.size or 0) // PAIR, self.axis.variable.type)

    @property
    def vectors(self) -> int:
        """The vectors of the sums of a column."""
        return PAIR if self.fills_vector else 1

    def _term_and_channel(self, lane: int) -> tuple[int, int]:
        """Which of two terms a lane adds, and of which channel."""
        term, channels = lane % PAIR, self.lanes // PAIR
        if not self.fills_vector:
            return term, lane // PAIR
        return term, lane if lane < channels else _neighbour(lane - channels)

    @staticmethod
    def of(
        nest: Nest,
        image: SSAValue,
        weight: SSAValue,
        terms: Sequence[Axis],
        lane: Axis,
        *,
        fills_vector: bool,
    ) -> Pairs | None:
        """Products of an element and a weight, if terms can be added in pairs."""
        a, b = image.owner, weight.owner
        if not isinstance(a, tir.LoadOp) or not isinstance(b, tir.LoadOp):
            return None
        axis = terms[-1]
        if (axis.size or 1) % PAIR or lane.size is None:
            return None
        last = [view(load.indices[-1], nest.trees) for load in (a, b)]
        if last != [Value(axis.variable), Value(lane.variable)]:
            return None
        return Pairs(nest, a, b, terms, lane, fills_vector)

    # ---- the weight ----

    def write_panel(
        self, code: LoopCode, vectors: int, batch: Callable[[Expr], Point]
    ) -> SSAValue:
        """The weight of some channels as it is read; `batch` says where each vector of
        them is."""
        sizes = [axis.size or 1 for axis in self.terms[:-1]]
        pairs = (self.axis.size or 0) // PAIR
        dtype = tir.buffer_definition(self.weight.buffer).type.element_type
        panel = code.alloc("panel", [vectors, *sizes, pairs, self.lanes], dtype, "local")
        self._write_vectors(code, panel, vectors, batch)
        return panel

    def write_initial(
        self,
        code: LoopCode,
        vectors: int,
        value: Callable[[Expr, Expr], Expr],
    ) -> SSAValue:
        """What sums begin with: the first one of a channel with `value` of a vector and
        the channel, the other one with 0."""
        dtype = tir.buffer_definition(self.weight.buffer).type.element_type
        initial = code.alloc("initial", [vectors, self.lanes], dtype, "local")
        number = self.axis.variable.type
        channels = self.lanes // PAIR
        # From the lane of a channel to the next one, and from its first to its other sum.
        step, other = (1, channels) if self.fills_vector else (PAIR, 1)
        with (
            code.loop("u", smart.const(vectors, number)) as u,
            code.loop("o", smart.cast(number, self.lane.extent)) as o,
        ):
            place = smart.mul(o, smart.const(step, number))
            code.store(value(u, o), initial, u, place)
            place = smart.add(place, smart.const(other, number))
            code.store(smart.const(0, dtype), initial, u, place)
        return initial

    def _write_vectors(
        self,
        code: LoopCode,
        panel: SSAValue,
        vectors: int,
        batch: Callable[[Expr], Point],
    ) -> None:
        *outer, axis = self.terms
        half, dtype = self.lanes // PAIR, axis.variable.type
        given = [self._term_and_channel(lane) for lane in range(self.lanes)]
        both = [term * half + channel for term, channel in given]
        with (
            code.loop("u", smart.const(vectors, dtype)) as u,
            loops_over(code, outer) as at,
            code.loop("t", self.count) as t,
        ):
            first = smart.mul(t, smart.const(PAIR, dtype))
            places: list[Point] = [
                {**batch(u), **at, axis.variable: place}
                for place in (first, smart.add(first, smart.const(1, dtype)))
            ]
            parts = [code.value(self._load(code, self.weight, p, half)) for p in places]
            terms = [at[each.variable] for each in outer]
            place = smart.ramp(smart.const(0, dtype), self.lanes)
            code.store(code.shuffled(parts, both), panel, u, *terms, t, place)

    def _load(self, code: LoopCode, load: tir.LoadOp, point: Point, lanes: int) -> Expr:
        """Neighbouring elements, from a point on."""
        zero = smart.const(0, self.lane.variable.type)
        point = {self.lane.variable: zero, **point}
        *outer, last = [
            self.nest.tree_at(view(index, self.nest.trees), point)
            for index in load.indices
        ]
        return code.load(load.buffer, *outer, smart.ramp(last, lanes))

    # ---- the sums ----

    def add(
        self,
        code: LoopCode,
        machine: Machine,
        panel: SSAValue,
        total: Expr,
        u: Expr,
        point: Point,
    ) -> Expr:
        """A vector of sums and the products of a pair of terms, whose number is at the
        axis of the point."""
        *outer, axis = self.terms
        number = point[axis.variable]
        two = smart.const(PAIR, number.dtype)
        here = {**point, axis.variable: smart.mul(number, two)}
        both = code.value(self._load(code, self.image, here, PAIR))
        a = code.shuffled([both], list(range(PAIR)) * (self.lanes // PAIR))
        terms = [point[each.variable] for each in outer]
        place = smart.ramp(smart.const(0, number.dtype), self.lanes)
        b = code.load(panel, u, *terms, number, place)
        return machine.multiply_add(a, b, total)

    def totals(self, code: LoopCode, sums: Sequence[Expr]) -> Expr:
        """The sums of channels of columns, one after the other, from those of their even
        and odd terms: of one column where channels fill a vector, else of two.

        Two columns at once: LLVM has an instruction for the sum of even and odd lanes of
        vectors that are half as long, which is slow, and which has half of the registers,
        so that a tile would have no others.
        """
        values = [code.value(each) for each in sums]
        if self.fills_vector:
            channels = range(self.lanes // PAIR)
            first = code.shuffled(values, channels)
            others = [len(channels) + _neighbour(lane) for lane in channels]
            return Add(first, code.shuffled(values, others))
        even, odd = (
            code.shuffled(values, range(k, 2 * self.lanes, PAIR)) for k in range(PAIR)
        )
        return Add(even, odd)


def _neighbour(lane: int) -> int:
    """The other lane of a pair."""
    return lane ^ 1
