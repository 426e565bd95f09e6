"""The loops of attention of a few queries, for a CPU with vectors.

Keys and values are read once for all queries, which takes most of the time. A task is a
head, or a part of the keys of one where heads are few; it goes over its keys in blocks.
For each block,

1. the scores, in vectors of keys: products along the features of as many keys as a
   vector has lanes, whose lanes are then added up for all of these keys at once;
2. the largest score of each query so far, and the exponentials. What has been summed
   before is multiplied by `exp(old - new)` of the largest scores;
3. the sums of weighted values, in vectors of features.

What the parts of a head have found is combined at the end, in their order. How many parts
there are depends on the shapes alone: "Flash-Decoding for long-context inference", Dao,
Haziza, Massa and Sizov (2023).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

from xdsl.dialects.builtin import f32, i1
from xdsl.ir import SSAValue

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

MOST_QUERIES = 8
"""With more, queries in the lanes of vectors take less time."""
_KEYS = 64
"""Keys of a block: what is read of them is in the first cache for the next query."""
_TASKS = 8
"""Heads are divided into parts where there are fewer tasks."""
_ROWS = 4
"""The most queries of a tile of sums."""
_VECTORS = 4
"""The most vectors of features of a tile of sums."""
_ZERO = smart.const(0, f32)
_HIDDEN = smart.const(float("-inf"), f32)


@dataclass(frozen=True)
class FewQueries:
    """Writes the loops at one place."""

    code: LoopCode
    places: Places
    vector_bytes: int

    @property
    def what(self) -> Attention:
        return self.places.what

    # ---- sizes ----

    @property
    def lanes(self) -> int:
        """Keys of a tile of scores, and features of a vector."""
        return self.vector_bytes // 4

    @property
    def most(self) -> int:
        """As many queries as there may be."""
        return MOST_QUERIES if self.what.queries is None else self.what.queries

    @cached_property
    def rows(self) -> int:
        """Queries of a tile of sums, which divide their number."""
        queries = self.what.queries or 1
        return max(size for size in range(1, _ROWS + 1) if queries % size == 0)

    @cached_property
    def panels(self) -> Panels:
        """The features of a value."""
        return Panels.of(self.what.value_features, _VECTORS, self.lanes)

    @cached_property
    def parts(self) -> int:
        """Parts of the keys of a head, at least one block each."""
        parts = max(_TASKS // self.what.heads, 1)
        keys = smart.literal(self.places.keys)
        return parts if keys is None else max(min(parts, int(keys) // _KEYS), 1)

    # ---- the whole ----

    def write(self) -> None:
        """All tasks, which threads share, and what combines their parts."""
        code, what, places = self.code, self.what, self.places
        found = None
        if self.parts > 1:
            shape = [places.batch, what.heads, self.parts, self.most]
            found = _Found(
                code.alloc("part_best", shape, f32, "global"),
                code.alloc("part_total", shape, f32, "global"),
                code.alloc(
                    "part_sums",
                    [*shape, self.panels.count, self.panels.width],
                    f32,
                    "global",
                ),
            )
        tasks = smart.mul(places.batch, constant(what.heads * self.parts))
        with (
            code.loop("task", tasks, tir.ForKind.PARALLEL) as task,
            code.block("keys"),
        ):
            row, part = split(task, self.parts)
            batch, head = split(row, what.heads)
            _Part(self, batch, head, part).write(found)
        if found is None:
            return
        rows = smart.mul(places.batch, constant(what.heads))
        with (
            code.loop("task", rows, tir.ForKind.PARALLEL) as task,
            code.block("parts"),
        ):
            batch, head = split(task, what.heads)
            self._combine(found, batch, head)

    def _combine(self, found: _Found, batch: Expr, head: Expr) -> None:
        """The results of a head, of what its parts have found."""
        code = self.code
        factor = code.alloc("factor", [self.parts], f32, "local")
        scratch = code.alloc("scratch", [2], f32, "local")
        best, total = constant(0), constant(1)
        parts = constant(self.parts)
        with code.loop("q", self.places.queries) as query:
            code.store(_HIDDEN, scratch, best)
            code.store(_ZERO, scratch, total)
            with code.loop("p", parts) as part:
                other = code.load(found.best, batch, head, part, query)
                larger = smart.maximum(code.load(scratch, best), other)
                code.store(larger, scratch, best)
            safe = _finite(code.load(scratch, best))
            with code.loop("p", parts) as part:
                old = code.load(found.best, batch, head, part, query)
                by = code.let("by", Call("exp", [smart.sub(old, safe)], f32))
                code.store(by, factor, part)
                own = code.load(found.total, batch, head, part, query)
                both = smart.add(code.load(scratch, total), smart.mul(own, by))
                code.store(both, scratch, total)
            inverse = Div(smart.const(1, f32), code.load(scratch, total))
            inverse = code.let("inverse", inverse)
            with code.loop("panel", constant(self.panels.count)) as panel:
                tile = self.tile("sums", 1)
                zero = constant(0)
                self.each(1, lambda r, c: code.store(_ZERO, tile, r, c))
                with code.loop("p", parts) as part:
                    by = code.load(factor, part)

                    def add(row: Expr, c: Expr) -> None:
                        x = code.load(found.sums, batch, head, part, query, panel, c)
                        total = smart.add(code.load(tile, row, c), smart.mul(x, by))
                        code.store(total, tile, row, c)

                    self.each(1, add)
                self.store(batch, head, query, panel, tile, zero, inverse)

    # ---- tiles of sums ----

    def tile(self, name: str, rows: int) -> SSAValue:
        """A tile of sums, in registers."""
        return self.code.alloc(name, [rows, self.panels.width], f32, "local")

    def each(self, rows: int, write: Callable[[Expr, Expr], None]) -> None:
        """The vectors of a tile of sums."""
        code = self.code
        vectors, lanes = constant(self.panels.vectors), constant(self.panels.lanes)
        with (
            code.unrolled("l", constant(rows)) as row,
            code.unrolled("u", vectors) as number,
            code.loop("v", lanes, tir.ForKind.VECTORIZED) as lane,
        ):
            write(row, smart.add(smart.mul(number, lanes), lane))

    def store(
        self,
        batch: Expr,
        head: Expr,
        query: Expr,
        panel: Expr,
        tile: SSAValue,
        row: Expr,
        inverse: Expr,
    ) -> None:
        """Results, a row of a tile multiplied by the reciprocal of the sum of weights."""
        code, out = self.code, self.places.out

        def write(_: Expr, c: Expr) -> None:
            value = smart.mul(code.load(tile, row, c), inverse)
            at = self.places.indices(batch, query, head, self.panels.feature(panel, c))
            code.store(smart.cast(out.dtype, value), out.buffer, *at)

        self.each(1, write)


@dataclass(frozen=True)
class _Found:
    """What parts have found, by batch, head, part and query."""

    best: SSAValue
    total: SSAValue
    sums: SSAValue


@dataclass(frozen=True)
class _Part:
    """Writes what is done for a part of the keys of one head."""

    whole: FewQueries
    batch: Expr
    head: Expr
    part: Expr

    @property
    def code(self) -> LoopCode:
        return self.whole.code

    @property
    def places(self) -> Places:
        return self.whole.places

    @property
    def what(self) -> Attention:
        return self.whole.what

    def _element(self, tensor: Tensor, place: Expr, head: Expr, feature: Expr) -> Expr:
        at = self.places.indices(self.batch, place, head, feature)
        return smart.cast(f32, self.code.load(tensor.buffer, *at))

    def _each_lane(self, write: Callable[[Expr], None]) -> None:
        lanes = constant(self.whole.lanes)
        with self.code.loop("v", lanes, tir.ForKind.VECTORIZED) as lane:
            write(lane)

    def write(self, found: _Found | None) -> None:
        """Allocate, go over the keys, and store what was found."""
        whole, code, most = self.whole, self.code, self.whole.most
        panels = whole.panels

        def alloc(name: str, *shape: int) -> SSAValue:
            return code.alloc(name, shape, f32, "global")

        queries = alloc("queries", most, self.what.features)
        scores = alloc("scores", most, _KEYS)
        sums = alloc("sums", most, panels.count, panels.width)
        best, factor = alloc("best", most), alloc("factor", most)
        total = alloc("total", most, whole.lanes)
        with code.loop("q", self.places.queries) as query:
            self._begin(query, queries, sums, best, total)
        start, end = self._keys()
        blocks = count(smart.maximum(smart.sub(end, start), constant(0)), _KEYS)
        with code.loop("block", blocks) as number:
            base = smart.add(start, smart.mul(number, constant(_KEYS)))
            length = smart.minimum(constant(_KEYS), smart.sub(end, base))
            tiles = count(length, whole.lanes)
            with (
                code.loop("tile", tiles) as tile,
                code.loop("q", self.places.queries) as query,
            ):
                self._write_scores(queries, scores, base, end, tile, query)
            with code.loop("q", self.places.queries) as query:
                self._write_weights(scores, tiles, query, best, total, factor)
            rows = count(self.places.queries, whole.rows)
            with (
                code.loop("rows", rows) as row,
                code.loop("panel", constant(whole.panels.count)) as panel,
            ):
                first = smart.mul(row, constant(whole.rows))
                self._add_values(scores, sums, factor, base, length, first, panel)
        with code.loop("q", self.places.queries) as query:
            self._end(query, sums, best, total, found)

    def _keys(self) -> tuple[Expr, Expr]:
        """The keys of the part: the first, and the end of them."""
        start, end = self.places.seen(constant(0), self.places.queries)
        if self.whole.parts == 1:
            return start, end
        seen = smart.maximum(smart.sub(end, start), constant(0))
        blocks = count(count(seen, self.whole.parts), _KEYS)
        size = smart.mul(blocks, constant(_KEYS))
        first = self.code.let("first", smart.add(start, smart.mul(self.part, size)))
        return first, smart.minimum(end, smart.add(first, size))

    def _begin(
        self,
        query: Expr,
        queries: SSAValue,
        sums: SSAValue,
        best: SSAValue,
        total: SSAValue,
    ) -> None:
        """A query multiplied by the scale, and that nothing has been seen."""
        code, whole = self.code, self.whole
        scale = smart.const(self.what.scale, f32)

        def copy(start: Expr, length: int) -> None:
            with code.loop("v", constant(length), tir.ForKind.VECTORIZED) as lane:
                feature = smart.add(start, lane)
                x = self._element(self.places.query, query, self.head, feature)
                code.store(smart.mul(x, scale), queries, query, feature)

        code.steps("d", constant(self.what.features), whole.lanes, copy)
        code.store(_HIDDEN, best, query)
        self._each_lane(lambda v: code.store(_ZERO, total, query, v))
        with code.loop("panel", constant(whole.panels.count)) as panel:
            whole.each(1, lambda _, c: code.store(_ZERO, sums, query, panel, c))

    # ---- scores ----

    def _write_scores(
        self,
        queries: SSAValue,
        scores: SSAValue,
        base: Expr,
        end: Expr,
        tile: Expr,
        query: Expr,
    ) -> None:
        """The scores of a query and of a vector of keys."""
        code, lanes = self.code, self.whole.lanes
        begin = smart.mul(tile, constant(lanes))
        first = smart.add(base, begin)
        last = smart.sub(self.places.keys, constant(1))
        head = self.places.shared_head(self.head, self.what.key_heads)
        chunks = self.what.features // lanes

        def place(line: Expr) -> Expr:
            return smart.minimum(smart.add(first, line), last)

        with code.block("scores"):
            tile_of = code.alloc("products", [lanes, lanes], f32, "local")
            with code.unrolled("k", constant(lanes)) as line:
                self._each_lane(lambda v: code.store(_ZERO, tile_of, line, v))
            # Keys are read one after the other, which is how processors read ahead.
            with (
                code.unrolled("k", constant(lanes)) as line,
                code.unrolled("u", constant(chunks)) as chunk,
            ):

                def add(v: Expr) -> None:
                    feature = smart.add(smart.mul(chunk, constant(lanes)), v)
                    k = self._element(self.places.key, place(line), head, feature)
                    q = code.load(queries, query, feature)
                    total = Call("fma", [q, k, code.load(tile_of, line, v)], f32)
                    code.store(total, tile_of, line, v)

                self._each_lane(add)
            whole_score = self._added_up(tile_of)
            code.store(whole_score, scores, query, smart.ramp(begin, lanes))

            def rest(v: Expr, key: Expr) -> None:
                column = smart.add(begin, v)
                score = code.load(scores, query, column)
                for feature in range(chunks * lanes, self.what.features):
                    at = constant(feature)
                    k = self._element(self.places.key, key, head, at)
                    q = code.load(queries, query, at)
                    score = Call("fma", [q, k, score], f32)
                if self.places.bias is not None:
                    where = self.batch, self.head, query, key
                    score = smart.add(score, self.places.bias_of(code, where))
                own = smart.add(first, v)
                score = self.places.masked(score, query, own)
                score = smart.select(smart.lt(own, end), score, _HIDDEN)
                code.store(score, scores, query, column)

            is_cut = smart.const(1, i1)
            if self.places.bias is not None:
                # Its elements are next to each other where all keys exist.
                is_whole = smart.le(smart.add(first, constant(lanes - 1)), last)
                with code.when(is_whole):
                    self._each_lane(lambda v: rest(v, smart.add(first, v)))
                is_cut = smart.negation(is_whole)
            with code.when(is_cut):
                self._each_lane(lambda v: rest(v, place(v)))

    def _added_up(self, tile: SSAValue) -> Expr:
        """The sums of the lanes of each row of a square, as one vector.

        Halves of two vectors are added, lanes in turns from the one and the other, until
        one vector is left.
        """
        code, lanes = self.code, self.whole.lanes
        rows = [
            code.load(tile, constant(row), smart.ramp(constant(0), lanes))
            for row in range(lanes)
        ]
        step = 1
        while len(rows) > 1:
            pairs = zip(rows[::2], rows[1::2], strict=True)
            rows = [self._halves_added(a, b, step) for a, b in pairs]
            step *= 2
        return rows[0]

    def _halves_added(self, a: Expr, b: Expr, step: int) -> Expr:
        """Sums of lanes that are `step` apart: those of two vectors, in turns."""
        lanes = range(self.whole.lanes)
        low = [lane if not lane & step else len(lanes) + lane - step for lane in lanes]
        high = [each + step for each in low]
        vectors = [self.code.value(a), self.code.value(b)]
        sums = (self.code.shuffled(vectors, each) for each in (low, high))
        return smart.add(*sums)

    # ---- weights ----

    def _write_weights(
        self,
        scores: SSAValue,
        tiles: Expr,
        query: Expr,
        best: SSAValue,
        total: SSAValue,
        factor: SSAValue,
    ) -> None:
        """Exponentials in the place of the scores of a query; the largest score, sums
        by lanes and the factor."""
        code, lanes = self.code, self.whole.lanes
        with code.block("weights"):
            peak = code.alloc("peak", [lanes], f32, "local")
            self._each_lane(lambda v: code.store(_HIDDEN, peak, v))

            def each_tile(write: Callable[[Expr, Expr], None]) -> None:
                with code.loop("tile", tiles) as tile:
                    begin = smart.mul(tile, constant(lanes))
                    self._each_lane(lambda v: write(v, smart.add(begin, v)))

            def gather(v: Expr, column: Expr) -> None:
                x = code.load(scores, query, column)
                code.store(smart.maximum(code.load(peak, v), x), peak, v)

            each_tile(gather)
            largest = code.load(best, query)
            new = smart.maximum(largest, self._combined(peak, smart.maximum))
            new = code.let("new", new)
            # Where no key has been seen yet, all exponentials are 0.
            safe = code.let("safe", _finite(new))
            by = code.let("by", Call("exp", [smart.sub(largest, safe)], f32))
            code.store(new, best, query)
            code.store(by, factor, query)
            part = code.alloc("part", [lanes], f32, "local")

            def scale(v: Expr) -> None:
                code.store(smart.mul(code.load(total, query, v), by), part, v)

            self._each_lane(scale)

            def weigh(v: Expr, column: Expr) -> None:
                x = smart.sub(code.load(scores, query, column), safe)
                weight = Call("exp", [x], f32)
                code.store(weight, scores, query, column)
                code.store(smart.add(code.load(part, v), weight), part, v)

            each_tile(weigh)
            self._each_lane(lambda v: code.store(code.load(part, v), total, query, v))

    def _combined(self, lanes: SSAValue, both: Callable[[Expr, Expr], Expr]) -> Expr:
        """The lanes of a vector combined by halves, in its place."""
        code, width = self.code, self.whole.lanes
        while width > 1:
            width //= 2
            kind = tir.ForKind.VECTORIZED if width > 1 else tir.ForKind.SERIAL
            with code.loop("v", constant(width), kind) as lane:
                high = code.load(lanes, smart.add(lane, constant(width)))
                code.store(both(code.load(lanes, lane), high), lanes, lane)
        return code.load(lanes, constant(0))

    # ---- values ----

    def _add_values(
        self,
        weights: SSAValue,
        sums: SSAValue,
        factor: SSAValue,
        base: Expr,
        length: Expr,
        first: Expr,
        panel: Expr,
    ) -> None:
        """Add the weighted values of a block of keys to a tile of the sums."""
        code, whole = self.code, self.whole
        head = self.places.shared_head(self.head, self.what.value_heads)
        with code.block("values"):
            tile = whole.tile("products", whole.rows)

            def begin(line: Expr, c: Expr) -> None:
                row = smart.add(first, line)
                before = code.load(sums, row, panel, c)
                code.store(smart.mul(before, code.load(factor, row)), tile, line, c)

            whole.each(whole.rows, begin)
            with code.loop("j", length) as j:
                place = smart.add(base, j)

                def add(line: Expr, c: Expr) -> None:
                    p = code.load(weights, smart.add(first, line), j)
                    column = whole.panels.feature(panel, c)
                    v = self._element(self.places.value, place, head, column)
                    total = Call("fma", [p, v, code.load(tile, line, c)], f32)
                    code.store(total, tile, line, c)

                whole.each(whole.rows, add)

            def end(line: Expr, c: Expr) -> None:
                value = code.load(tile, line, c)
                code.store(value, sums, smart.add(first, line), panel, c)

            whole.each(whole.rows, end)

    def _end(
        self,
        query: Expr,
        sums: SSAValue,
        best: SSAValue,
        total: SSAValue,
        found: _Found | None,
    ) -> None:
        """The results of a query, or what the part has found for it."""
        code, whole = self.code, self.whole
        lanes = code.alloc("lanes", [whole.lanes], f32, "local")
        self._each_lane(lambda v: code.store(code.load(total, query, v), lanes, v))
        weight = code.let("weight", self._combined(lanes, smart.add))
        at = self.batch, self.head, self.part, query
        inverse = weight
        if found is None:
            inverse = code.let("inverse", Div(smart.const(1, f32), weight))
        else:
            code.store(code.load(best, query), found.best, *at)
            code.store(weight, found.total, *at)
        with code.loop("panel", constant(whole.panels.count)) as panel:
            tile = whole.tile("found", 1)

            def copy(row: Expr, c: Expr) -> None:
                value = code.load(sums, query, panel, c)
                if found is None:
                    code.store(value, tile, row, c)
                else:
                    code.store(value, found.sums, *at, panel, c)

            whole.each(1, copy)
            if found is None:
                zero = constant(0)
                whole.store(self.batch, self.head, query, panel, tile, zero, inverse)


def _finite(largest: Expr) -> Expr:
    """The largest score, 0 where no key has been seen."""
    return smart.select(smart.eq(largest, _HIDDEN), _ZERO, largest)
