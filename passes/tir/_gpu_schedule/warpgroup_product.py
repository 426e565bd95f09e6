"""The GPU schedule of contractions of f16 and bf16 on Hopper GPUs: `sm_90a`.

A block has a warpgroup of which one thread copies tiles of both operands, by tensor
copies into a ring of stages, and one or two warpgroups that multiply 64 rows each of what
is there, by `ptx_wgmma_mma_async` with the sums in registers. Counting barriers say when
a stage is full and when it is empty; one group of products is in flight while the next
one is begun. Where there are many tiles, a block has several of them, one after the
other, whose steps go on in the ring: the next tile is copied while the results of one are
stored. Tensor copies fill with zeros what is outside of an operand, so that nobody asks
where terms, rows or columns end, but for the stores of results.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import prod
from typing import ClassVar, Final

from xdsl.dialects.builtin import BFloat16Type, bf16, f16, i32
from xdsl.ir import Attribute, SSAValue

from xdsl_tvm.analysis.arith import smart
from xdsl_tvm.analysis.arith.expr import Expr, Value
from xdsl_tvm.dialects import tir
from xdsl_tvm.passes.tir._gpu_schedule.device import WARP, ceildiv, kernel
from xdsl_tvm.passes.tir._gpu_schedule.product import ProductKernel, loaded_value
from xdsl_tvm.passes.tir._gpu_schedule.product_time import (
    GroupModel,
    ProductSizes,
    Tile,
)
from xdsl_tvm.passes.tir._gpu_schedule.split_terms import block_name
from xdsl_tvm.passes.tir._loops.loop_nest import Access, Axis
from xdsl_tvm.passes.tir._schedule.axes import product_of, split_index
from xdsl_tvm.passes.tir._schedule.contraction import Contraction

TERMS: Final = 64
"""Terms of a tile: rows of 128 bytes."""
_STEP: Final = 16
"""Terms of a product."""
GROUP_ROWS: Final = 64
"""Rows of the product of a warpgroup."""
_GROUP_THREADS: Final = 128
_GROUP_COLUMNS: Final = 64
"""Columns of a box of B where columns are next to each other."""
_LEAST: Final = 33
"""With fewer rows or columns, most of a tile would be zeros."""
_MOST_DIMENSIONS: Final = 5
_CHUNK_ELEMENTS: Final = 8
"""Rows of memory begin at multiples of so many elements, 16 bytes."""
_SWIZZLE: Final = 128
_STAGES: Final = 4
_SHARED_BYTES: Final = 227 << 10
_REGISTERS: Final = 1 << 16
_MORE_REGISTERS: Final = 48
"""What a thread has besides its sums."""


@dataclass(frozen=True)
class MappedOperand:
    """An operand whose tiles tensor copies copy, as dimensions of memory.

    A dimension has the axes that it runs over; those of lines and of terms are one each.
    """

    buffer: SSAValue
    dimensions: tuple[tuple[Axis, ...], ...]
    kinds: tuple[str, ...]
    """`batch`, `lines` or `terms`, by dimension; the innermost is one of the latter."""

    @property
    def along_terms(self) -> bool:
        """Whether terms, and not lines, are next to each other."""
        return self.kinds[-1] == "terms"

    def extent(self, position: int) -> Expr:
        """How many elements a dimension has."""
        return product_of([axis.extent for axis in self.dimensions[position]])


def mapped_operand(
    found: Contraction, value: SSAValue, lines: tuple[Axis, ...]
) -> MappedOperand | None:
    """An operand of a contraction as a tensor of rows at multiples of 16 bytes.

    None for one that is computed, is of memory with strides, or is not accessed in the
    order of its memory, as the windows of images are not.
    """
    load = loaded_value(value).owner
    if not isinstance(load, tir.LoadOp) or load.predicate is not None:
        return None
    access = next((each for each in found.nest.accesses if each.op is load), None)
    if access is None:
        return None
    definition = tir.buffer_definition(access.buffer)
    if definition.layout_strides or definition.elem_offset is not None:
        return None
    if definition.type.scope.data != "global":
        return None
    axes = _axes_of(found, access)
    if axes is None:
        return None
    groups: list[tuple[str, list[Axis]]] = []
    for axis in axes:
        kind = _kind(found, lines, axis)
        if groups and groups[-1][0] == kind:
            groups[-1][1].append(axis)
        else:
            groups.append((kind, [axis]))
    kinds = tuple(kind for kind, _ in groups)
    wanted = {"lines": lines, "terms": found.terms}
    for kind, own in wanted.items():
        wide = [axis for axis in own if axis.size != 1]
        held = [each for name, each in groups if name == kind]
        if len(held) != 1 or held[0] != wide:
            return None
    if kinds[-1] == "batch" or len(kinds) > _MOST_DIMENSIONS:
        return None
    last = smart.literal(product_of([axis.extent for axis in groups[-1][1]]))
    if last is None or int(last) % _CHUNK_ELEMENTS:
        return None
    return MappedOperand(access.buffer, tuple(tuple(each) for _, each in groups), kinds)


def _axes_of(found: Contraction, access: Access) -> list[Axis] | None:
    """The axis of each dimension of more than one element; None for other indices."""
    known: dict[Expr, Axis] = {Value(axis.variable): axis for axis in found.nest.axes}
    shape = tir.buffer_definition(access.buffer).shape
    result: list[Axis] = []
    for index, extent in zip(access.indices, shape, strict=True):
        if extent == 1:
            continue
        axis = known.get(index)
        size = smart.const(extent, i32) if isinstance(extent, int) else Value(extent)
        if axis is None or axis in result:
            return None
        ours = smart.literal(axis.extent)
        same = axis.extent == size if ours is None else ours == smart.literal(size)
        if not same:
            return None
        result.append(axis)
    return result


def _kind(found: Contraction, lines: Sequence[Axis], axis: Axis) -> str:
    if axis in lines:
        return "lines"
    return "terms" if axis in found.terms else "batch"


def match_warpgroups(found: Contraction) -> Contraction | None:
    """A product of narrow floats that warpgroups do: A `[…, rows, terms]` in memory, B
    `[…, columns, terms]` or `[…, terms, columns]`."""
    if found.padding is not None or found.a.type not in (f16, bf16):
        return None
    least = (_LEAST, _LEAST, TERMS + 1)
    for axes, most in zip((found.rows, found.columns, found.terms), least, strict=True):
        size = smart.literal(product_of([axis.extent for axis in axes]))
        if size is not None and size < most:
            return None
    a = mapped_operand(found, found.a, found.rows)
    b = mapped_operand(found, found.b, found.columns)
    if a is None or b is None or not a.along_terms:
        return None
    return found


@dataclass
class WarpgroupKernel(ProductKernel):
    """Writes one kernel."""

    MODEL: ClassVar = GroupModel

    _count: int = field(init=False, default=1)
    """Tiles of a block."""
    _place: Callable[[Expr], None] = field(init=False)
    """Has the tile be that of a wave."""

    # ---- sizes ----

    @property
    def width(self) -> int:
        return _GROUP_THREADS

    @property
    def height(self) -> int:
        """Warpgroups that multiply, and the one of the thread that copies."""
        return self.groups + 1

    @property
    def groups(self) -> int:
        """Warpgroups that multiply."""
        return self.tile_rows // GROUP_ROWS

    def candidates(self) -> Sequence[Tile]:
        return self.tiles_within(max(self.device.warpgroup_tile, GROUP_ROWS))

    @cached_property
    def sizes(self) -> ProductSizes | None:
        """Tensor copies are ahead, as many as there are steps."""
        found = super().sizes
        if found is None:
            return None
        steps = -(-found.terms // TERMS)
        return replace(found, stages=max(1, min(_STAGES, steps)))

    @property
    def depth(self) -> int:
        return TERMS

    @property
    def sums_shape(self) -> Sequence[int]:
        return [self.tile_columns // 2]

    @cached_property
    def stages(self) -> int:
        """Tiles in shared memory: as many as are used, up to 4."""
        steps = smart.literal(self.steps)
        return _STAGES if steps is None else max(1, min(_STAGES, int(steps)))

    @property
    def _stage(self) -> int:
        """The elements of a stage."""
        return (self.tile_rows + self.tile_columns) * TERMS

    # ---- several tiles of a block ----

    @cached_property
    def _waves(self) -> tuple[int, int]:
        """How many blocks there are, and tiles of each; (0, 1) for a block a tile."""
        sizes = [
            smart.literal(each)
            for each in (self.rows, self.columns, *(a.extent for a in self.found.batch))
        ]
        if None in sizes or smart.literal(self.steps) is None or self.splits > 1:
            return 0, 1
        height, width, *batch = (int(size or 0) for size in sizes)
        down, across = -(-height // self.tile_rows), -(-width // self.tile_columns)
        total, together = down * across * prod(batch), self._near * across
        slots = self.device.multiprocessors * self._blocks_at_once
        waves = max(1, -(-total // slots))
        blocks, rest = divmod(total, waves)
        if waves == 1 or rest:
            return 0, 1
        is_part = together % blocks == 0 and blocks % self._near == 0
        return (blocks, waves) if is_part or blocks % together == 0 else (0, 1)

    @property
    def _near(self) -> int:
        return self.rows_together(ceildiv(self.rows, self.tile_rows))

    @property
    def _blocks_at_once(self) -> int:
        """Blocks that a multiprocessor has at a time."""
        threads = self.width * self.height
        registers = threads * (self.sums_shape[0] + _MORE_REGISTERS)
        size = 2 * self.stages * self._stage
        return max(1, min(_SHARED_BYTES // size, _REGISTERS // registers))

    def _write_waves(self) -> None:
        """A launch in which each block has a tile of each wave.

        The blocks of a wave have whole groups of rows, or some columns of one.
        """
        code, found = self.code, self.found
        blocks, waves = self._waves
        batch = [axis.extent for axis in found.batch]
        rows = ceildiv(self.rows, self.tile_rows)
        columns = ceildiv(self.columns, self.tile_columns)
        dtype = product_of([*batch, rows, columns]).dtype
        across, group = int(smart.literal(columns) or 1), self._near
        together = group * across

        def number(value: int) -> Expr:
            return smart.const(value, dtype)

        def place(wave: Expr) -> None:
            wave = smart.cast(dtype, wave)
            if blocks % together == 0:
                extents = [number(blocks // together), number(across), number(group)]
                first, column, near = split_index(block, extents)
                outer = smart.add(smart.mul(wave, extents[0]), first)
            else:
                part, parts = number(blocks // group), number(together // blocks)
                column, near = split_index(block, [part, number(group)])
                among = smart.floormod(wave, parts)
                column = smart.add(smart.mul(among, part), column)
                outer = smart.floordiv(wave, parts)
            extents = [*batch, smart.floordiv(rows, number(group))]
            *before, row = split_index(outer, extents)
            row = smart.add(smart.mul(row, number(group)), near)
            self.place_tile(before, row, column)

        with (
            kernel(code, number(blocks), self.width, self.height) as (block, r, c),
            code.block(block_name(found, None)),
        ):
            self.row, self.column = (smart.cast(self.index, each) for each in (r, c))
            self.split = number(0)
            self._place, self._count = place, waves
            self.write_tile()

    @contextmanager
    def _tiles_of_block(self) -> Generator[Expr]:
        """The tiles of a block; yields how many steps were before those of the tile."""
        if self._count == 1:
            yield self.number(0)
            return
        with self.code.loop("w", self.number(self._count)) as wave:
            self._place(wave)
            yield smart.mul(wave, self.steps)

    # ---- tensor maps ----

    @cached_property
    def mapped(self) -> tuple[MappedOperand, MappedOperand]:
        """A and B as tensors."""
        found = self.found
        a = mapped_operand(found, found.a, found.rows)
        b = mapped_operand(found, found.b, found.columns)
        assert a is not None
        assert b is not None
        return a, b

    def write(self) -> None:
        a, b = self.mapped
        self._maps = [
            self._encode("a_map", a, self.tile_rows),
            self._encode("b_map", b, self.tile_columns),
        ]
        if self._waves[0]:
            self._write_waves()
        else:
            super().write()

    def _encode(self, name: str, operand: MappedOperand, lines: int) -> Expr:
        """The tensor map of an operand, which the host makes."""
        box = {"batch": 1, "terms": TERMS}
        box["lines"] = lines if operand.along_terms else _GROUP_COLUMNS
        rank = len(operand.kinds)
        wide = self.index
        extents = [smart.cast(wide, operand.extent(place)) for place in range(rank)]
        strides = [
            smart.cast(wide, product_of(extents[place + 1 :]))
            for place in range(rank - 1)
        ]
        sizes = [smart.const(box[kind], wide) for kind in operand.kinds]
        arguments = [
            self.code.data(operand.buffer),
            smart.const(_SWIZZLE, i32),
            *(*extents, *strides, *sizes),
        ]
        made = self.code.call("tensormap_encode_tiled", arguments, tir.HandleType())
        # A variable stays with the host, which launches the kernel.
        return self.code.let(name, made)

    # ---- the kernel ----

    def rows_together(self, rows: Expr) -> int:
        """Blocks next to each other have some rows of tiles by neighbouring columns,
        whose operands the cache holds for all of them."""
        count = smart.literal(rows)
        return next((n for n in (8, 4, 2) if count is not None and count % n == 0), 1)

    def write_tile(self) -> None:
        code, number = self.code, self.number
        a, _ = self.mapped
        dtype = tir.buffer_definition(a.buffer).type.element_type
        self.sums = code.alloc("sums", self.sums_shape, self.dtype, "local")
        self._tiles = code.alloc(
            "tiles", [self.stages * self._stage], dtype, "shared.dyn"
        )
        self._begin()
        is_copying = smart.negation(smart.lt(self.row, number(self.groups)))
        with (
            code.when(smart.lt(self.row, number(self.groups))),
            self._tiles_of_block() as before,
        ):
            self._multiply_all(dtype, before)
            self.finish_all()
        with (
            code.when(is_copying),
            code.when(smart.eq(self.column, number(0))),
            self._tiles_of_block() as before,
        ):
            self._copy_all(before)

    def _begin(self) -> None:
        """Barriers: of each stage, that it is full, and that it is empty."""
        code, number, stages = self.code, self.number, self.stages
        self._call("create_barriers", number(2 * stages))
        is_first = smart.conjunction(
            smart.eq(self.row, number(0)), smart.eq(self.column, number(0))
        )
        with code.when(is_first):
            for stage in range(stages):
                init = "ptx_init_barrier_thread_count"
                self._call(init, number(stage), number(1))
                warps = self.groups * _GROUP_THREADS // WARP
                self._call(init, number(stages + stage), number(warps))
            self._call("ptx_fence_proxy_async")
        self._call("tvm_storage_sync", code.string("shared"), dtype=i32)

    def _call(self, name: str, *args: Expr, dtype: Attribute | None = None) -> None:
        values = [self.code.value(each) for each in args]
        self.code.insert(tir.CallOp(name, values, dtype))

    def _at(self, step: Expr) -> Expr:
        """The stage of a step."""
        return smart.floormod(step, self.number(self.stages))

    def _turn(self, step: Expr, ahead: int) -> Expr:
        """The parity of the phase in which a stage is for the time of a step."""
        turn = smart.floordiv(step, self.number(self.stages))
        return smart.floormod(smart.add(turn, self.number(ahead)), self.number(2))

    def _copy_all(self, before: Expr) -> None:
        """What the thread that copies does for a tile, after so many steps."""
        code, number, stages = self.code, self.number, self.stages
        a, b = self.mapped
        start = smart.mul(smart.cast(self.index, self.split), self.steps)
        with code.loop("s", self.steps) as step:
            count = smart.add(before, step)
            stage = self._at(count)
            empty = smart.add(stage, number(stages))
            self._call("ptx_wait_barrier", empty, self._turn(count, 1))
            self._call("ptx_arrive_barrier_expect_tx", stage, number(2 * self._stage))
            term = smart.mul(smart.add(start, step), number(TERMS))
            place = smart.mul(stage, number(self._stage))
            self._copy(0, a, place, stage, self.first_row, term, self.tile_rows)
            place = smart.add(place, number(self.tile_rows * TERMS))
            if b.along_terms:
                columns = self.tile_columns
                self._copy(1, b, place, stage, self.first_column, term, columns)
                return
            for first in range(0, self.tile_columns, _GROUP_COLUMNS):
                column = smart.add(self.first_column, number(first))
                target = smart.add(place, number(first * TERMS))
                self._copy(1, b, target, stage, column, term, _GROUP_COLUMNS)

    def _copy(
        self,
        which: int,
        operand: MappedOperand,
        place: Expr,
        barrier: Expr,
        line: Expr,
        term: Expr,
        lines: int,
    ) -> None:
        """Begin the copy of so many lines of 64 terms."""
        coordinates: list[Expr] = []
        for axes, kind in zip(operand.dimensions, operand.kinds, strict=True):
            if kind == "batch":
                flat: Expr | None = None
                for axis in axes:
                    at = smart.cast(self.index, self.batch[axis.variable])
                    if flat is None:
                        flat = at
                    else:
                        extent = smart.cast(self.index, axis.extent)
                        flat = smart.add(smart.mul(flat, extent), at)
                assert flat is not None
                coordinates.append(flat)
            else:
                coordinates.append(line if kind == "lines" else term)
        self._call(
            "ptx_cp_async_bulk_tensor",
            self.code.data(self._tiles),
            place,
            self._maps[which],
            self.number(lines * TERMS * 2),
            barrier,
            *coordinates,
        )

    def _multiply_all(self, dtype: Attribute, before: Expr) -> None:
        """What the threads of a warpgroup do that multiplies, after so many steps."""
        code, number, stages = self.code, self.number, self.stages
        with code.unrolled("i", number(self.sums_shape[0])) as i:
            code.store(smart.const(0, self.dtype), self.sums, i)
        _, b = self.mapped
        kind = "bf16" if isinstance(dtype, BFloat16Type) else "fp16"
        layout, move = ("col", _STEP) if b.along_terms else ("row", _STEP * TERMS)
        texts = (f"m64n{self.tile_columns}k16", "row", layout, kind, kind, "fp32")
        own = smart.mul(self.row, number(GROUP_ROWS * TERMS))
        with code.loop("s", self.steps) as step:
            count = smart.add(before, step)
            stage = self._at(count)
            self._call("ptx_wait_barrier", stage, self._turn(count, 0))
            self._call("ptx_wgmma_fence")
            place = smart.mul(stage, number(self._stage))
            for part in range(TERMS // _STEP):
                at_a = smart.add(smart.add(place, own), number(part * _STEP))
                at_b = smart.add(place, number(self.tile_rows * TERMS + part * move))
                self._call(
                    "ptx_wgmma_mma_async",
                    *map(code.string, texts),
                    *(code.data(self._tiles), at_a, code.data(self._tiles), at_b),
                    *(code.data(self.sums), number(0)),
                )
            self._call("ptx_wgmma_commit_group")
            # The products of this step are in flight while the next ones are begun.
            self._call("ptx_wgmma_wait_group", smart.const(1, i32))
            is_lane = smart.eq(smart.floormod(self.column, number(WARP)), number(0))
            is_later = smart.negation(smart.lt(count, number(1)))
            with code.when(smart.conjunction(is_lane, is_later)):
                last = smart.floormod(smart.sub(count, number(1)), number(stages))
                self._call("ptx_arrive_barrier", smart.add(last, number(stages)))
        self._call("ptx_wgmma_wait_group", smart.const(0, i32))

    def multiply(self, a: SSAValue, b: SSAValue) -> None:
        """Tiles are multiplied where they are; see `_multiply_all`."""
        raise AssertionError("a product of warpgroups has no tiles of its own")

    # ---- results ----

    def finish_all(self) -> None:
        """Store what threads have: two neighbours of a row, and two 8 rows below."""
        code, number = self.code, self.number
        warp = smart.floordiv(self.column, number(WARP))
        lane = smart.floormod(self.column, number(WARP))
        line = smart.add(
            smart.mul(self.row, number(GROUP_ROWS)),
            smart.add(smart.mul(warp, number(16)), smart.floordiv(lane, number(4))),
        )
        pair = smart.mul(smart.floormod(lane, number(4)), number(2))
        axis = self.found.columns[-1]
        lanes = 2 if axis.size is not None and axis.size % 2 == 0 else 1
        with (
            code.unrolled("j", number(self.tile_columns // 8)) as j,
            code.unrolled("h", number(2)) as half,
            code.unrolled("e", number(2 // lanes)) as e,
        ):
            at = smart.add(smart.mul(j, number(4)), smart.mul(half, number(2)))
            place = smart.add(smart.mul(j, number(8)), smart.add(pair, e))
            row = smart.add(line, smart.mul(half, number(8)))
            self.finish((smart.add(at, e),), row, place, lanes)
