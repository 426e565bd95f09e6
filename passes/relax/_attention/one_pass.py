"""The loops of attention in one pass over the keys, for a CPU with vectors.

A task is a block of rows of queries of one head: as many as two vectors have lanes, or
one where there are no more. It goes over the keys in blocks. For each block,

1. the scores, keys by rows: tiles of keys by vectors of rows stay in registers. The
   queries are transposed once, keys are read where they are, one by one;
2. the largest score of each row so far, and the exponentials, in vectors of rows. What
   has been summed before is multiplied by `exp(old - new)` of the largest scores;
3. the sums of weighted values, rows by features: tiles of rows by vectors of features.

Milakov and Gimelshein, "Online normalizer calculation for softmax" (2018), and Dao et
al., "FlashAttention" (2022). Memory is that of a task, whatever the number of keys.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

from xdsl.dialects.builtin import IntegerAttr, f32, i32
from xdsl.ir import Attribute, SSAValue

from xdsl_tvm.analysis.arith import smart
from xdsl_tvm.analysis.arith.expr import Call, Div, Expr
from xdsl_tvm.dialects import tir
from xdsl_tvm.passes.relax._attention.panels import Panels
from xdsl_tvm.passes.relax._attention.places import (
    Attention,
    Places,
    constant,
    count,
    split,
)
from xdsl_tvm.passes.relax.legalize.tensor_expression import Tensor
from xdsl_tvm.passes.tir.rewriting.loop_code import LoopCode

_VECTORS = 2
"""Vectors of the rows of a task, where there are as many, and of a tile of features."""
_KEYS = 64
"""Keys of a block: its scores stay in the first cache."""
_MANY_REGISTERS = 64
"""Processors with vectors of so many bytes have 32 of them; others may have 16."""
_LEFT_TO_LLVM: dict[str, Attribute] = {"pragma_unroll_explicit": IntegerAttr(0, i32)}
"""Annotations of an unrolled loop that LLVM expands."""


@dataclass(frozen=True)
class _Tile:
    """Lines of vectors, which stay in registers."""

    height: int
    vectors: int
    """Of a line."""
    lanes: int

    @property
    def shape(self) -> tuple[int, int]:
        return self.height, self.vectors * self.lanes


@dataclass(frozen=True)
class OnePass:
    """Writes the loops at one place."""

    code: LoopCode
    places: Places
    vector_bytes: int

    @property
    def what(self) -> Attention:
        return self.places.what

    # ---- sizes ----

    @cached_property
    def lanes(self) -> int:
        return self.vector_bytes // 4

    @cached_property
    def rows(self) -> int:
        """Queries of a task."""
        queries = self.what.queries
        few = queries is not None and queries <= self.lanes
        return self.lanes if few else _VECTORS * self.lanes

    @cached_property
    def height(self) -> int:
        """Keys, or rows, of a tile, whose vectors leave registers for operands."""
        return 8 if self.vector_bytes >= _MANY_REGISTERS else 4

    @cached_property
    def of_scores(self) -> _Tile:
        """Keys by rows: as many more keys as there are fewer vectors of rows."""
        vectors = self.rows // self.lanes
        return _Tile(self.height * _VECTORS // vectors, vectors, self.lanes)

    @cached_property
    def of_sums(self) -> _Tile:
        """Rows by features."""
        height = min(self.height, self.rows)
        return _Tile(height, self.panels.vectors, self.panels.lanes)

    @cached_property
    def panels(self) -> Panels:
        """The features of a value."""
        return Panels.of(self.what.value_features, _VECTORS, self.lanes)

    @property
    def are_whole(self) -> bool:
        """Whether tasks are known to have all of their rows."""
        queries = self.what.queries
        return queries is not None and queries % self.rows == 0

    # ---- the whole ----

    def write(self) -> None:
        """All tasks, which threads share."""
        code, heads = self.code, self.what.heads
        blocks = count(self.places.queries, self.rows)
        of_image = smart.mul(constant(heads), blocks)
        tasks = smart.mul(self.places.batch, of_image)
        with (
            code.loop("task", tasks, tir.ForKind.PARALLEL) as task,
            code.block("rows"),
        ):
            row = smart.floordiv(task, blocks)
            number = smart.floormod(task, blocks)
            batch, head = split(row, heads)
            first = smart.mul(number, constant(self.rows))
            _Task(self, batch, head, first).write()


@dataclass(frozen=True)
class _Task:
    """Writes what is done for a block of rows of one head."""

    whole: OnePass
    batch: Expr
    head: Expr
    first: Expr
    """The first row."""

    @property
    def code(self) -> LoopCode:
        return self.whole.code

    @property
    def what(self) -> Attention:
        return self.whole.what

    @property
    def places(self) -> Places:
        return self.whole.places

    def _element(self, tensor: Tensor, place: Expr, head: Expr, feature: Expr) -> Expr:
        """An element of a query, a key or a value."""
        at = self.places.indices(self.batch, place, head, feature)
        return smart.cast(f32, self.code.load(tensor.buffer, *at))

    def write(self) -> None:
        """Allocate, go over the keys, and store the result."""
        whole, code = self.whole, self.code
        rows = whole.rows

        def alloc(name: str, *shape: int) -> SSAValue:
            return code.alloc(name, shape, f32, "global")

        queries = alloc("queries", self.what.features, rows)
        scores = alloc("scores", _KEYS, rows)
        sums = alloc("sums", rows, whole.panels.count, whole.panels.width)
        best, total, factor = (alloc(n, rows) for n in ("best", "total", "factor"))
        self._copy_queries(queries)
        self._each_vector(
            lambda r: code.store(smart.const(float("-inf"), f32), best, r),
            lambda r: code.store(smart.const(0, f32), total, r),
        )
        self._each_panel(
            constant(rows),
            lambda row, panel, c: code.store(smart.const(0, f32), sums, row, panel, c),
        )
        start, end = self.places.seen(self.first, rows)
        blocks = count(smart.maximum(smart.sub(end, start), constant(0)), _KEYS)
        with code.loop("block", blocks) as number:
            base = smart.add(start, smart.mul(number, constant(_KEYS)))
            length = smart.minimum(constant(_KEYS), smart.sub(end, base))
            if smart.literal(start) == 0 and self._divides(_KEYS, end):
                length = constant(_KEYS)
            with code.loop("tile", count(length, whole.of_scores.height)) as tile:
                self._write_scores(queries, scores, base, tile)
            self._write_weights(scores, length, best, total, factor)
            with (
                code.loop("tile", constant(rows // whole.of_sums.height)) as tile,
                code.loop("panel", constant(whole.panels.count)) as panel,
            ):
                self._add_values(scores, sums, factor, base, length, tile, panel)
        self._store(sums, total)

    def _divides(self, number: int, extent: Expr) -> bool:
        return smart.literal(smart.floormod(extent, constant(number))) == 0

    def _copy_queries(self, queries: SSAValue) -> None:
        """Features by rows, multiplied by the scale; rows after the last are the last."""
        code, whole = self.code, self.whole
        scale = smart.const(self.what.scale, f32)
        with (
            code.loop("r", constant(whole.rows)) as row,
            code.loop("d", constant(self.what.features)) as feature,
        ):
            place = self._row(smart.add(self.first, row))
            x = self._element(self.places.query, place, self.head, feature)
            code.store(smart.mul(x, scale), queries, feature, row)

    def _row(self, row: Expr) -> Expr:
        """A row, or the last query where there is no such row."""
        if self.whole.are_whole:
            return row
        return smart.minimum(row, smart.sub(self.places.queries, constant(1)))

    # ---- scores ----

    def _write_scores(
        self, queries: SSAValue, scores: SSAValue, base: Expr, tile: Expr
    ) -> None:
        """The scores of a tile of keys, for all rows."""
        code, whole = self.code, self.whole
        shape = whole.of_scores
        height = shape.height
        begin = smart.mul(tile, constant(height))
        head = self.places.shared_head(self.head, self.what.key_heads)
        is_whole = self.what.window is None and self._divides(height, self.places.keys)

        def place(line: Expr) -> Expr:
            key = smart.add(base, smart.add(begin, line))
            if is_whole:
                return key
            return smart.minimum(key, smart.sub(self.places.keys, constant(1)))

        with code.block("scores"):
            tile_of = code.alloc("products", shape.shape, f32, "local")
            self._each_tile_vector(
                shape, lambda j, r: code.store(smart.const(0, f32), tile_of, j, r)
            )
            with code.loop("d", constant(self.what.features)) as feature:

                def add(line: Expr) -> Callable[[Expr], None]:
                    k = self._element(self.places.key, place(line), head, feature)

                    def add_vector(r: Expr) -> None:
                        q = code.load(queries, feature, r)
                        before = code.load(tile_of, line, r)
                        total = Call("fma", [k, q, before], f32)
                        code.store(total, tile_of, line, r)

                    return add_vector

                self._each_line(shape, add)

            def store(line: Expr, r: Expr) -> None:
                score = code.load(tile_of, line, r)
                score = self._masked(score, place(line), r)
                code.store(score, scores, smart.add(begin, line), r)

            self._each_tile_vector(shape, store)

    def _masked(self, score: Expr, key: Expr, r: Expr) -> Expr:
        """A score with the bias, minus infinity where the row does not see the key."""
        places, row = self.whole.places, smart.add(self.first, r)
        at = self.batch, self.head, self._row(row), key
        if places.bias is not None:
            score = smart.add(score, places.bias_of(self.code, at))
        return places.masked(score, row, key)

    # ---- weights ----

    def _write_weights(
        self,
        scores: SSAValue,
        length: Expr,
        best: SSAValue,
        total: SSAValue,
        factor: SSAValue,
    ) -> None:
        """Exponentials in the place of scores; the largest scores, sums and factors."""
        code, rows = self.code, self.whole.rows
        with code.block("weights"):
            peak, part = (
                code.alloc(name, [rows], f32, "local") for name in ("peak", "part")
            )
            self._each_vector(lambda r: code.store(code.load(best, r), peak, r))
            with code.loop("j", length) as key:

                def gather(r: Expr) -> None:
                    x = code.load(scores, key, r)
                    code.store(smart.maximum(code.load(peak, r), x), peak, r)

                self._each_vector(gather)

            def scale(r: Expr) -> None:
                new = code.load(peak, r)
                # Of a row that has seen no key yet, all exponentials are 0.
                is_none = smart.eq(new, smart.const(float("-inf"), f32))
                safe = smart.select(is_none, smart.const(0, f32), new)
                old = code.load(best, r)
                by = Call("exp", [smart.sub(old, safe)], f32)
                code.store(new, best, r)
                code.store(safe, peak, r)
                code.store(by, factor, r)
                code.store(smart.mul(code.load(total, r), by), part, r)

            self._each_vector(scale)
            with code.loop("j", length) as key:

                def weigh(r: Expr) -> None:
                    x = smart.sub(code.load(scores, key, r), code.load(peak, r))
                    weight = Call("exp", [x], f32)
                    code.store(weight, scores, key, r)
                    code.store(smart.add(code.load(part, r), weight), part, r)

                self._each_vector(weigh)
            self._each_vector(lambda r: code.store(code.load(part, r), total, r))

    # ---- values ----

    def _add_values(
        self,
        weights: SSAValue,
        sums: SSAValue,
        factor: SSAValue,
        base: Expr,
        length: Expr,
        tile: Expr,
        panel: Expr,
    ) -> None:
        """Add the weighted values of a block of keys to a tile of the sums."""
        code, whole = self.code, self.whole
        shape = whole.of_sums
        top = smart.mul(tile, constant(shape.height))
        head = self.places.shared_head(self.head, self.what.value_heads)
        with code.block("values"):
            tile_of = code.alloc("products", shape.shape, f32, "local")

            def begin(line: Expr, c: Expr) -> None:
                row = smart.add(top, line)
                before = code.load(sums, row, panel, c)
                code.store(smart.mul(before, code.load(factor, row)), tile_of, line, c)

            self._each_tile_vector(shape, begin)
            with code.loop("j", length) as j:
                place = smart.add(base, j)

                def add(line: Expr) -> Callable[[Expr], None]:
                    p = code.load(weights, j, smart.add(top, line))

                    def add_vector(c: Expr) -> None:
                        column = whole.panels.feature(panel, c)
                        v = self._element(self.places.value, place, head, column)
                        before = code.load(tile_of, line, c)
                        total = Call("fma", [p, v, before], f32)
                        code.store(total, tile_of, line, c)

                    return add_vector

                self._each_line(shape, add)

            def end(line: Expr, c: Expr) -> None:
                row = smart.add(top, line)
                code.store(code.load(tile_of, line, c), sums, row, panel, c)

            self._each_tile_vector(shape, end)

    def _store(self, sums: SSAValue, total: SSAValue) -> None:
        """The sums, divided by the sum of the weights; of a row without keys NaN."""
        code, whole = self.code, self.whole
        rows = constant(whole.rows)
        if not whole.are_whole:
            rows = smart.minimum(rows, smart.sub(self.places.queries, self.first))

        def invert(r: Expr) -> None:
            code.store(Div(smart.const(1, f32), code.load(total, r)), total, r)

        self._each_vector(invert)

        def store(row: Expr, panel: Expr, c: Expr) -> None:
            found = smart.mul(code.load(sums, row, panel, c), code.load(total, row))
            place, feature = smart.add(self.first, row), whole.panels.feature(panel, c)
            at = self.places.indices(self.batch, place, self.head, feature)
            out = self.places.out
            code.store(smart.cast(out.dtype, found), out.buffer, *at)

        self._each_panel(rows, store)

    # ---- loops over vectors ----

    def _each_vector(self, *writes: Callable[[Expr], None]) -> None:
        """The rows of the task."""
        self._vectors(self.whole.of_scores, *writes)

    def _each_panel(self, rows: Expr, write: Callable[[Expr, Expr, Expr], None]) -> None:
        """The vectors of the sums of rows: row, tile of features, place in it."""
        code, whole = self.code, self.whole
        with (
            code.loop("r", rows) as row,
            code.loop("panel", constant(whole.panels.count)) as panel,
        ):
            self._vectors(whole.of_sums, lambda c: write(row, panel, c))

    def _vectors(self, tile: _Tile, *writes: Callable[[Expr], None]) -> None:
        """The vectors of a line of a tile."""
        lanes = constant(tile.lanes)
        with (
            self.code.unrolled("u", constant(tile.vectors)) as number,
            self.code.loop("v", lanes, tir.ForKind.VECTORIZED) as lane,
        ):
            at = smart.add(smart.mul(number, lanes), lane)
            for write in writes:
                write(at)

    def _each_line(
        self, tile: _Tile, of_line: Callable[[Expr], Callable[[Expr], None]]
    ) -> None:
        """The lines of a tile; what is common to the vectors of one comes first."""
        with self.code.unrolled("l", constant(tile.height)) as line:
            self._vectors(tile, of_line(line))

    def _each_tile_vector(self, tile: _Tile, write: Callable[[Expr, Expr], None]) -> None:
        """The vectors of a tile."""
        self._each_line(tile, lambda line: lambda at: write(line, at))
