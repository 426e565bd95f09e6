"""Tiles of `m16n8k8` products: the registers that each lane of a warp has of them."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects.builtin import DYNAMIC_INDEX, ModuleOp
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.utils.exceptions import PassFailedException

from xdsl_tvm.analysis.all_ops import ops_of
from xdsl_tvm.analysis.arith import smart
from xdsl_tvm.analysis.arith.analyzer import Analyzer
from xdsl_tvm.analysis.arith.expr import Expr, emit, view
from xdsl_tvm.dialects import tir
from xdsl_tvm.passes.infra import CompilerPass
from xdsl_tvm.passes.tir.rewriting.memory_views import replace_regions, take_after
from xdsl_tvm.passes.tir.rewriting.statements import describe, erase_if_unused

_LOCAL = "local"


@dataclass(frozen=True)
class _Tile:
    """Rows and columns of a tile, and the registers that a lane has of it."""

    rows: int
    columns: int
    registers: tuple[int, int]
    has_elements: bool = False
    """Whether elements are accessed by row and column."""


_TILES = {
    "m16n8k8.matrixA": _Tile(32, 8, (4, 2)),
    "m16n8k8.matrixB": _Tile(8, 32, (1, 8)),
    "m16n8k8.matrixC": _Tile(16, 8, (2, 2), has_elements=True),
}


@dataclass(frozen=True)
class TransformMmaBufferLayout(CompilerPass):
    """Summary: Turns buffers for the matrices of `m16n8k8` products into the registers
        that each lane of a warp has of them.

    TVM name: tir.TransformMmaBufferLayout (v0.20)
    Input form: opaque blocks without `tir.match_region`, each lane accessing the elements
        of `m16n8k8.matrixC` that are its own
    Output form: the same, without `tir.alloc_buffer` in the scopes `m16n8k8.*`
    Options: none
    Rewrites: before

            %A = tir.alloc_buffer "A" : !tir.buffer<64x8xf16, "m16n8k8.matrixA">
            %C = tir.alloc_buffer "C" : !tir.buffer<32x8xf32, "m16n8k8.matrixC">
            tir.writes %C[%i, %j]
            %p = tir.data %A : !tir.ptr<f16, "m16n8k8.matrixA">
            tir.store %x, %C[%i, %j] : f32

        after

            %A = tir.alloc_buffer "A" : !tir.buffer<2x1x4x2xf16, "local">
            %C = tir.alloc_buffer "C" : !tir.buffer<2x1x2x2xf32, "local">
            tir.writes %C[%i // 16, %j // 8, 0 to 2, 0 to 2]
            %p = tir.data %A : !tir.ptr<f16, "local">
            tir.store %x, %C[%i // 16, %j // 8, %i // 8 % 2, %j % 2] : f32

        The last two dimensions are cut into tiles: of 32 by 8 elements, of which a lane
        has 4 by 2, for A; of 8 by 32, with 1 by 8, for B; of 16 by 8, with 2 by 2, for C.
        Other dimensions are kept. A declared region becomes that of the tiles which it
        touches. Pointers get the new scope, with all that is made from them; what
        intrinsics add to them counts registers already. Time is linear in the size of
        the module.
    Leaves alone: buffers of other scopes; memory of a `tir.allocate`
    Errors: of a buffer in one of the scopes: fewer than two dimensions, last ones that
        are not constant or no multiples of a tile, an offset; an access of an element of
        A or B, or of C with a vector as index; a `tir.match_region`: run
        tir-lower-match-buffer first; any other use but its pointer and declared regions;
        a pointer that a choice gives
    Attributes: read: none; created: none; removed: none
    Differs from TVM: the map of C is part of the pass, so that no function has to be
        registered. C may have more than two dimensions, as a software pipeline makes
        them. Declared regions follow the buffer, and a `tir.match_region`, which TVM
        leaves behind on what is gone, is an error, as is an element of A or B.
    """

    name = "tir-transform-mma-buffer-layout"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        found = ops_of(op, tir.AllocBufferOp)
        for alloc in found:
            tile = _TILES.get(alloc.type.scope.data)
            if tile is not None:
                _Registers(alloc, tile).replace()


def _refused(op: Operation, problem: str) -> PassFailedException:
    return PassFailedException(f"{describe(op)}: {problem}")


class _Registers:
    """Puts registers in the place of a buffer."""

    def __init__(self, alloc: tir.AllocBufferOp, tile: _Tile) -> None:
        self._old = alloc
        self._tile = tile
        self._analyzer = Analyzer()
        kind = alloc.type
        shape = (*kind.get_shape()[:-2], *self._tiles(), *tile.registers)
        new = tir.AllocBufferOp(
            tir.BufferType(shape, kind.element_type, _LOCAL), alloc.extents
        )
        take_after(new, alloc, "static_strides")
        self._new = new

    def _tiles(self) -> tuple[int, int]:
        """How many tiles there are, over rows and over columns."""
        tile, alloc = self._tile, self._old
        offset = alloc.elem_offset
        if offset is not None and not tir.is_constant(offset, 0):
            raise _refused(
                alloc, "fragments of a lane have no offset; allocate them without one"
            )
        shape = alloc.type.get_shape()
        if len(shape) < 2:
            raise _refused(
                alloc, "a matrix has two dimensions at least; give it rows and columns"
            )
        rows, columns = shape[-2:]
        if DYNAMIC_INDEX in (rows, columns):
            raise _refused(
                alloc, "rows and columns of a matrix must be constants; specialize them"
            )
        if rows % tile.rows or columns % tile.columns:
            raise _refused(
                alloc,
                f"{rows} by {columns} elements are no tiles of {tile.rows} by "
                f"{tile.columns}, which {alloc.type.scope.data} consists of; pad them",
            )
        return rows // tile.rows, columns // tile.columns

    def replace(self) -> None:
        """Do it all."""
        Rewriter.insert_op(self._new, InsertPoint.before(self._old))
        for op in dict.fromkeys(use.operation for use in self._old.buffer.uses):
            match op:
                case tir.DataOp():
                    op.operands[0] = self._new.buffer
                    pointer = self._new.type.pointer_type
                    _follow(_retyped(op.results[0], pointer))
                case tir.LoadOp() | tir.StoreOp() | tir.AddressOfOp():
                    self._access(op)
                case tir.ReadsOp() | tir.WritesOp():
                    self._declared(op)
                case tir.MatchRegionOp():
                    raise _refused(
                        op,
                        "views of fragments must be gone here; run "
                        "tir-lower-match-buffer first",
                    )
                case _:
                    raise _refused(
                        op, "uses fragments other than by their pointer; pass a tir.data"
                    )
        Rewriter.erase_op(self._old)

    def _access(self, op: tir.LoadOp | tir.StoreOp | tir.AddressOfOp) -> None:
        if not self._tile.has_elements:
            raise _refused(
                op,
                f"{self._old.type.scope.data} is accessed by intrinsics only, since its "
                "elements are in several lanes; use a pointer",
            )
        indices = [view(index) for index in op.indices]
        if any(tir.is_vector(index.dtype) for index in indices):
            raise _refused(
                op, "elements of a matrix are accessed one by one; run before vectorizing"
            )
        *leading, row, column = indices
        places = [*leading, *self._place(row, column)]
        builder = Builder(InsertPoint.before(op))
        known = dict(zip(indices, op.indices, strict=True))
        old = tuple(op.indices)
        values = [emit(place, builder, known) for place in places]
        new: Operation
        if isinstance(op, tir.StoreOp):
            new = tir.StoreOp(op.value, self._new.buffer, values, op.predicate)
        elif isinstance(op, tir.LoadOp):
            new = tir.LoadOp(self._new.buffer, values, op.predicate)
        else:
            new = tir.AddressOfOp(self._new.buffer, values)
        new.attributes |= op.attributes
        new.location = op.location
        Rewriter.replace_op(op, new)
        if isinstance(new, tir.AddressOfOp):
            _follow(new.results[0])
        erase_if_unused(old)

    def _place(self, row: Expr, column: Expr) -> list[Expr]:
        """Where a lane has an element of C."""
        half = smart.floordiv(row, 8)
        places = (
            smart.floordiv(half, 2),
            smart.floordiv(column, 8),
            smart.floormod(half, 2),
            smart.floormod(smart.floormod(column, 8), 2),
        )
        return [self._analyzer.simplify(place) for place in places]

    # ---- declared regions ----

    def _declared(self, op: tir.ReadsOp | tir.WritesOp) -> None:
        regions = [
            self._region(region, op) if region.buffer is self._old.buffer else region
            for region in op.buffer_regions
        ]
        erase_if_unused(replace_regions(op, regions))

    def _region(self, region: tir.BufferRegion, op: Operation) -> tir.BufferRegion:
        """The tiles that a region touches, with all of their registers."""
        builder = Builder(InsertPoint.before(op))
        mins, extents = list(region.mins[:-2]), list(region.extents[:-2])
        sizes = (self._tile.rows, self._tile.columns)
        for low, extent, size in zip(
            region.mins[-2:], region.extents[-2:], sizes, strict=True
        ):
            start = view(low)
            end = smart.add(start, extent if isinstance(extent, int) else view(extent))
            first = self._analyzer.simplify(smart.floordiv(start, size))
            last = smart.floordiv(smart.sub(end, 1), size)
            count = self._analyzer.simplify(smart.add(smart.sub(last, first), 1))
            number = smart.literal(count)
            mins.append(emit(first, builder))
            extents.append(emit(count, builder) if number is None else int(number))
        zero = smart.const(0, mins[-1].type)
        for registers in self._tile.registers:
            mins.append(emit(zero, builder))
            extents.append(registers)
        return tir.BufferRegion(self._new.buffer, tuple(mins), tuple(extents))


# ---- pointers ----


def _retyped(value: SSAValue, dtype: Attribute) -> SSAValue:
    return Rewriter.replace_value_with_new_type(value, dtype)


def _follow(start: SSAValue) -> None:
    """Give what is made of a pointer the scope that it has now."""
    pending = [start]
    met: set[Operation] = set()
    while pending:
        for use in tuple(pending.pop().uses):
            op = use.operation
            if op in met:
                continue
            if op.results:
                met.add(op)
            match op:
                case tir.DeclBufferOp():
                    kind = op.type
                    dtype = tir.BufferType(kind.shape, kind.element_type, _LOCAL)
                    pending.append(_retyped(op.buffer, dtype))
                case tir.AccessPtrOp() | tir.LetOp() | tir.DataOp() | tir.AddressOfOp():
                    result = op.results[0]
                    if isinstance(result.type, tir.PtrType):
                        dtype = tir.PtrType(result.type.element_type, _LOCAL)
                        pending.append(_retyped(result, dtype))
                case tir.YieldOp() | tir.SelectOp():
                    raise _refused(
                        op, "chooses a pointer to fragments; choose between statements"
                    )
                case _:
                    pass
