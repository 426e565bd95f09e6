"""The GPU schedule of contractions of f16 and bf16 on matrix units.

A block of warps computes a tile of the result, each warp a part of it, by `ptx_mma` of 16
rows, 8 columns and 16 terms. Tiles of the operands are in shared memory as they are in
memory, with their columns permuted, so that `ptx_ldmatrix` has no bank conflicts, and
transposes where it has to. Where copies are asynchronous, they are a software pipeline
whose product comes first in a step, so that one barrier a step is enough (docs/cuda.md).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar, Final

from xdsl.dialects.builtin import (
    BFloat16Type,
    Float16Type,
    StringAttr,
    f32,
)
from xdsl.ir import Attribute, SSAValue

from xdsl_tvm.analysis.arith import smart
from xdsl_tvm.analysis.arith.expr import Expr
from xdsl_tvm.dialects import tir
from xdsl_tvm.passes.tir._gpu_schedule.device import WARP
from xdsl_tvm.passes.tir._gpu_schedule.product import Operand, ProductKernel
from xdsl_tvm.passes.tir._schedule.contraction import Contraction
from xdsl_tvm.passes.tir.rewriting.matrix_fragments import (
    COLUMNS,
    FRAGMENT,
    ROWS,
    SUMS,
    TERMS,
    add_product,
    load_fragment,
)

_PAIR = 16
"""Columns of B that one `ptx_ldmatrix` loads, for two products."""
_LEAST_TILE: Final = 32
"""Smaller tiles are read too often."""
_PERMUTED: Final = 32
"""A tile is permuted if its rows are a multiple of so many elements."""
_ASYNC_BYTES: Final = 4
"""The least that an asynchronous copy copies."""
_WORD: Final = 2
"""Results of a lane next to each other."""


def match_units(found: Contraction) -> Contraction | None:
    """The contraction with the operands of matrix units, before they are widened."""
    a, b = _narrow(found.a), _narrow(found.b)
    if a.type != b.type or not isinstance(a.type, Float16Type | BFloat16Type):
        return None
    dtype = found.reduction.dtype
    return replace(found, a=a, b=b) if dtype in (f32, a.type) else None


def _narrow(value: SSAValue) -> SSAValue:
    """The value that is widened to f32, which has the product of two of them exactly."""
    while isinstance(value.owner, tir.CastOp):
        source = value.owner.value
        if value.type not in (f32, source.type):
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

    @property
    def tile_rows(self) -> int:
        return self._tile(self.rows, ROWS)

    @property
    def tile_columns(self) -> int:
        return self._tile(self.columns, _PAIR)

    def _tile(self, extent: Expr, least: int) -> int:
        """As many as fill the device, or the least power of two that holds the extent."""
        size, tile = smart.literal(extent), max(self._most, least)
        while size is not None and tile > least and tile // 2 >= size:
            tile //= 2
        return tile

    @cached_property
    def _most(self) -> int:
        return self.tile_within(self.device.units_tile, _LEAST_TILE)

    @property
    def depth(self) -> int:
        return _PERMUTED

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
        """Columns are permuted, unless rows are too short for that."""
        rows = (self.tile_shape(operand)[1] for operand in self.operands)
        if any(row % _PERMUTED for row in rows):
            return None
        return {"permuted_layout": StringAttr(name)}

    # ---- products ----

    def multiply(self, a: SSAValue, b: SSAValue) -> None:
        """The products of a warp with tiles that are in shared memory."""
        code, number = self.code, self.number
        left, right = self.operands
        dtype = left.value.type
        pairs = self.own_columns // 2
        with code.unrolled("t", number(self.depth // TERMS)) as step:
            term = smart.mul(step, number(TERMS))
            rows = code.alloc("a", [self.own_rows * FRAGMENT], dtype, "local")
            columns = code.alloc("b", [pairs * FRAGMENT], dtype, "local")
            with code.unrolled("i", number(self.own_rows)) as i:
                row = smart.add(self.warp_row, smart.mul(i, number(ROWS)))
                self._load(rows, smart.mul(i, number(FRAGMENT)), a, left, row, term)
            with code.unrolled("j", number(pairs)) as j:
                column = smart.add(self.warp_column, smart.mul(j, number(_PAIR)))
                self._load(
                    columns, smart.mul(j, number(FRAGMENT)), b, right, column, term
                )
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
        """Load 16 lines of 16 terms of a tile."""
        load_fragment(
            self.code,
            fragment,
            offset,
            tile,
            self.column,
            line,
            term,
            is_a=operand.is_a,
            along_terms=operand.along_terms,
        )

    def _multiply_one(self, a: SSAValue, b: SSAValue, i: Expr, j: Expr) -> None:
        """One product, added to its sums."""
        number = self.number
        which = smart.add(smart.mul(i, number(self.own_columns)), j)
        at_a, at_b = smart.mul(i, number(FRAGMENT)), smart.mul(j, number(FRAGMENT // 2))
        at_sums = smart.mul(which, number(SUMS))
        add_product(self.code, a, at_a, b, at_b, self.sums, at_sums)

    # ---- results ----

    def finish_all(self) -> None:
        """Store what the lanes of a warp have: two neighbours of a row, and 8 below."""
        code, number = self.code, self.number
        quarter = smart.floordiv(self.column, number(4))
        pair = smart.mul(smart.floormod(self.column, number(4)), number(_WORD))
        lanes = self._stored_lanes()
        with (
            code.unrolled("i", number(self.own_rows)) as i,
            code.unrolled("j", number(self.own_columns)) as j,
            code.unrolled("h", number(2)) as half,
            code.unrolled("e", number(_WORD // lanes)) as e,
        ):
            which = smart.add(smart.mul(i, number(self.own_columns)), j)
            at = smart.mul(which, number(SUMS))
            at = smart.add(smart.add(at, smart.mul(half, number(_WORD))), e)
            line = smart.add(self.warp_row, smart.mul(i, number(ROWS)))
            line = smart.add(smart.add(line, smart.mul(half, number(8))), quarter)
            place = smart.add(self.warp_column, smart.mul(j, number(COLUMNS)))
            self.finish((at,), line, smart.add(smart.add(place, pair), e), lanes)

    def _stored_lanes(self) -> int:
        """How many neighbours of the result a lane stores at once."""
        axis = self.found.columns[-1]
        return _WORD if axis.size is not None and axis.size % _WORD == 0 else 1
