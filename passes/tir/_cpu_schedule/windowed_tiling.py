"""The sizes of tiles of convolutions and poolings, and what of their weights is fetched.

`windowed_loops.py` writes the loops.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod

from xdsl.dialects.builtin import DYNAMIC_INDEX
from xdsl.ir import Attribute, SSAValue

from xdsl_tvm.analysis.arith.expr import Const, Value, view
from xdsl_tvm.analysis.arith.linear_equation import mentions
from xdsl_tvm.dialects import tir
from xdsl_tvm.passes.tir._cpu_schedule.options import MANY_REGISTERS, Machine
from xdsl_tvm.passes.tir._cpu_schedule.windowed import Windowed
from xdsl_tvm.passes.tir._cpu_schedule.windowed_bias import Bias
from xdsl_tvm.passes.tir._cpu_schedule.windowed_pairs import PAIR, Pairs
from xdsl_tvm.passes.tir._loops.loop_nest import Axis, Point
from xdsl_tvm.passes.tir._schedule.contraction import moving, ops_behind

_SUMS = 28
"""Vectors of results that 32 registers hold, besides the operands."""
_FEW_SUMS = 12
_WIDEST = 14
_NEARLY = 7
"""Eighths of the columns of a tile that are nearly as many."""
_LARGE = 256 << 10
"""Bytes of a weight that is fetched before it is used."""
_AHEAD = 2048
"""Bytes that it is fetched before."""
_SMALL_RESULTS = 8192
"""Bytes of the results of an image that stay in the first cache."""
_LARGE_PART = 64 << 10
"""Bytes of the weight of some channels that do not."""
_LEAST_TERMS = 3
"""Axes of terms, so that there are enough of them for a step of the outermost one."""
_IMAGE_RANK = 3
"""Batch axes of the result of an image: images, blocks of channels and rows."""
_STRIP = 7
"""Rows that are worth reading the weight again for."""
_MANY_BLOCKS = 8
"""Blocks of channels that are enough for the threads, where there is one strip."""
_SHARED = 512 << 10
"""Bytes of a weight that each thread reads whole."""
_MOST_PART = 64 << 10
"""Bytes of the weight of some channels that tiles read from a cache near by; where there
are more, each tile fetches them anew."""
_STREAMED = 128 << 10
"""Bytes of a weight that no cache has when a network comes to it."""
_LARGE_IMAGE = 128 << 10
"""Bytes of an image that the first cache does not hold."""
_LEAST_COLUMNS = 64
"""Columns for which it is worth rearranging the weight of channels that fill a vector."""
_WIDE_TERMS = 2
"""Axes of terms that have more than one value, where a window is one element: blocks of
channels, and those in a block."""


@dataclass(frozen=True)
class Tiling:
    """How a convolution is cut into tiles."""

    found: Windowed
    machine: Machine
    outside: Point
    """The values on axes whose loops are around the convolution."""

    @property
    def dtype(self) -> Attribute:
        return self.found.reduction.dtype

    @property
    def column(self) -> Axis:
        return self.found.rows[-1]

    @cached_property
    def length(self) -> int:
        """The elements of a row, of which tiles are made."""
        return prod(axis.size or 1 for axis in self.found.rows)

    @property
    def lane(self) -> Axis:
        return self.found.columns[0]

    @cached_property
    def shared(self) -> Axis | None:
        """The axis of which several values share what they read of `a`."""
        nest = self.found.nest
        by_a, by_b = moving(nest, self.found.a), moving(nest, self.found.b)
        for axis in self.found.batch:
            if axis.variable in self.outside:
                continue
            if axis in by_b and axis not in by_a and self._count(axis) > 1:
                return axis
        return None

    @cached_property
    def keeps_loops(self) -> bool:
        """Whether loops over terms stay loops: where each is for all lanes, so that there
        are other loops than those over the window."""
        return self.lane not in moving(self.found.nest, self.found.a)

    @property
    def terms(self) -> list[Axis]:
        """The axes of the terms in the order of their loops.

        The innermost one is not that of the window, if there is another one and sums may
        be computed in another order: its iterations share elements.
        """
        terms, window = list(self.found.terms), self.found.window
        if window is None or not self.keeps_loops or not self.machine.reassociate:
            return terms
        if terms[-1] is not window or len(terms) == 1:
            return terms
        place = terms.index(window)
        rows = [axis for axis in terms[:place] if self.decides_rows(axis)]
        others = [axis for axis in terms[:place] if axis not in rows]
        return [*rows, window, *others]

    @property
    def has_no_window(self) -> bool:
        """Whether the window is one element."""
        return sum(axis.size != 1 for axis in self.found.terms) <= _WIDE_TERMS

    def decides_rows(self, axis: Axis) -> bool:
        return any(mentions(each, Value(axis.variable)) for each in self.found.outside)

    @cached_property
    def vectors(self) -> int:
        """Vectors of results for each column."""
        return 1 if self.shared is None else self._count(self.shared)

    def _count(self, axis: Axis) -> int:
        counts = [3, 2]
        # For bare products with five, LLVM warns of a loop that it has unrolled.
        if self._has_many_registers and self.found.epilogue is not None:
            counts.append(5)
        return next((n for n in counts if (axis.size or 1) % n == 0), 1)

    @property
    def most(self) -> int:
        """Vectors of results that registers hold."""
        return _SUMS if self._has_many_registers else _FEW_SUMS

    @property
    def _has_many_registers(self) -> bool:
        return self.machine.vector_bytes >= MANY_REGISTERS

    @cached_property
    def width(self) -> int:
        """Columns of a tile: that which leaves the fewest tiles, and these equal; a few
        less if all tiles are of one size then, and have one code."""
        registers = self.vectors * (1 if self.pairs is None else self.pairs.vectors)
        most = min(self.most // registers, _WIDEST)
        width = -(-self.length // -(-self.length // most))
        least = -(-most * _NEARLY // 8)
        divisors = (n for n in range(width, least - 1, -1) if self.length % n == 0)
        return next(divisors, width)

    @cached_property
    def tiles(self) -> int:
        """How many tiles a row has."""
        return -(-self.length // self.width)

    @cached_property
    def starts(self) -> Sequence[int]:
        """The first column of each tile of a row.

        Widths differ by one at most, but at the edges of a window, where there would be
        more tiles of kinds of their own.
        """
        if self.found.window is not None:
            return range(0, self.length, self.width)
        least, wider = divmod(self.length, self.tiles)
        return [number * least + min(number, wider) for number in range(self.tiles)]

    @cached_property
    def strip(self) -> int | None:
        """The rows of a strip, where each has a few and a cache holds the weight."""
        found = self.found
        if len(found.rows) > 1 or len(found.batch) < _IMAGE_RANK:
            return None
        *_, block, row = found.batch
        if any(axis.variable in self.outside for axis in (block, row)):
            return None
        nest = found.reduction.nest
        if row not in moving(nest, found.a):
            return None
        if found.is_product:
            weight = self.weight_bytes
            if weight is None or weight > _SHARED or row in moving(nest, found.b):
                return None
        rows = row.size or 0
        sizes = range(_STRIP, rows // 2 + 1)
        if rows == _STRIP and (block.size or 0) >= _MANY_BLOCKS * self.vectors:
            sizes = range(rows, rows + 1)
        return next((size for size in sizes if rows % size == 0), None)

    @cached_property
    def weight_bytes(self) -> int | None:
        """Bytes of `b`, where it is a buffer of known size."""
        load = self.found.b.owner
        return _bytes_of(load.buffer) if isinstance(load, tir.LoadOp) else None

    @cached_property
    def streamed_image(self) -> tir.LoadOp | None:
        """The load of an image that each tile reads other elements of, and that is large;
        None where tiles differ, or there are others that read the same."""
        found, terms = self.found, self.terms
        load = found.a.owner
        if not isinstance(load, tir.LoadOp) or not self.keeps_loops:
            return None
        if len(found.rows) > 1 or len(found.batch) < _IMAGE_RANK or found.outside:
            return None
        by_a, by_b = (moving(found.nest, each) for each in (found.a, found.b))
        again = [axis for axis in found.batch if axis in by_b and axis not in by_a]
        if prod(axis.size or 0 for axis in again) != self.vectors:
            return None
        if found.batch[-1] in by_b or self.length % self.width or self.image_rows:
            return None
        last = view(load.indices[-1], found.nest.trees)
        if last is not Value(terms[-1].variable):
            return None
        if not self.has_no_window:
            return None
        return load if (_bytes_of(load.buffer) or 0) >= _LARGE_IMAGE else None

    @cached_property
    def pairs(self) -> Pairs | None:
        """How two terms at a time are added, where channels fill half of a vector, or one
        alone, and their weight is rearranged for many columns."""
        found = self.found
        lanes = self.machine.lanes(self.dtype)
        fills_vector = self.lane.size == lanes
        if lanes == PAIR or not self.machine.reassociate:
            return None
        if fills_vector and (
            self.vectors > 1 or self.length * (self.strip or 1) < _LEAST_COLUMNS
        ):
            return None
        if not found.is_product or not self.keeps_loops or self.initial_value != 0:
            return None
        if self.strip is None and len(found.rows) == 1:
            return None
        if (self.weight_bytes or _STREAMED) >= _STREAMED:
            return None
        image = found.a if found.element is None else found.element
        return Pairs.of(
            found.nest,
            image,
            found.b,
            self.terms,
            self.lane,
            fills_vector=fills_vector,
        )

    @cached_property
    def bias(self) -> Bias | None:
        """What sums begin with, where they may be computed in another order."""
        if not self.machine.reassociate:
            return None
        bias = Bias.of(self.found)
        # Pairs have one initial value for all rows of a strip.
        if bias is None or (self.pairs is not None and not bias.is_same_for_rows):
            return None
        return bias

    @cached_property
    def has_wide_epilogue(self) -> bool:
        """Whether the results of two columns are one vector for the epilogue, too: of all
        that it reads, neighbours are neighbours for it."""
        found, bias = self.found, self.bias
        if len(found.rows) > 1:
            return False
        nest = found.epilogue
        if nest is None:
            return True
        done = ops_behind(nest, bias.bias) if bias is not None else ()
        axes = tuple(Value(axis.variable) for axis in nest.axes)
        return all(a.indices == axes for a in nest.accesses if a.op not in done)

    @property
    def initial_value(self) -> float:
        """What results are before their terms."""
        init = self.found.reduction.init
        value = None if init is None else view(init)
        assert isinstance(value, Const), "matched"
        return value.value

    @cached_property
    def image_rows(self) -> Axis | None:
        """The axis of rows where all rows are done with at each step of the outermost
        term, as the results are in the cache and the weight of all steps is not."""
        found, terms = self.found, self.terms
        if self.ahead is None or len(found.rows) > 1 or len(terms) < _LEAST_TERMS:
            return None
        if terms[0] is found.window or self.decides_rows(terms[0]):
            return None
        row = found.batch[-1]
        by_b = moving(found.reduction.nest, found.b)
        if row.variable in self.outside or row in by_b or row.size == 1:
            return None
        vector = tir.bytes_of_lane(self.dtype) * (self.lane.size or 1) * self.vectors
        results = self.length * (row.size or 0) * vector
        weight = prod(axis.size or 0 for axis in terms) * vector
        return row if results <= _SMALL_RESULTS and weight >= _LARGE_PART else None

    @cached_property
    def ahead(self) -> tuple[tir.LoadOp, Axis, int] | None:
        """The load of a large `b`, and how far along which axis it is fetched before.

        No cache has such a weight when a convolution begins, and the processor fetches
        by itself within a page only.
        """
        load = self.found.b.owner
        if not self.found.is_product or not isinstance(load, tir.LoadOp):
            return None
        if (self.weight_bytes or 0) < _LARGE:
            return None
        type_ = tir.buffer_definition(load.buffer).type
        size = tir.bytes_of_lane(type_.element_type)
        shape = type_.get_shape()
        outermost = self.terms[0]
        steps = [
            number
            for number, index in enumerate(load.indices)
            if view(index, self.found.nest.trees) is Value(outermost.variable)
        ]
        if len(steps) != 1:
            return None
        step = prod(shape[steps[0] + 1 :]) * size
        count = -(-_AHEAD // step)
        return (load, outermost, count) if count < (outermost.size or 0) else None

    @cached_property
    def next_weight(self) -> tir.LoadOp | None:
        """The load of a weight of which each step of the outer loop reads a part of its
        own, for several tiles, while which the next part is fetched."""
        found, load, terms = self.found, self.found.b.owner, self.terms
        if not found.is_product or not isinstance(load, tir.LoadOp):
            return None
        if (self.weight_bytes or 0) < _STREAMED or self.tiles < 2:
            return None
        if self.image_rows is not None or any(axis.size != 1 for axis in terms[1:-1]):
            return None
        vector = tir.bytes_of_lane(self.dtype) * (self.lane.size or 1) * self.vectors
        if prod(axis.size or 0 for axis in terms) * vector > _MOST_PART:
            return None
        moved = moving(found.reduction.nest, found.b)
        own = [a for a in found.batch if a.variable not in self.outside and a.size != 1]
        if self.shared is not None and self.shared.size == self.vectors:
            # All of its values are one step.
            own.remove(self.shared)
        if not own or any(axis not in moved or axis.size is None for axis in own):
            return None
        return load


def _bytes_of(buffer: SSAValue) -> int | None:
    """Bytes of a buffer, where its size is known."""
    type_ = tir.buffer_definition(buffer).type
    shape = type_.get_shape()
    if DYNAMIC_INDEX in shape:
        return None
    return prod(shape) * tir.bytes_of_lane(type_.element_type)
