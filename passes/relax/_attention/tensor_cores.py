"""Attention in one kernel for GPUs with matrix units, of f16 or bf16.

A warp has 16 queries of a head. They are loaded once. For each tile of 64 keys it has

1. the scores in registers, the sums of products of 16 rows, 8 columns and 16 terms;
2. the largest by row, by shuffles among the 4 lanes of a row, and exponentials in the
   place of scores. What has been summed before is multiplied by `exp(old - new)`;
3. the weighted values. A lane has its weights as it has sums of a product, which is how
   the next product wants its left operand, so they do not leave the registers.

Dao, "FlashAttention-2" (2023).
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from xdsl.dialects.builtin import f32
from xdsl.ir import SSAValue

from xdsl_tvm.analysis.arith import smart
from xdsl_tvm.analysis.arith.expr import Expr
from xdsl_tvm.passes.relax._attention.places import constant
from xdsl_tvm.passes.relax._attention.thread_blocks import ZERO, BlockOfThreads, layout
from xdsl_tvm.passes.tir.rewriting.matrix_fragments import (
    COLUMNS,
    FRAGMENT,
    ROWS,
    SUMS,
    TERMS,
    add_product,
    load_fragment,
)

_WARP: Final = 32
_WARPS: Final = 4
"""The most warps of a block."""
_MOST_HELD: Final = 128
"""Up to so many features, a lane has its queries in registers."""
_ALIGNED: Final = 32
"""Rows of tiles have a multiple of so many elements, so that they can be permuted."""
_PAIR: Final = 16
"""Columns of a right operand that are loaded at once, for two products."""
_SHARE: Final = 4
"""Lanes that share a row."""
_WORD: Final = 2
"""Neighbours of a row that a lane has."""


@dataclass
class TensorCores(BlockOfThreads):
    """Writes the kernel."""

    # ---- sizes ----

    @property
    def threads(self) -> tuple[int, int]:
        warps = _WARPS
        queries = self.what.queries
        while queries is not None and warps > 1 and warps // 2 * ROWS >= queries:
            warps //= 2
        return warps, _WARP

    @property
    def rows(self) -> int:
        return self.threads[0] * ROWS

    @property
    def own_rows(self) -> int:
        return 2

    @property
    def tile_keys(self) -> int:
        return 32 if self.is_wide else 64

    @property
    def is_wide(self) -> bool:
        """Whether registers have no place for the queries of a warp."""
        return max(self.width, self.value_width) > _MOST_HELD

    @cached_property
    def width(self) -> int:
        """Features of queries and keys in tiles, with what fills rows up."""
        return _padded(self.what.features)

    @cached_property
    def value_width(self) -> int:
        return _padded(self.what.value_features)

    @property
    def top(self) -> Expr:
        """The first query of the warp."""
        return smart.add(self.first, smart.mul(self.row, constant(ROWS)))

    # ---- the whole ----

    def write_block(self) -> None:
        code, what, places = self.code, self.what, self.places
        number = self.value_width // COLUMNS * SUMS
        sums = code.alloc("sums", [number], f32, "local")
        with self.unrolled("i", number) as i:
            code.store(ZERO, sums, i)
        queries = self._load_queries()
        with self.each_tile() as base:
            key_shape = self.tile_keys, self.width
            value_shape = self.tile_keys, self.value_width
            keys = code.alloc("keys", key_shape, self.dtype, self.shared)
            values = code.alloc("values", value_shape, self.dtype, self.shared)
            for name, tensor, tile, shape, heads, features in (
                ("g2s_A", places.key, keys, key_shape, what.key_heads, what.features),
                (
                    "g2s_B",
                    places.value,
                    values,
                    value_shape,
                    what.value_heads,
                    what.value_features,
                ),
            ):
                with code.block("", layout(name)):
                    self.copy(
                        tensor,
                        tile,
                        shape,
                        heads,
                        features,
                        base,
                        places.keys,
                        is_asynchronous=self.is_asynchronous,
                    )
            # The outer block is one statement of the pipeline.
            with code.block(""), code.block("", layout("s2l")):
                scores = self._scores(queries, keys, base)
                weights = self._weights(scores, sums)
                self._add_values(weights, values, sums)
        self._store(sums)

    def _load_queries(self) -> SSAValue:
        """The queries of the block in shared memory, or fragments of those of a warp."""
        code = self.code
        fragments, shape = self.width // TERMS, (self.rows, self.width)
        tile = code.alloc("query_tile", shape, self.dtype, self.shared)
        with code.block("", layout("g2s_A")):
            self.copy(
                self.places.query,
                tile,
                shape,
                self.what.heads,
                self.what.features,
                self.first,
                self.places.queries,
                is_asynchronous=False,
            )
        if self.is_wide:
            return tile
        found = code.alloc("queries", [fragments * FRAGMENT], self.dtype, "local")
        with code.block("", layout("s2l")), self.unrolled("t", fragments) as t:
            self._load_query(found, smart.mul(t, constant(FRAGMENT)), tile, t)
        return found

    def _load_query(self, found: SSAValue, at: Expr, tile: SSAValue, t: Expr) -> None:
        """A fragment of the queries of a warp."""
        load_fragment(
            self.code,
            found,
            at,
            tile,
            self.column,
            smart.mul(self.row, constant(ROWS)),
            smart.mul(t, constant(TERMS)),
            is_a=True,
            along_terms=True,
        )

    # ---- scores ----

    def _scores(self, queries: SSAValue, keys: SSAValue, base: Expr) -> SSAValue:
        """The scores of the queries of a warp and the keys of a tile."""
        code, number = self.code, self.tile_keys // COLUMNS * SUMS
        scores = code.alloc("scores", [number], f32, "local")
        with self.unrolled("i", number) as i:
            code.store(ZERO, scores, i)
        with self._each_fragment() as t:
            left, at = queries, smart.mul(t, constant(FRAGMENT))
            if self.is_wide:
                left = code.alloc("query", [FRAGMENT], self.dtype, "local")
                at = constant(0)
                self._load_query(left, at, queries, t)
            self._multiply(left, at, t, keys, scores, self.tile_keys, by_columns=True)

        def rewrite(how: Callable[[Expr, Expr, Expr], Expr]) -> None:
            def write(i: Expr, row: Expr, key: Expr) -> None:
                code.store(how(code.load(scores, i), row, key), scores, i)

            self._each_score(base, write)

        if not self.is_scaled_late:
            rewrite(self.scored)
        with code.when(self.hides(base, self.top, ROWS)):
            rewrite(self.masked)
        return scores

    def _each_fragment(self) -> AbstractContextManager[Expr]:
        """The fragments of queries; a loop where they are not in registers."""
        extent = constant(self.width // TERMS)
        return (
            self.code.loop("t", extent)
            if self.is_wide
            else self.code.unrolled("t", extent)
        )

    def _multiply(
        self,
        left: SSAValue,
        at: Expr,
        t: Expr,
        tile: SSAValue,
        sums: SSAValue,
        columns: int,
        *,
        by_columns: bool,
    ) -> None:
        """Add the products of 16 terms, those of the fragment at `at` of `left`."""
        code = self.code
        with self.unrolled("j", columns // _PAIR) as j:
            right = code.alloc("right", [FRAGMENT], self.dtype, "local")
            load_fragment(
                code,
                right,
                constant(0),
                tile,
                self.column,
                smart.mul(j, constant(_PAIR)),
                smart.mul(t, constant(TERMS)),
                is_a=False,
                along_terms=by_columns,
            )
            with self.unrolled("p", _PAIR // COLUMNS) as which:
                pair = smart.add(smart.mul(j, constant(_PAIR // COLUMNS)), which)
                at_right = smart.mul(which, constant(FRAGMENT // 2))
                at_sums = smart.mul(pair, constant(SUMS))
                add_product(code, left, at, right, at_right, sums, at_sums)

    def _each_score(self, base: Expr, write: Callable[[Expr, Expr, Expr], None]) -> None:
        """Each score of a lane: where it is, its row and its key."""
        with (
            self.unrolled("j", self.tile_keys // COLUMNS) as j,
            self.unrolled("h", self.own_rows) as half,
            self.unrolled("e", _WORD) as e,
        ):
            key = smart.add(smart.mul(j, constant(COLUMNS)), smart.add(self._pair, e))
            write(_place(j, half, e), self._line(half), smart.add(base, key))

    @property
    def _pair(self) -> Expr:
        """The first column of a product of which the lane has sums."""
        return smart.mul(smart.floormod(self.column, constant(_SHARE)), constant(_WORD))

    def _line(self, half: Expr) -> Expr:
        """The query of a row that the lane has."""
        line = smart.floordiv(self.column, constant(_SHARE))
        return smart.add(self.top, smart.add(smart.mul(half, constant(8)), line))

    # ---- weights and values ----

    def _weights(self, scores: SSAValue, sums: SSAValue) -> SSAValue:
        """The exponentials; what has been summed before is scaled."""
        code, number = self.code, self.tile_keys // COLUMNS
        weights = code.alloc("weights", [number * SUMS], self.dtype, "local")
        with self.unrolled("h", self.own_rows) as half:

            def each(visit: Callable[[Expr], None]) -> None:
                with self.unrolled("j", number) as j, self.unrolled("e", _WORD) as e:
                    visit(_place(j, half, e))

            by = self.weigh(
                half,
                each,
                lambda at: code.load(scores, at),
                lambda at, w: code.store(smart.cast(self.dtype, w), weights, at),
                _SHARE,
            )
            with (
                self.unrolled("j", self.value_width // COLUMNS) as j,
                self.unrolled("e", _WORD) as e,
            ):
                at = _place(j, half, e)
                code.store(smart.mul(code.load(sums, at), by), sums, at)
        return weights

    def _add_values(self, weights: SSAValue, values: SSAValue, sums: SSAValue) -> None:
        with self.unrolled("t", self.tile_keys // TERMS) as t:
            at, width = smart.mul(t, constant(FRAGMENT)), self.value_width
            self._multiply(weights, at, t, values, sums, width, by_columns=False)

    def _store(self, sums: SSAValue) -> None:
        code = self.code
        with self.unrolled("h", self.own_rows) as half:
            by = self.inverse(half, _SHARE)
            with self.unrolled("j", self.value_width // COLUMNS) as j:
                feature = smart.add(smart.mul(j, constant(COLUMNS)), self._pair)

                def result(lane: Expr) -> Expr:
                    return smart.mul(code.load(sums, _place(j, half, lane)), by)

                self.store(self._line(half), feature, _WORD, result)


def _place(j: Expr, half: Expr, e: Expr) -> Expr:
    """Where a lane has a sum of one of its products: two of a row, and two 8 below."""
    at = smart.add(smart.mul(j, constant(SUMS)), smart.mul(half, constant(_WORD)))
    return smart.add(at, e)


def _padded(features: int) -> int:
    return -(-features // _ALIGNED) * _ALIGNED
