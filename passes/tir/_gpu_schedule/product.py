"""The GPU schedule of contractions: what kernels with and without matrix units share.

A block of threads computes a tile of the result, in registers. Tiles of the operands are
copied to shared memory, some terms at a time, and padded there with zeros, so that only
copies and stores ask where the operands end, and the padding of an image costs nothing.
Where copies are asynchronous, they are a software pipeline whose product comes first in a
step, so that one barrier a step is enough. A map on the results is done before they are
stored.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar

from xdsl.dialects.builtin import ArrayAttr, IntegerAttr, i32
from xdsl.ir import Attribute, SSAValue

from xdsl_tvm.analysis.arith import smart
from xdsl_tvm.analysis.arith.expr import Expr, Value
from xdsl_tvm.dialects import tir
from xdsl_tvm.passes.tir._gpu_schedule.allreduce import accumulated_type
from xdsl_tvm.passes.tir._gpu_schedule.device import (
    Device,
    ceildiv,
    in_range,
    kernel,
)
from xdsl_tvm.passes.tir._gpu_schedule.product_time import (
    ProductSizes,
    ProductTime,
    Tile,
    TimeModel,
)
from xdsl_tvm.passes.tir._gpu_schedule.results import (
    each_lane,
    split_point,
    write_results,
)
from xdsl_tvm.passes.tir._gpu_schedule.split_terms import (
    PartialSums,
    block_name,
    partial_sums,
    splits_within,
)
from xdsl_tvm.passes.tir._loops.loop_nest import Access, Axis, Nest, Point
from xdsl_tvm.passes.tir._schedule.axes import (
    is_not_empty,
    points,
    product_of,
    split_index,
)
from xdsl_tvm.passes.tir._schedule.contraction import (
    Contraction,
    match_contraction,
    ops_behind,
)
from xdsl_tvm.passes.tir._schedule.padding import Padding
from xdsl_tvm.passes.tir._schedule.reduction import Reduction
from xdsl_tvm.passes.tir.rewriting.loop_code import LoopCode

_LEAST = 8
"""Fewer rows or columns are a product of vectors and a matrix, bound by memory."""
_LEAST_TERMS = 4
_BYTE = 8
_LEAST_STEPS = 16
"""So many tiles of terms a block has at least where terms are split over several."""
_ASYNC_BYTES = (4, 8, 16)
"""What an asynchronous copy copies at once."""


def match_product(found: Reduction) -> Contraction | None:
    """A reduction as a contraction whose operands are used often enough to be copied."""
    result = match_contraction(found)
    if result is None:
        return None

    def is_at_least(axes: Sequence[Axis], least: int) -> bool:
        size = smart.literal(product_of([axis.extent for axis in axes]))
        return size is None or size >= least

    if is_at_least(result.rows, _LEAST) and is_at_least(result.columns, _LEAST):
        return result if is_at_least(result.terms, _LEAST_TERMS) else None
    return None


@dataclass(frozen=True)
class Operand:
    """An operand of a contraction, and what tiles of it are like."""

    value: SSAValue
    is_a: bool
    axes: tuple[Axis, ...]
    """The rows of A, the columns of B: its lines."""
    lines: int
    """How many of them a tile has."""
    along_terms: bool
    """Whether neighbouring terms are next to each other, or else neighbouring lines."""
    lanes: int
    """How many neighbours a thread copies at once."""
    is_loaded: bool
    """Whether it is an element of global memory, and not computed."""

    @property
    def is_copied(self) -> bool:
        """Whether an asynchronous copy can copy it."""
        size = self.lanes * tir.bytes_of_lane(self.value.type)
        return self.is_loaded and size in _ASYNC_BYTES


@dataclass
class ProductKernel(ABC):
    """Writes one kernel."""

    MODEL: ClassVar[type[TimeModel]] = TimeModel

    code: LoopCode
    found: Contraction
    device: Device
    row: Expr = field(init=False)
    """The thread's place among the rows of threads."""
    column: Expr = field(init=False)
    first_row: Expr = field(init=False)
    first_column: Expr = field(init=False)
    batch: Point = field(init=False)
    sums: SSAValue = field(init=False)
    """What a thread adds up."""
    split: Expr = field(init=False)
    """Which part of the terms the block has."""
    partial: PartialSums | None = field(init=False, default=None)

    # ---- sizes ----

    @property
    def nest(self) -> Nest:
        return self.found.nest

    @cached_property
    def dtype(self) -> Attribute:
        """The type in which terms are added."""
        return accumulated_type(self.found.reduction.dtype)

    @property
    @abstractmethod
    def width(self) -> int:
        """Threads next to each other, `threadIdx.x`."""

    @property
    @abstractmethod
    def height(self) -> int:
        """Rows of threads, `threadIdx.y`."""

    @property
    def tile_rows(self) -> int:
        """Rows of a tile of the result."""
        return self.tile.rows

    @property
    def tile_columns(self) -> int:
        """Columns of a tile of the result."""
        return self.tile.columns

    @property
    def needs_registers(self) -> bool:
        """Whether the kernel needs more registers than others of its tile."""
        return False

    @property
    @abstractmethod
    def depth(self) -> int:
        """Terms of a tile."""

    @property
    @abstractmethod
    def sums_shape(self) -> Sequence[int]:
        """How many sums a thread has."""

    @cached_property
    def index(self) -> Attribute:
        return product_of([axis.extent for axis in self.nest.axes]).dtype

    def _size(self, axes: Sequence[Axis]) -> Expr:
        return smart.cast(self.index, product_of([axis.extent for axis in axes]))

    @cached_property
    def rows(self) -> Expr:
        return self._size(self.found.rows)

    @cached_property
    def columns(self) -> Expr:
        return self._size(self.found.columns)

    @cached_property
    def terms(self) -> Expr:
        return self._size(self.found.terms)

    @cached_property
    def sizes(self) -> ProductSizes | None:
        """What the time of a tile depends on; None where an extent is not known."""
        batch = product_of([self.number(1), *(each.extent for each in self.found.batch)])
        extents = (self.rows, self.columns, self.terms, batch)
        known = [smart.literal(each) for each in extents]
        rows, columns, terms, batches = (int(each or 0) for each in known)
        if None in known:
            return None
        operands = [self._operand(is_a=is_a, lines=0) for is_a in (True, False)]
        is_ahead = terms > self.depth and all(each.is_copied for each in operands)
        return ProductSizes(
            rows,
            columns,
            terms,
            batches,
            self.depth,
            tir.bytes_of_lane(operands[0].value.type),
            tir.bytes_of_lane(self.found.reduction.dtype),
            self.device.stages if is_ahead else 1,
        )

    @abstractmethod
    def candidates(self) -> Sequence[Tile]:
        """The tiles to choose from, without rows and columns that there are not; the one
        that is for extents that are not known, where some are not."""

    def tiles_within(self, most: int) -> Sequence[Tile]:
        """Those of the model with at most so many rows and columns, or that for extents
        that are not known."""
        if self.sizes is None:
            return [self.model.symbolic_tile(most)]
        return self.model.tiles_within(most)

    @cached_property
    def model(self) -> TimeModel:
        """By which the tile is chosen."""
        return self.MODEL(self.device.rates, self.device.multiprocessors)

    @cached_property
    def choice(self) -> ProductTime | None:
        """The tile and the splits that take the least time; None if that is not known."""
        sizes = self.sizes
        if sizes is None:
            return None
        steps = -(-sizes.terms // self.depth)
        found: list[tuple[Tile, int]] = []
        for tile in self.candidates():
            blocks = self.model.of(tile, sizes).blocks
            splits = splits_within(self.device, blocks, steps, _LEAST_STEPS)
            found.append((tile, splits))
            if self.device.splits is None:
                found.append((tile, 1))
        return self.model.best(sizes, found)

    @property
    def tile(self) -> Tile:
        """Rows and columns of a block."""
        choice = self.choice
        return self.candidates()[0] if choice is None else choice.tile

    def number(self, value: int) -> Expr:
        return smart.const(value, self.index)

    # ---- the whole ----

    def write(self) -> None:
        """All rows and columns of all batches."""
        code, found = self.code, self.found
        batch = [axis.extent for axis in found.batch]
        rows = ceildiv(self.rows, self.tile_rows)
        columns = ceildiv(self.columns, self.tile_columns)
        group = self.rows_together(rows)
        dtype = product_of([*batch, rows, columns]).dtype
        near, splits = smart.const(group, rows.dtype), smart.const(self.splits, dtype)
        extents = [*batch, smart.floordiv(rows, near), columns, near, splits]
        self.partial = partial_sums(code, found, self.device, self.splits)
        least = self.model.least_blocks(self.tile) if self.needs_registers else 0
        launch = kernel(code, product_of(extents), self.width, self.height, least)
        with launch as (block, r, c), code.block(block_name(found, self.partial)):
            *before, row, column, near, self.split = split_index(block, extents)
            row = smart.add(smart.mul(row, smart.const(group, row.dtype)), near)
            self.row, self.column = (smart.cast(self.index, each) for each in (r, c))
            self.place_tile(before, row, column)
            self.write_tile()
        if self.partial is not None:
            self.partial.write_kernel()

    def place_tile(self, batch: Sequence[Expr], row: Expr, column: Expr) -> None:
        """Have the tile be one of a batch, in a row and a column of tiles."""
        self.batch = points(self.found.batch, batch)
        self.first_row = self._corner(row, self.tile_rows)
        self.first_column = self._corner(column, self.tile_columns)

    def rows_together(self, rows: Expr) -> int:
        """A divisor of the rows of tiles: of so many, a column comes before the next."""
        return 1

    @cached_property
    def splits(self) -> int:
        """Over how many blocks the terms of a tile are split."""
        return 1 if self.choice is None else self.choice.splits

    @property
    def steps(self) -> Expr:
        """Tiles of terms that a block multiplies."""
        return smart.floordiv(ceildiv(self.terms, self.depth), self.number(self.splits))

    def _corner(self, tile: Expr, size: int) -> Expr:
        return smart.mul(smart.cast(self.index, tile), self.number(size))

    def write_tile(self) -> None:
        """One tile of the result."""
        code = self.code
        self.sums = code.alloc("sums", self.sums_shape, self.dtype, "local")
        with ExitStack() as stack:
            indices = [
                stack.enter_context(code.unrolled(name, self.number(extent)))
                for name, extent in zip("ij", self.sums_shape, strict=False)
            ]
            code.store(smart.const(0, self.dtype), self.sums, *indices)
        steps = self.steps
        start = smart.mul(smart.cast(self.index, self.split), steps)
        with code.loop("k", steps, annotations=self._pipeline()) as step, code.block(""):
            first = smart.mul(smart.add(start, step), self.number(self.depth))
            a, b = (self._alloc_tile(operand) for operand in self.operands)
            for tile, operand in zip((a, b), self.operands, strict=True):
                layout = self.layout("g2s_A" if operand.is_a else "g2s_B")
                with code.block("", layout):
                    self._copy_tile(tile, operand, first)
            with code.block("", self.layout("s2l")):
                self.multiply(a, b)
        self.finish_all()

    @abstractmethod
    def multiply(self, a: SSAValue, b: SSAValue) -> None:
        """Add the products of tiles that are in shared memory."""

    @abstractmethod
    def finish_all(self) -> None:
        """Call `finish` for all sums."""

    def layout(self, name: str) -> dict[str, Attribute] | None:
        """The annotations of a block that accesses tiles."""
        return None

    def _pipeline(self) -> dict[str, Attribute] | None:
        """Two copies that run ahead, and a product that comes first in a step."""
        if not self.is_asynchronous:
            return None
        return {
            "software_pipeline_stage": _numbers(0, 0, self.device.stages - 1),
            "software_pipeline_order": _numbers(1, 2, 0),
            "software_pipeline_async_stages": _numbers(0),
        }

    # ---- tiles of operands ----

    @cached_property
    def operands(self) -> tuple[Operand, Operand]:
        """A and B, whose tiles are as they are in memory."""
        return (
            self._operand(is_a=True, lines=self.tile_rows),
            self._operand(is_a=False, lines=self.tile_columns),
        )

    def _operand(self, *, is_a: bool, lines: int) -> Operand:
        found = self.found
        value = loaded_value(found.a if is_a else found.b)
        behind = ops_behind(self.nest, value)
        ours = [access for access in self.nest.accesses if access.op in behind]
        axes = found.rows if is_a else found.columns
        along = _is_longer(_run(found.terms, ours), _run(axes, ours), self.depth)
        inner = [axis for axis in (found.terms if along else axes) if axis.size != 1]
        loaded = [access for access in ours if access.op is value.owner]
        lanes = self._lanes(loaded[0], inner[-1]) if loaded and inner else 1
        padding = self._padding(is_a=is_a)
        if padding is not None and padding.is_along_last:
            # Of neighbours, some may be zeros.
            lanes = 1
        is_loaded = bool(loaded) and _scope(loaded[0]) == "global"
        return Operand(value, is_a, axes, lines, along, lanes, is_loaded)

    def _padding(self, *, is_a: bool) -> Padding | None:
        """What an operand is loaded from, if it is padded."""
        return self.found.padding if self.found.pads_a == is_a else None

    def _lanes(self, access: Access, axis: Axis) -> int:
        """The most neighbours that are next to each other in all rows of a buffer."""
        definition = tir.buffer_definition(access.buffer)
        dtype = definition.type.element_type
        is_row = access.indices[-1] is Value(axis.variable)
        if definition.layout_strides or not is_row or tir.bits_of_lane(dtype) < _BYTE:
            return 1
        last = definition.shape[-1]
        sizes = (axis.size, last if isinstance(last, int) else None)
        lanes = max(self.device.vector_bytes // tir.bytes_of_lane(dtype), 1)
        while lanes > 1 and any(size is None or size % lanes for size in sizes):
            lanes //= 2
        return lanes

    @cached_property
    def is_asynchronous(self) -> bool:
        """Whether tiles are copied while others are multiplied."""
        steps, stages = smart.literal(self.steps), self.device.stages
        is_loop = steps is None or steps > 1
        return is_loop and stages > 1 and all(o.is_copied for o in self.operands)

    def _alloc_tile(self, operand: Operand) -> SSAValue:
        """Shared memory for a tile of an operand."""
        name = "a_tile" if operand.is_a else "b_tile"
        scope = "shared.dyn" if self.is_asynchronous else "shared"
        shape = self.tile_shape(operand)
        return self.code.alloc(name, shape, operand.value.type, scope)

    def tile_shape(self, operand: Operand) -> tuple[int, int]:
        """The rows of a tile in shared memory, and their elements."""
        shape = (operand.lines, self.depth)
        return shape if operand.along_terms else (shape[1], shape[0])

    def _copy_tile(self, tile: SSAValue, operand: Operand, first: Expr) -> None:
        """Copy a tile of an operand from a term on; threads have neighbours in memory."""
        code, depth, lanes, lines = self.code, self.depth, operand.lanes, operand.lines
        threads = self.width * self.height
        pieces = self.number(lines * depth // lanes)
        with code.loop("u", ceildiv(pieces, threads), tir.ForKind.UNROLLED) as number:
            linear = smart.add(smart.mul(self.row, self.number(self.width)), self.column)
            flat = smart.add(smart.mul(number, self.number(threads)), linear)
            with code.when(in_range(flat, pieces, threads)):
                inner = self.number((depth if operand.along_terms else lines) // lanes)
                outer, last = smart.floordiv(flat, inner), smart.floormod(flat, inner)
                last = smart.mul(last, self.number(lanes))
                at = (outer, last) if operand.along_terms else (last, outer)
                self._copy_piece(tile, operand, first, *at)

    def _copy_piece(
        self, tile: SSAValue, operand: Operand, first: Expr, line: Expr, term: Expr
    ) -> None:
        """Copy neighbours, or write zeros where the operand has none."""
        code, found, along = self.code, self.found, operand.along_terms
        total = self.rows if operand.is_a else self.columns
        start = self.first_row if operand.is_a else self.first_column
        zero = smart.const(0, operand.value.type)
        inside = smart.conjunction(
            in_range(smart.add(start, line), total, operand.lines),
            in_range(smart.add(first, term), self.terms, self.depth),
        )

        def place(lane: Expr) -> tuple[Expr, Expr]:
            return (
                (line, smart.add(term, lane)) if along else (smart.add(line, lane), term)
            )

        def point(lane: Expr) -> Point:
            row, column = place(lane)
            return {
                **self.batch,
                **split_point(smart.add(start, row), operand.axes),
                **split_point(smart.add(first, column), found.terms),
            }

        padding = self._padding(is_a=operand.is_a)
        if padding is not None:
            indices = self._padded_place(padding, point(self.number(0)))
            inside = smart.conjunction(inside, padding.is_inside(indices))

        def element(lane: Expr) -> Expr:
            at = point(lane)
            redirected = None
            if padding is not None:
                place = padding.element(self._padded_place(padding, at))
                redirected = {padding.buffer: place}
            return self.nest.value_at(code, operand.value, at, redirected)

        def store(content: Callable[[Expr], Expr]) -> None:
            with self.each_lane(operand.lanes) as lane:
                indices = self.place_in_tile(operand, *place(self.number(0)), lane)
                code.store(content(lane), tile, *indices)

        if self.is_asynchronous:
            store(lambda lane: code.choice(inside, lambda: element(lane), zero))
            return
        with code.when(inside):
            store(element)
        if smart.literal(inside) != 1:
            with code.otherwise(inside):
                store(lambda lane: zero)

    def place_in_tile(
        self, operand: Operand, line: Expr, term: Expr, lane: Expr
    ) -> tuple[Expr, Expr]:
        """Where a tile has an element, `lane` after the first one of neighbours."""
        if operand.along_terms:
            return line, smart.add(term, lane)
        return term, smart.add(line, lane)

    def _padded_place(self, padding: Padding, at: Point) -> list[Expr]:
        """The padded element that the iteration at a point reads."""
        (read,) = (each for each in self.nest.accesses if each.buffer is padding.buffer)
        return [self.nest.tree_at(index, at) for index in read.indices]

    def each_lane(self, lanes: int) -> AbstractContextManager[Expr]:
        """Neighbours that are accessed at once."""
        return each_lane(self.code, lanes, self.index)

    # ---- results ----

    def finish(
        self,
        at: tuple[Expr, ...],
        line: Expr,
        place: Expr,
        lanes: int = 1,
        sums: SSAValue | None = None,
    ) -> None:
        """Store results from a row and column of the tile on, after a map on them.

        `at` is where the first of them is among the sums, or others that are given, and
        the others are next to it.
        """
        code, found = self.code, self.found
        row = smart.add(self.first_row, line)
        column = smart.add(self.first_column, place)
        inside = smart.conjunction(
            in_range(row, self.rows, self.tile_rows),
            in_range(column, self.columns, self.tile_columns),
        )
        inside = smart.conjunction(inside, is_not_empty(found.terms))
        *before, last = at

        def point(lane: Expr) -> Point:
            lines = split_point(row, found.rows)
            places = split_point(smart.add(column, lane), found.columns)
            return {**self.batch, **lines, **places}

        def total(lane: Expr) -> Expr:
            return code.load(sums or self.sums, *before, smart.add(last, lane))

        with code.when(inside):
            if self.partial is not None:
                self.partial.store(self.split, lanes, point(self.number(0)), total)
            else:
                write_results(code, found, lanes, self.index, point, total)


def _run(axes: Sequence[Axis], accesses: Sequence[Access]) -> Axis | None:
    """The innermost of the axes, if what is accessed along it is next to each other."""
    wide = [axis for axis in axes if axis.size != 1]
    if not wide or not any(access.step(wide[-1]) == 1 for access in accesses):
        return None
    return wide[-1]


def _is_longer(terms: Axis | None, lines: Axis | None, enough: int) -> bool:
    """Whether more terms than lines are next to each other, of a tile of so many terms.

    Windows of images have a few terms next to each other, and as many lines as there are
    columns in the image.
    """
    if terms is None or lines is None or terms.size is None:
        return terms is not None
    return terms.size >= min(enough, lines.size or enough)


def loaded_value(value: SSAValue) -> SSAValue:
    """The value before casts to its own type."""
    while isinstance(value.owner, tir.CastOp) and value.owner.value.type == value.type:
        value = value.owner.value
    return value


def _scope(access: Access) -> str:
    return tir.buffer_definition(access.buffer).type.scope.data


def _numbers(*values: int) -> ArrayAttr[IntegerAttr]:
    return ArrayAttr([IntegerAttr(value, i32) for value in values])
