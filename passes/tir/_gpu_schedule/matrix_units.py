"""The GPU schedule of contractions of f16, bf16, bytes, and f32 as tf32 on matrix units.

A block of warps computes a tile of the result, each warp a part of it, by `ptx_mma` of 16
rows, 8 columns and 32 bytes of terms. Tiles of the operands are in shared memory as they
are in memory, with their columns permuted, so that `ptx_ldmatrix` has no bank conflicts,
and transposes elements of 16 bits where it has to. Words of f32 are loaded one by one
there; bytes are transposed by pairs, which are taken apart in registers, so that a lane
has four neighbours of each row. Where copies are
asynchronous, they are a software pipeline whose product comes first in a step, so that
one barrier a step is enough (docs/cuda.md).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar, Final

from xdsl.dialects.builtin import StringAttr, f32
from xdsl.ir import Attribute, SSAValue

from xdsl_tvm.analysis.arith import smart
from xdsl_tvm.analysis.arith.expr import Call, Expr
from xdsl_tvm.dialects import tir
from xdsl_tvm.passes.tir._gpu_schedule.device import WARP
from xdsl_tvm.passes.tir._gpu_schedule.product import Operand, ProductKernel
from xdsl_tvm.passes.tir._gpu_schedule.product_time import Tile, clipped
from xdsl_tvm.passes.tir._schedule.contraction import Contraction
from xdsl_tvm.passes.tir.rewriting.matrix_fragments import (
    COLUMNS,
    FORMATS,
    ROWS,
    SUMS,
    ProductFormat,
    add_product,
    load_bytes,
    load_fragment,
    load_words,
)

_PAIR = 16
"""Columns of B that one `ptx_ldmatrix` loads, for two products."""
_PERMUTED: Final = 32
"""A tile of 16 bits is permuted if its rows are a multiple of so many elements."""
_TERMS_BYTES: Final = 64
"""Terms of a tile that are in shared memory at a time."""
_PIECES: Final = 8
"""Pieces of 16 bytes that all banks of shared memory hold."""
_FEW_PIECES: Final = 2
"""With so many in a row, 4 rows are in all banks."""
_RESULTS: Final = 2
"""Results of a lane next to each other."""
_WORD_BYTES: Final = 4


def match_units(found: Contraction, *, allow_tf32: bool) -> Contraction | None:
    """The contraction with the operands of matrix units, before they are widened.

    With `allow_tf32` the operands may be f32, of which 10 bits of the fraction count.
    """
    dtype = found.reduction.dtype
    wide = f32 if tir.is_float(dtype) else dtype
    a, b = _narrow(found.a, wide), _narrow(found.b, wide)
    form = FORMATS.get(a.type)
    if a.type == b.type and form is not None and a.type != f32:
        return replace(found, a=a, b=b) if dtype in (form.sums, a.type) else None
    is_word = found.a.type == found.b.type == dtype == f32
    return found if is_word and allow_tf32 else None


def _narrow(value: SSAValue, wide: Attribute) -> SSAValue:
    """The value that is widened to a type, which has the product of two exactly."""
    while isinstance(value.owner, tir.CastOp):
        source = value.owner.value
        if value.type not in (wide, source.type):
            break
        value = source
    return value


@dataclass
class UnitsKernel(ProductKernel):
    """Writes one kernel on matrix units."""

    WARPS: ClassVar[int] = 4
    """The most warps of a block."""

    # ---- sizes ----

    @property
    def width(self) -> int:
        return WARP

    @property
    def height(self) -> int:
        """Warps."""
        return self.warp_rows * self.warp_columns

    def candidates(self) -> Sequence[Tile]:
        """As many rows and columns as the least powers of two hold that are not fewer
        than those of a product, of columns two."""
        most = max(self.device.units_tile, ROWS, _PAIR)
        rows, columns = (smart.literal(each) for each in (self.rows, self.columns))
        least = ROWS, _PAIR
        return [clipped(each, rows, columns, least) for each in self.tiles_within(most)]

    @cached_property
    def format(self) -> ProductFormat:
        """The products that the tile is made of."""
        return FORMATS[self.found.a.type]

    @property
    def needs_registers(self) -> bool:
        """Where bytes of pairs of lines are parted."""
        return any(map(self._pairs_bytes, self.operands))

    @property
    def depth(self) -> int:
        return _TERMS_BYTES // self.format.size

    @property
    def warp_rows(self) -> int:
        """How many warps have different rows."""
        return min(self.tile_rows // ROWS, 2)

    @property
    def warp_columns(self) -> int:
        """How many warps have different columns."""
        return min(self.tile_columns // _PAIR, 2)

    @property
    def own_rows(self) -> int:
        """Products of a warp, one below the other."""
        return self.tile_rows // self.warp_rows // ROWS

    @property
    def own_columns(self) -> int:
        """Products of a warp, next to each other."""
        return self.tile_columns // self.warp_columns // COLUMNS

    @property
    def warp_row(self) -> Expr:
        """The first row of the tile that the warp has."""
        number = smart.floordiv(self.row, self.number(self.warp_columns))
        return smart.mul(number, self.number(self.own_rows * ROWS))

    @property
    def warp_column(self) -> Expr:
        """The first column of the tile that the warp has."""
        number = smart.floormod(self.row, self.number(self.warp_columns))
        return smart.mul(number, self.number(self.own_columns * COLUMNS))

    @property
    def sums_shape(self) -> Sequence[int]:
        return [self.own_rows * self.own_columns * SUMS]

    def layout(self, name: str) -> dict[str, Attribute] | None:
        """Columns of 16 bits are permuted by a pass, unless rows are too short for that.

        Others are where `place_in_tile` has them.
        """
        rows = (self.tile_shape(operand)[1] for operand in self.operands)
        if self._permutes_itself or any(row % _PERMUTED for row in rows):
            return None
        return {"permuted_layout": StringAttr(name)}

    @property
    def _permutes_itself(self) -> bool:
        return self.format.size != 2

    def place_in_tile(
        self, operand: Operand, line: Expr, term: Expr, lane: Expr
    ) -> tuple[Expr, Expr]:
        row, column = super().place_in_tile(operand, line, term, self.number(0))
        if self._pairs_bytes(operand):
            row, column = self._placed(operand, row, column)
        elif self._permutes_itself:
            column = self._permuted(operand, row, column)
        return row, smart.add(column, lane)

    def _pairs_bytes(self, operand: Operand) -> bool:
        """Whether lines of bytes are next to each other, whose pairs are transposed."""
        return self.format.size == 1 and not operand.along_terms

    def _placed(self, operand: Operand, row: Expr, column: Expr) -> tuple[Expr, Expr]:
        """Where a tile of bytes by terms has a term and a line.

        The 8 terms of a matrix, of which the bit of 2 is the same, are then in different
        banks, and so are those of neighbouring terms that are copied at a time.
        """
        number, size = self.number, self.format.piece
        width = min(self.tile_shape(operand)[1] // size, _PIECES)
        four, eight = (smart.floordiv(row, number(each)) for each in (4, 8))
        key = smart.floormod(four if width > _FEW_PIECES else eight, number(width))
        if width == _PIECES:
            key = smart.mul(smart.floormod(four, number(4)), number(2))
            key = smart.add(key, smart.floormod(row, number(2)))
        elif width <= _FEW_PIECES:
            turn = smart.floormod(four if width == _FEW_PIECES else eight, number(2))
            turn = smart.mul(turn, number(2))
            row = Call("bitwise_xor", [row, turn], row.dtype)
        return row, self._turned(column, key)

    def _permuted(self, operand: Operand, row: Expr, column: Expr) -> Expr:
        """The column of a tile in which a row has a column, in pieces of 16 bytes.

        The rows of a matrix, or the words that the lanes of a warp load, are then in
        different banks.
        """
        number, size = self.number, self.format.piece
        width = self.tile_shape(operand)[1] // size
        if operand.along_terms:
            key = smart.floordiv(row, number(_PIECES // width))
            key = smart.floormod(key, number(width))
        elif width >= _PIECES:
            key = smart.mul(smart.floormod(row, number(4)), number(2))
        else:
            return column
        return self._turned(column, key)

    def _turned(self, column: Expr, key: Expr) -> Expr:
        """The column of which the piece is another one, by a key of its row."""
        size = self.number(self.format.piece)
        piece = smart.call("bitwise_xor", [smart.floordiv(column, size), key], key.dtype)
        return smart.add(smart.mul(piece, size), smart.floormod(column, size))

    # ---- products ----

    def multiply(self, a: SSAValue, b: SSAValue) -> None:
        """The products of a warp with tiles that are in shared memory."""
        code, number = self.code, self.number
        left, right = self.operands
        dtype = left.value.type
        pairs, size, terms = self.own_columns // 2, self.format.piece, self.format.terms
        with code.unrolled("t", number(self.depth // terms)) as step:
            term = smart.mul(step, number(terms))
            rows = code.alloc("a", [self.own_rows * size], dtype, "local")
            columns = code.alloc("b", [pairs * size], dtype, "local")
            with code.unrolled("i", number(self.own_rows)) as i:
                row = smart.add(self.warp_row, smart.mul(i, number(ROWS)))
                self._load(rows, smart.mul(i, number(size)), a, left, row, term)
            with code.unrolled("j", number(pairs)) as j:
                column = smart.add(self.warp_column, smart.mul(j, number(_PAIR)))
                self._load(columns, smart.mul(j, number(size)), b, right, column, term)
            with (
                code.unrolled("i", number(self.own_rows)) as i,
                code.unrolled("j", number(self.own_columns)) as j,
            ):
                self._multiply_one(rows, columns, i, j)

    def _load(
        self,
        fragment: SSAValue,
        offset: Expr,
        tile: SSAValue,
        operand: Operand,
        line: Expr,
        term: Expr,
    ) -> None:
        """Load 16 lines of 32 bytes of terms of a tile."""

        def permuted(row: Expr, column: Expr) -> Expr:
            return self._permuted(operand, row, column)

        def placed(row: Expr, column: Expr) -> tuple[Expr, Expr]:
            return self._placed(operand, row, column)

        places = fragment, offset, tile, self.column, line, term
        if self._pairs_bytes(operand):
            load_bytes(self.code, *places, is_a=operand.is_a, placed=placed)
            return
        if self.format.size == _WORD_BYTES and not operand.along_terms:
            load_words(self.code, *places, is_a=operand.is_a, permuted=permuted)
            return
        load_fragment(
            self.code,
            *places,
            is_a=operand.is_a,
            along_terms=operand.along_terms,
            permuted=permuted if self._permutes_itself else None,
        )

    def _multiply_one(self, a: SSAValue, b: SSAValue, i: Expr, j: Expr) -> None:
        """One product, added to its sums."""
        number = self.number
        which = smart.add(smart.mul(i, number(self.own_columns)), j)
        size = self.format.piece
        at_a, at_b = smart.mul(i, number(size)), smart.mul(j, number(size // 2))
        at_sums = smart.mul(which, number(SUMS))
        add_product(self.code, a, at_a, b, at_b, self.sums, at_sums)

    # ---- results ----

    def finish_all(self) -> None:
        """Store what the lanes of a warp have: two neighbours of a row, and 8 below.

        Of bytes by terms, neighbouring rows are of both halves, and four neighbours of a
        row of two products.
        """
        code, number = self.code, self.number
        rows, columns = (self._pairs_bytes(each) for each in self.operands)
        quarter = smart.floordiv(self.column, number(4))
        near = smart.floormod(self.column, number(4))
        together = 2 if columns else 1
        results = together * _RESULTS
        lanes = self._stored_lanes(results)
        with (
            code.unrolled("i", number(self.own_rows)) as i,
            code.unrolled("j", number(self.own_columns // together)) as j,
            code.unrolled("h", number(2)) as half,
        ):
            which = smart.mul(i, number(self.own_columns))
            which = smart.add(which, smart.mul(j, number(together)))
            at = smart.mul(which, number(SUMS))
            at = smart.add(at, smart.mul(half, number(_RESULTS)))
            line = smart.add(self.warp_row, smart.mul(i, number(ROWS)))
            step, own = (2, half) if rows else (1, smart.mul(half, number(8)))
            line = smart.add(line, smart.add(own, smart.mul(quarter, number(step))))
            place = smart.mul(j, number(COLUMNS * together))
            place = smart.add(self.warp_column, place)
            place = smart.add(place, smart.mul(near, number(results)))
            sums = self._neighbours(at) if columns else self.sums
            start = number(0) if columns else at
            with code.unrolled("e", number(results // lanes)) as e:
                e = smart.mul(e, number(lanes))
                self.finish(
                    (smart.add(start, e),), line, smart.add(place, e), lanes, sums
                )

    def _neighbours(self, at: Expr) -> SSAValue:
        """Four sums of a row: those of two products in turn."""
        code, number = self.code, self.number
        found = code.alloc("neighbours", [2 * _RESULTS], self.dtype, "local")
        with code.unrolled("n", number(2 * _RESULTS)) as place:
            product, own = (
                smart.floormod(place, number(2)),
                smart.floordiv(place, number(2)),
            )
            source = smart.add(smart.mul(product, number(SUMS)), own)
            code.store(code.load(self.sums, smart.add(at, source)), found, place)
        return found

    def _stored_lanes(self, results: int) -> int:
        """How many of the neighbours a lane stores at once."""
        size = self.found.columns[-1].size
        while results > 1 and (size is None or size % results):
            results //= 2
        return results
