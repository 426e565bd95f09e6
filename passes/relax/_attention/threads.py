"""Attention in one kernel for GPUs, of f32: multiply-adds of single threads.

Sixteen threads share a row, and have keys of a tile, and features of the result. Weights
go through shared memory, as each thread needs those of all keys.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from xdsl.dialects.builtin import f32, i64
from xdsl.ir import SSAValue

from xdsl_tvm.analysis.arith import smart
from xdsl_tvm.analysis.arith.expr import Call, Expr
from xdsl_tvm.passes.relax._attention.places import constant
from xdsl_tvm.passes.relax._attention.thread_blocks import ZERO, BlockOfThreads

_SIDE: Final = 16
"""Rows of threads, and threads of a row."""
_MOST_ROWS: Final = 4
"""The most rows of a thread."""
_MOST_HELD: Final = 128
"""The most features with which blocks have all of their rows."""
_WORD: Final = 4
"""Elements that a thread accesses at once of shared memory."""
_BANKS: Final = 32
"""Those of shared memory, of 4 bytes."""


@dataclass
class Threads(BlockOfThreads):
    """Writes the kernel."""

    # ---- sizes ----

    @property
    def threads(self) -> tuple[int, int]:
        return _SIDE, _SIDE

    @property
    def own_rows(self) -> int:
        own = _MOST_ROWS // 2 if self.is_wide else _MOST_ROWS
        queries = self.what.queries
        while queries is not None and own > 1 and own // 2 * _SIDE >= queries:
            own //= 2
        return own

    @property
    def is_wide(self) -> bool:
        """Whether larger tiles would take more shared memory than GPUs have."""
        return max(self.width, self.value_width) > _MOST_HELD

    @property
    def rows(self) -> int:
        return self.own_rows * _SIDE

    @property
    def tile_keys(self) -> int:
        return _SIDE if self.is_wide else 2 * _SIDE

    @property
    def own_keys(self) -> int:
        return self.tile_keys // _SIDE

    @cached_property
    def width(self) -> int:
        """Features of queries and keys in tiles, with what fills rows up."""
        return -(-self.what.features // _WORD) * _WORD

    @cached_property
    def value_width(self) -> int:
        """As many words of features as threads of a row, once or more often."""
        step = _SIDE * _WORD
        return -(-self.what.value_features // step) * step

    @property
    def words(self) -> int:
        """Words of the features of a result that a thread has."""
        return self.value_width // (_SIDE * _WORD)

    # ---- the whole ----

    def write_block(self) -> None:
        code, what, places = self.code, self.what, self.places
        sums = code.alloc("sums", [self.own_rows, self.words, _WORD], f32, "local")
        with (
            self.unrolled("i", self.own_rows) as i,
            self.unrolled("c", self.words) as c,
            self.unrolled("l", _WORD) as lane,
        ):
            code.store(ZERO, sums, i, c, lane)
        queries = self._tile("queries", self.rows, self.width)
        with code.block(""):
            shape = self.rows, self.width
            self.copy(
                places.query,
                queries,
                shape,
                what.heads,
                what.features,
                self.first,
                places.queries,
                is_asynchronous=False,
            )
        with self.each_tile() as base:
            keys = self._tile("keys", self.tile_keys, self.width)
            values = self._tile("values", self.tile_keys, self.value_width)
            for tensor, tile, width, heads, features in (
                (places.key, keys, self.width, what.key_heads, what.features),
                (
                    places.value,
                    values,
                    self.value_width,
                    what.value_heads,
                    what.value_features,
                ),
            ):
                with code.block(""):
                    self.copy(
                        tensor,
                        tile,
                        (self.tile_keys, width),
                        heads,
                        features,
                        base,
                        places.keys,
                        is_asynchronous=self.is_asynchronous,
                    )
            # The outer block is one statement of the pipeline.
            with code.block(""), code.block(""):
                weights = self._tile("weights", self.rows, self.tile_keys)
                scores = self._scores(queries, keys, base)
                self._weigh(scores, weights, sums)
                self._add_values(weights, values, sums)
        self._store(sums)

    def _tile(self, name: str, rows: int, width: int) -> SSAValue:
        return self.code.alloc(name, [rows, width], f32, self.shared)

    def _row(self, i: Expr) -> Expr:
        """The row of the tile that has a number in a thread."""
        return smart.add(smart.mul(self.row, constant(self.own_rows)), i)

    def _key(self, j: Expr) -> Expr:
        """Likewise, the key of the tile: neighbouring threads have neighbours."""
        return smart.add(smart.mul(j, constant(_SIDE)), self.column)

    @property
    def _turn(self) -> Expr:
        """What is different in threads whose keys would be in the same banks."""
        words = self.width // _WORD
        common = math.gcd(words, _BANKS // _WORD)
        apart = _BANKS // _WORD // common
        turn = smart.floordiv(self.column, constant(apart))
        return smart.floormod(turn, constant(common))

    def _weight_row(self, i: Expr) -> Expr:
        """Where the weights of a row of a thread are.

        Of rows that are half as long as there are banks, those of neighbouring threads
        are next to each other.
        """
        if self.tile_keys == _SIDE:
            return smart.add(smart.mul(i, constant(_SIDE)), self.row)
        return self._row(i)

    def _spot(self, key: Expr) -> Expr:
        """Where the weight of a key is in a row.

        The two rows of threads of a warp have theirs in different banks.
        """
        if self.tile_keys == _SIDE:
            return key
        turn = smart.mul(self.row, constant(_SIDE))
        return smart.floormod(smart.add(key, turn), constant(self.tile_keys))

    def _words(
        self, name: str, tile: SSAValue, rows: int, row: Callable[[Expr], Expr], at: Expr
    ) -> SSAValue:
        """Words of some rows of a tile, in registers."""
        code = self.code
        found = code.alloc(name, [rows, _WORD], f32, "local")
        with self.unrolled("i", rows) as i, self.lanes(_WORD) as lane:
            code.store(code.load(tile, row(i), smart.add(at, lane)), found, i, lane)
        return found

    def _add(self, left: Expr, right: Expr, sums: SSAValue, *at: Expr) -> None:
        total = Call("fma", [left, right, self.code.load(sums, *at)], f32)
        self.code.store(total, sums, *at)

    # ---- scores ----

    def _scores(self, queries: SSAValue, keys: SSAValue, base: Expr) -> SSAValue:
        """The scores of the rows and keys of a thread."""
        code = self.code
        scores = code.alloc("scores", [self.own_rows, self.own_keys], f32, "local")
        each = self._each_score
        each(lambda i, j: code.store(ZERO, scores, i, j))
        with code.loop("t", constant(self.width // _WORD)) as step:
            word = smart.call("bitwise_xor", [step, self._turn], i64)
            term = smart.mul(word, constant(_WORD))
            rows = self._words("query", queries, self.own_rows, self._row, term)
            columns = self._words("key", keys, self.own_keys, self._key, term)
            with self.unrolled("l", _WORD) as lane:
                each(
                    lambda i, j: self._add(
                        code.load(rows, i, lane),
                        code.load(columns, j, lane),
                        scores,
                        i,
                        j,
                    )
                )

        def rewrite(how: Callable[[Expr, Expr, Expr], Expr]) -> None:
            def write(i: Expr, j: Expr) -> None:
                row = smart.add(self.first, self._row(i))
                key = smart.add(base, self._key(j))
                code.store(how(code.load(scores, i, j), row, key), scores, i, j)

            each(write)

        if not self.is_scaled_late:
            rewrite(self.scored)
        with code.when(self.hides(base, self.first, self.rows)):
            rewrite(self.masked)
        return scores

    def _each_score(self, write: Callable[[Expr, Expr], None]) -> None:
        with (
            self.unrolled("i", self.own_rows) as i,
            self.unrolled("j", self.own_keys) as j,
        ):
            write(i, j)

    # ---- weights and values ----

    def _weigh(self, scores: SSAValue, weights: SSAValue, sums: SSAValue) -> None:
        """Exponentials in shared memory; what has been summed before is scaled."""
        code = self.code
        with self.unrolled("i", self.own_rows) as i:

            def each(visit: Callable[[Expr], None]) -> None:
                with self.unrolled("j", self.own_keys) as j:
                    visit(j)

            by = self.weigh(
                i,
                each,
                lambda j: code.load(scores, i, j),
                lambda j, w: code.store(
                    w, weights, self._weight_row(i), self._spot(self._key(j))
                ),
                _SIDE,
            )
            with self.unrolled("c", self.words) as c, self.unrolled("l", _WORD) as lane:
                code.store(smart.mul(code.load(sums, i, c, lane), by), sums, i, c, lane)

    def _feature(self, c: Expr) -> Expr:
        """The first feature of a word of a thread."""
        word = smart.add(smart.mul(c, constant(_SIDE)), self.column)
        return smart.mul(word, constant(_WORD))

    def _add_values(self, weights: SSAValue, values: SSAValue, sums: SSAValue) -> None:
        code = self.code
        with code.loop("t", constant(self.tile_keys // _WORD)) as step:
            term = smart.mul(step, constant(_WORD))
            spot = self._spot(term)
            rows = self._words("weight", weights, self.own_rows, self._weight_row, spot)
            with self.unrolled("l", _WORD) as k, self.unrolled("c", self.words) as c:
                at = smart.add(term, k)
                value = self._words("value", values, 1, lambda _: at, self._feature(c))
                with (
                    self.unrolled("i", self.own_rows) as i,
                    self.unrolled("v", _WORD) as lane,
                ):
                    factors = code.load(rows, i, k), code.load(value, constant(0), lane)
                    self._add(*factors, sums, i, c, lane)

    def _store(self, sums: SSAValue) -> None:
        code = self.code
        some = _WORD if self.what.value_features % _WORD == 0 else 1
        with self.unrolled("i", self.own_rows) as i:
            by = self.inverse(i, _SIDE)
            place = smart.add(self.first, self._row(i))
            with (
                self.unrolled("c", self.words) as c,
                self.unrolled("g", _WORD // some) as group,
            ):

                def result(lane: Expr) -> Expr:
                    return smart.mul(code.load(sums, i, c, smart.add(group, lane)), by)

                feature = smart.add(self._feature(c), group)
                self.store(place, feature, some, result)
