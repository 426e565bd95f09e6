"""How large the tiles, blocks and parts of a contraction are.

A tile is what registers hold; a panel is the columns of a tile, and a block of it, which
all tiles of rows go over, is in the second cache; a part is rows for some of the terms,
which all panels go over, and is in the last cache, or in the second one where there are
many rows and panels, and these are copied once for all parts. Threads wait for each other
between parts, and results are loaded and stored once for each block: both are few.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from math import prod

from xdsl.dialects.builtin import DYNAMIC_INDEX
from xdsl.ir import Attribute, SSAValue

from xdsl_tvm.analysis.arith import smart
from xdsl_tvm.analysis.arith.expr import Expr, Value, view
from xdsl_tvm.analysis.arith.linear_equation import mentions
from xdsl_tvm.dialects import tir
from xdsl_tvm.passes.tir._cpu_schedule.fetching import LINE_BYTES
from xdsl_tvm.passes.tir._cpu_schedule.options import MANY_REGISTERS, Machine
from xdsl_tvm.passes.tir._loops.loop_nest import Access, Axis, Nest, Point
from xdsl_tvm.passes.tir._schedule.axes import product_of
from xdsl_tvm.passes.tir._schedule.contraction import Contraction, ops_behind
from xdsl_tvm.passes.tir._schedule.maps import is_lazy
from xdsl_tvm.passes.tir.rewriting.loop_code import LoopCode

_TILE_VECTORS = 2
"""Vectors of columns of a tile, where `b` is not in panels already."""
_MOST_VECTORS = 4
_TILE_ROWS = 8
_LOW_TILE_ROWS = 6
"""Rows of a tile, of 32 and of 16 registers, where their number is not known."""
_MOST_TILE_ROWS = 14
_REGISTERS = 32
_FEW_REGISTERS = 16
_TERMS = 512
"""Terms that are added to a tile at once, where rows are not copied."""
_ROWS = 384
"""Rows of a part, where there are more, or their number is not known."""
_LEAST_ROWS = 128
"""Rows of a part, at least, where parts are in the second cache."""
_FEW_PANELS = 8
"""So few times, `a` is read where it is: a copy would cost more than it gains."""
_LARGE = 1 << 20
_LARGE_COLUMNS = 5 << 18
"""Bytes of panels, and of a matrix, that are fetched before they are used; an element
counts as one of the sums, so that of products of bytes it counts four times. Fetches make
a tile eight times as much code: matrices begin where they gain more than that costs."""
_MOST_STEPS = 8
_LEAST_STEPS = 4
"""Terms that are added for each line that is fetched; the least where copies are."""


@dataclass(frozen=True)
class ContractionSizes:
    """A contraction at one point of its batch axes, and its sizes."""

    code: LoopCode
    found: Contraction
    machine: Machine
    point: Point
    kind: tir.ForKind

    @cached_property
    def dtype(self) -> Attribute:
        return self.found.reduction.dtype

    @cached_property
    def bytes(self) -> int:
        """The size of an element."""
        return tir.bytes_of_lane(self.dtype)

    @cached_property
    def lanes(self) -> int:
        return self.machine.lanes(self.dtype)

    @cached_property
    def index(self) -> Attribute:
        return self.rows.dtype

    @cached_property
    def rows(self) -> Expr:
        return product_of([axis.extent for axis in self.found.rows])

    @cached_property
    def columns(self) -> Expr:
        return product_of([axis.extent for axis in self.found.columns])

    @cached_property
    def terms(self) -> Expr:
        return product_of([axis.extent for axis in self.found.terms])

    def number(self, value: int) -> Expr:
        return smart.const(value, self.index)

    def count(self, extent: Expr, step: int) -> Expr:
        """How many steps cover an extent."""
        return smart.floordiv(smart.add(extent, self.number(step - 1)), self.number(step))

    @contextmanager
    def stretches(
        self, name: str, extent: Expr, size: int | None
    ) -> Generator[tuple[Expr, Expr]]:
        """A loop over stretches of `size`, the last of which may be shorter: the first
        index and the length; without a loop where `size` is None or all there is."""
        known = smart.literal(extent)
        if size is None or (known is not None and known <= size):
            yield self.number(0), extent
            return
        with self.code.loop(name, self.count(extent, size)) as number:
            step = self.number(size)
            first = smart.mul(number, step)
            length = step
            if smart.literal(smart.floormod(extent, step)) != 0:
                length = smart.minimum(step, smart.sub(extent, first))
            yield first, length

    # ---- tiles ----

    @cached_property
    def _registers(self) -> int:
        has_many = self.machine.vector_bytes >= MANY_REGISTERS
        return _REGISTERS if has_many else _FEW_REGISTERS

    @cached_property
    def vectors(self) -> int:
        """Vectors of columns of a tile: three, where that fills the last panel better
        than two, or as well."""
        if self.panels is not None:
            return self.panels[1] // self.lanes
        columns = smart.literal(self.columns)
        wide = [axis for axis in self.found.columns if axis.size != 1]
        if columns is None or len(wide) != 1 or self._registers != _REGISTERS:
            return _TILE_VECTORS
        counts = (_TILE_VECTORS + 1, _TILE_VECTORS)
        return min(counts, key=lambda count: -int(columns) % (count * self.lanes))

    @cached_property
    def width(self) -> int:
        """Columns of a tile."""
        return self.vectors * self.lanes

    @cached_property
    def height(self) -> int:
        """Rows of a tile: as many as leave registers for the operands, and so many that
        little is computed of rows that do not exist."""
        vectors = self.vectors
        rows = smart.literal(self.rows)
        most = min((self._registers - 1 - vectors) // vectors, _MOST_TILE_ROWS)
        if rows is None:
            usual = _TILE_ROWS if self._registers == _REGISTERS else _LOW_TILE_ROWS
            return min(most, usual)

        def cost(height: int) -> tuple[float, int]:
            # Twice the multiply-adds of a vector of columns, and the loads of it.
            tiles = -(-int(rows) // height)
            fits = rows % height == 0 or (self._is_one_pass and rows >= height)
            factor = 1 if fits else _EDGES
            return factor * tiles * (2 * height + 1), -height

        # Fewer sums than half of the registers would wait for each other.
        enough = [h for h in range(1, most + 1) if h > most // 2 or h == rows]
        return min(enough, key=cost)

    @cached_property
    def _is_one_pass(self) -> bool:
        """Whether each tile is computed at once, from nothing."""
        is_new = self.found.reduction.init is not None
        return is_new and self.block is None and self.part_terms is None

    @cached_property
    def repeats_rows(self) -> bool:
        """Whether the last tile ends with the last row, and computes rows of the one
        before it again, so that all tiles are whole.

        A thread computes all tiles of a panel, one after the other.
        """
        rows = smart.literal(self.rows)
        if rows is None or rows < self.height or rows % self.height == 0:
            return False
        return self._is_one_pass

    def first_row(self, tile: Expr) -> Expr:
        """The first row of a tile."""
        first = smart.mul(tile, self.number(self.height))
        if not self.repeats_rows:
            return first
        last = smart.sub(self.rows, self.number(self.height))
        return Value(self.code.value(smart.minimum(first, last)))

    # ---- operands ----

    @cached_property
    def panels(self) -> tuple[tir.LoadOp, int] | None:
        """The load of a `b` that is in panels, `b[column // w, term, column % w]`, and
        their width `w`; None for any other. Its elements may be converted."""
        load = self.found.b.owner
        if isinstance(load, tir.CastOp):
            load = load.operands[0].owner
        columns = [axis for axis in self.found.columns if axis.size != 1]
        if not isinstance(load, tir.LoadOp) or len(columns) != 1:
            return None
        if len(self.found.terms) != 1 or len(load.indices) != _RANK_OF_PANELS:
            return None
        width = tir.buffer_definition(load.buffer).type.get_shape()[-1]
        whole, rest = divmod(width, self.lanes)
        if width == DYNAMIC_INDEX or rest or not 1 <= whole <= _MOST_VECTORS:
            return None
        column = Value(columns[0].variable)
        wide = smart.const(width, column.dtype)
        trees = [view(index, self.found.nest.trees) for index in load.indices]
        expected = [
            smart.floordiv(column, wide),
            Value(self.found.terms[0].variable),
            smart.floormod(column, wide),
        ]
        return (load, width) if trees == expected else None

    @cached_property
    def elements_per_column(self) -> int:
        """Elements of panels for each column of a term."""
        return 1

    @cached_property
    def copies_rows(self) -> bool:
        """Whether `a` is copied; if not, steps are those of the outermost term axis."""
        if self.panels is not None and self.has_terms_in_rows:
            return True
        panels = smart.literal(self.count(self.columns, self.width))
        if panels is None or panels > _FEW_PANELS:
            return True
        load = self.found.a.owner
        nest = self.found.nest
        ours = [access for access in nest.accesses if access.op is load]
        wide = [axis for axis in self.found.terms if axis.size != 1]
        if not ours or not wide or not _are_neighbours(ours[0], wide[-1]):
            return True
        sizes = [axis.size for axis in self.found.terms[1:]]
        if None in sizes or prod(size or 1 for size in sizes) > _TERMS:
            return True
        return len([axis for axis in self.found.rows if axis.size != 1]) > 1

    @cached_property
    def has_terms_in_rows(self) -> bool:
        """Whether the copy of `a` has the terms of a row next to each other, as they are
        in `a`, or else the rows of a term."""
        if len(self.found.terms) != 1 or is_lazy(self.found.nest):
            return False
        (term,) = self.found.terms
        steps = steps_behind(self.found.nest, self.found.a, term)
        return 1 in steps and steps <= {0, 1}

    @cached_property
    def terms_of_step(self) -> int:
        """How many terms are added in a step."""
        if self.copies_rows:
            return 1
        return prod(axis.size or 1 for axis in self.found.terms[1:])

    @cached_property
    def steps(self) -> Expr:
        """How many steps there are."""
        return self.terms if self.copies_rows else self.found.terms[0].extent

    # ---- blocks and parts ----

    @cached_property
    def block(self) -> int | None:
        """Steps that all rows of a part go over before the next ones; None for all."""
        if not self.copies_rows:
            return self._equal(self.steps, max(_TERMS // self.terms_of_step, 1), 1)
        machine = self.machine
        held = max(machine.first_cache_bytes * 3 // 4, machine.second_cache_bytes // 8)
        most = max(held // (self.width * self.bytes), _MOST_STEPS)
        extent = self.terms if self.part_terms is None else self.number(self.part_terms)
        return self._equal(extent, most, _MOST_STEPS)

    @cached_property
    def known_block(self) -> int | None:
        """The same, if it is known, also where a block has all terms."""
        terms = smart.literal(self.terms)
        return self.block or self.part_terms or (None if terms is None else int(terms))

    @cached_property
    def part_terms(self) -> int | None:
        """Terms of a part, of which there are several; None for all."""
        if len(self.found.terms) != 1 or not self.copies_rows:
            return None
        rows, terms = smart.literal(self.rows), smart.literal(self.terms)
        if rows is not None and terms is not None and rows * terms <= self._held * 3 // 2:
            return None
        least = self._held // (_LEAST_ROWS if self._has_parts_near else _ROWS)
        most = least if rows is None else max(self._held // int(rows), least)
        return self._equal(self.terms, max(most, _MOST_STEPS), _MOST_STEPS)

    @cached_property
    def part_tiles(self) -> int | None:
        """Tiles of the rows of a part; None for all."""
        if not self.copies_rows:
            return None
        terms = smart.literal(self.terms) if self.part_terms is None else self.part_terms
        most = _ROWS if terms is None else max(self._held // int(terms), self.height)
        return self._equal(self.count(self.rows, self.height), -(-most // self.height), 1)

    @cached_property
    def shares_panels(self) -> bool:
        """Whether all panels of some terms are copied once, for all parts with rows for
        these terms, and not each panel for each part."""
        return self.panels is None and self.part_tiles is not None

    @cached_property
    def _held(self) -> int:
        """Elements of a part; fewer where it is not known that there are many rows, as
        memory is for a whole part."""
        known = [smart.literal(extent) for extent in (self.rows, self.terms)]
        machine = self.machine
        held = machine.second_cache_bytes * 3 // 4
        if None not in known and not self._has_parts_near:
            held = max(machine.cache_bytes // 2, held)
        return held // self.bytes

    @cached_property
    def _has_parts_near(self) -> bool:
        """Whether parts are in the second cache: all of `a` is not, has rows for several
        parts, and many panels go over it."""
        rows, terms = smart.literal(self.rows), smart.literal(self.terms)
        panels = smart.literal(self.count(self.columns, self.width))
        if rows is None or terms is None or panels is None:
            return False
        if len(self.found.terms) != 1 or panels <= _FEW_PANELS:
            return False
        is_high = rows > _LEAST_ROWS * 3 // 2
        return is_high and rows * terms * self.bytes > self.machine.second_cache_bytes

    def _equal(self, extent: Expr, most: int, unit: int) -> int | None:
        """Equal stretches of about `most`, multiples of `unit`; None for one stretch."""
        known = smart.literal(extent)
        if known is None:
            return most
        if known <= most * 3 // 2:
            return None
        size = -(-int(known) // -(-int(known) // most))
        return -(-size // unit) * unit

    # ---- fetching ahead ----

    @cached_property
    def ahead(self) -> tuple[int, int] | None:
        """For a large `b`, how many terms are added between fetches, and how many lines
        are fetched then, such that the tiles of a block fetch the next block of panels,
        or the next panel of the terms of the block where panels are copied.

        No cache has such an operand when the product begins, and what the processor
        fetches by itself comes too late.
        """
        block, terms = self.known_block, smart.literal(self.terms)
        if block is None or terms is None:
            return None
        if self.shares_panels:
            return self._ahead_of_copies
        load = self.panels[0] if self.panels is not None else self._lines_of_columns
        if load is None:
            return None
        shape = tir.buffer_definition(load.buffer).type.get_shape()
        # Places in panels are numbers of 32 bits, if those of the program are.
        if DYNAMIC_INDEX in shape or prod(shape) >= 1 << 31:
            return None
        least = _LARGE if self.panels is not None else _LARGE_COLUMNS
        if prod(shape) * self.bytes < least:
            return None
        return self._fetches(block, int(terms))

    @property
    def _ahead_of_copies(self) -> tuple[int, int] | None:
        """The same for panels that are copied for all parts: tiles fetch the next one."""
        columns, terms = smart.literal(self.columns), smart.literal(self.terms)
        if columns is None or terms is None or self.known_block is None:
            return None
        if columns * (self.part_terms or terms) * self.bytes < _LARGE:
            return None
        found = self._fetches(self.known_block, int(terms))
        # Fetches in each term would take longer than what they gain.
        return found if found[0] >= _LEAST_STEPS else None

    def _fetches(self, block: int, terms: int) -> tuple[int, int]:
        """Terms between fetches, and lines fetched then, by the tiles of all rows."""
        rows = int(smart.literal(self.rows) or _ROWS)
        tiles = self.part_tiles or -(-rows // self.height)
        lines, steps = self.lines_of_panel, _MOST_STEPS
        parts = (block, self.part_terms or terms, terms)
        while any(size % steps for size in parts) or steps > max(tiles // lines, 1):
            steps //= 2
        return steps, -(-lines * steps // tiles)

    @cached_property
    def lines_of_panel(self) -> int:
        """Lines of memory of the columns of a panel, for one term."""
        return -(-self.width * self.bytes // LINE_BYTES)

    @cached_property
    def _lines_of_columns(self) -> tir.LoadOp | None:
        """The load of a `b` whose columns are neighbours, and are copied for one part
        with all rows."""
        load = self.found.b.owner
        if not isinstance(load, tir.LoadOp) or self.shares_panels or not self.copies_rows:
            return None
        if len(self.found.columns) != 1 or len(self.found.terms) != 1:
            return None
        if is_lazy(self.found.nest):
            return None
        steps = steps_behind(self.found.nest, self.found.b, self.found.columns[0])
        return load if steps == {1} else None


_EDGES = 1.06
"""What a tile at an edge counts for: its code takes twice as long to compile."""
_RANK_OF_PANELS = 3


def steps_behind(nest: Nest, value: SSAValue, axis: Axis) -> set[int | None]:
    """How far the elements that make up a value move with each step on an axis."""
    needed = ops_behind(nest, value)
    return {access.step(axis) for access in nest.accesses if access.op in needed}


def _are_neighbours(access: Access, axis: Axis) -> bool:
    """Whether what is accessed is next to each other along an axis."""
    shape = tir.buffer_definition(access.buffer).shape
    wide = [i for i, dim in zip(access.indices, shape, strict=True) if dim != 1]
    variable = Value(axis.variable)
    return wide[-1:] == [variable] and not any(mentions(i, variable) for i in wide[:-1])
