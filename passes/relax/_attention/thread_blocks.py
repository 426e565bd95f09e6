"""Attention in one kernel: what blocks of threads do with and without matrix units.

A block of threads has some queries of one head, and goes over the keys that one of them
may see in tiles. Tiles of keys and values are copied to shared memory, asynchronously
where the device can, the next ones while these are worked on.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final

from xdsl.dialects.builtin import (
    ArrayAttr,
    IntegerAttr,
    IntegerType,
    Signedness,
    StringAttr,
    f32,
    i1,
    i32,
    i64,
)
from xdsl.ir import Attribute, SSAValue

from xdsl_tvm.analysis.arith import smart
from xdsl_tvm.analysis.arith.expr import Call, Div, Expr, Mul
from xdsl_tvm.dialects import tir
from xdsl_tvm.dialects.tir.target_functions import APPROXIMATE_EXP2
from xdsl_tvm.passes.relax._attention.places import (
    Attention,
    Places,
    constant,
    count,
    split,
)
from xdsl_tvm.passes.relax.legalize.tensor_expression import Tensor
from xdsl_tvm.passes.tir.rewriting.loop_code import LoopCode

_VECTOR_BYTES: Final = 16
"""What a thread copies at once."""
_LEAST_COPY: Final = 4
"""The least that an asynchronous copy copies."""
_WARP: Final = 32
_ALL_LANES: Final = smart.const(2**32 - 1, IntegerType(32, Signedness.UNSIGNED))
_NONE: Final = smart.const(float("-inf"), f32)
ZERO: Final = smart.const(0, f32)


def has_copies(features: int, dtype: Attribute) -> bool:
    """Whether rows of so many elements are made of what one copy copies."""
    return _lanes(features, dtype) * tir.bytes_of_lane(dtype) >= _LEAST_COPY


def _lanes(features: int, dtype: Attribute) -> int:
    """How many neighbours a thread copies at once."""
    return math.gcd(features, _VECTOR_BYTES // tir.bytes_of_lane(dtype))


@dataclass
class BlockOfThreads(ABC):
    """Writes the kernel at one place."""

    code: LoopCode
    places: Places
    is_asynchronous: bool
    """Whether copies run while others are worked on."""
    batch: Expr = field(init=False)
    head: Expr = field(init=False)
    first: Expr = field(init=False)
    """The first query of the block."""
    row: Expr = field(init=False)
    """The row of the thread in the block, `threadIdx.y`."""
    column: Expr = field(init=False)
    best: SSAValue = field(init=False)
    """The largest score so far of each row that the thread works on."""
    total: SSAValue = field(init=False)
    """Likewise, what the thread has of the sum of the exponentials."""

    # ---- sizes ----

    @property
    def what(self) -> Attention:
        return self.places.what

    @property
    @abstractmethod
    def threads(self) -> tuple[int, int]:
        """Rows of threads, and threads of a row."""

    @property
    @abstractmethod
    def rows(self) -> int:
        """Queries of a block."""

    @property
    @abstractmethod
    def own_rows(self) -> int:
        """Rows that a thread works on."""

    @property
    @abstractmethod
    def tile_keys(self) -> int:
        """Keys of a tile."""

    @property
    def dtype(self) -> Attribute:
        return self.places.query.dtype

    @property
    def shared(self) -> str:
        return "shared.dyn" if self.is_asynchronous else "shared"

    # ---- the whole ----

    def write(self) -> None:
        """The blocks of all heads of all batches; the longest begin first.

        Where some of their rows are no queries, or their number is not known, they are in
        order, which is proved to be apart.
        """
        code, what = self.code, self.what
        tiles = count(self.places.queries, self.rows)
        height, width = self.threads
        with (
            self._each_block(tiles) as (rest, tile),
            code.loop("ty", constant(height), thread="threadIdx.y") as self.row,
            code.loop("tx", constant(width), thread="threadIdx.x") as self.column,
            code.block("attention"),
        ):
            self.batch, self.head = split(rest, what.heads)
            if what.causal_mask is not None and self._are_all_queries:
                tile = smart.sub(smart.sub(tiles, constant(1)), tile)
            self.first = smart.mul(tile, constant(self.rows))
            self.best, self.total = (
                code.alloc(name, [self.own_rows], f32, "local")
                for name in ("best", "total")
            )
            with self.unrolled("h", self.own_rows) as own:
                code.store(_NONE, self.best, own)
                code.store(ZERO, self.total, own)
            self.write_block()

    @contextmanager
    def _each_block(self, tiles: Expr) -> Generator[tuple[Expr, Expr]]:
        """The heads of all batches as one number, and the tiles of queries of each."""
        code = self.code
        heads = smart.mul(self.places.batch, constant(self.what.heads))
        known = smart.literal(tiles)
        if known is None:
            with (
                code.loop("by", tiles, thread="blockIdx.y") as tile,
                code.loop("bx", heads, thread="blockIdx.x") as head,
            ):
                yield head, tile
            return
        blocks = smart.mul(heads, tiles)
        with code.loop("bx", blocks, thread="blockIdx.x") as block:
            yield split(block, int(known))

    @property
    def _are_all_queries(self) -> bool:
        """Whether all rows of blocks are queries."""
        queries = self.what.queries
        return queries is not None and queries % self.rows == 0

    @abstractmethod
    def write_block(self) -> None:
        """What a thread does."""

    def unrolled(self, name: str, extent: int) -> AbstractContextManager[Expr]:
        """A loop over registers."""
        return self.code.unrolled(name, constant(extent))

    @contextmanager
    def lanes(self, some: int) -> Generator[Expr]:
        """Neighbours that are accessed at once."""
        if some == 1:
            yield constant(0)
            return
        kind = tir.ForKind.VECTORIZED
        with self.code.loop("v", constant(some), kind) as lane:
            yield lane

    # ---- tiles ----

    @contextmanager
    def each_tile(self) -> Generator[Expr]:
        """The tiles of keys that the block has to see, by their first key.

        The body is a copy of keys, one of values, and what is done with them.
        """
        start, end = self.places.seen(self.first, self.rows)
        length = smart.maximum(smart.sub(end, start), constant(0))
        hints: dict[str, Attribute] | None = None
        if self.is_asynchronous:
            hints = {
                "software_pipeline_stage": _numbers(0, 0, 1),
                "software_pipeline_order": _numbers(0, 1, 2),
                "software_pipeline_async_stages": _numbers(0),
            }
        steps = count(length, self.tile_keys)
        with (
            self.code.loop("k", steps, annotations=hints) as step,
            self.code.block("tile"),
        ):
            yield smart.add(start, smart.mul(step, constant(self.tile_keys)))

    def copy(
        self,
        tensor: Tensor,
        tile: SSAValue,
        shape: tuple[int, int],
        heads: int,
        features: int,
        first: Expr,
        total: Expr,
        *,
        is_asynchronous: bool,
    ) -> None:
        """Copy rows of a tensor from the first of them on, zeros where it has none.

        `shape` is what of the tile is used: rows, and features with those that fill rows
        up.
        """
        code, (rows, width) = self.code, shape
        lanes = _lanes(features, self.dtype)
        in_row, threads = width // lanes, math.prod(self.threads)
        pieces = rows * in_row
        head = self.places.shared_head(self.head, heads)
        steps, unrolled = constant(-(-pieces // threads)), tir.ForKind.UNROLLED
        with code.loop("u", steps, unrolled) as number:
            linear = smart.mul(self.row, constant(self.threads[1]))
            linear = smart.add(linear, self.column)
            flat = smart.add(smart.mul(number, constant(threads)), linear)
            is_piece = _true() if pieces % threads == 0 else smart.lt(flat, pieces)
            with code.when(is_piece):
                row, piece = split(flat, in_row)
                feature = smart.mul(piece, constant(lanes))
                place = smart.add(first, row)
                inside = _true()
                if not self._are_whole(total, rows):
                    inside = smart.lt(place, total)
                if features < width:
                    inside = smart.conjunction(inside, smart.lt(feature, features))

                def element(lane: Expr) -> Expr:
                    at = place, head, smart.add(feature, lane)
                    return code.load(tensor.buffer, *self.places.indices(self.batch, *at))

                def store(content: Callable[[Expr], Expr]) -> None:
                    with self.lanes(lanes) as lane:
                        code.store(content(lane), tile, row, smart.add(feature, lane))

                zero = smart.const(0, self.dtype)
                if is_asynchronous:
                    store(lambda lane: code.choice(inside, lambda: element(lane), zero))
                    return
                with code.when(inside):
                    store(element)
                if smart.literal(inside) != 1:
                    with code.otherwise(inside):
                        store(lambda lane: zero)

    def _are_whole(self, total: Expr, rows: int) -> bool:
        """Whether tiles of so many rows, which begin at multiples, cover a total."""
        if self.what.window is not None:
            return False
        return smart.literal(smart.floormod(total, constant(rows))) == 0

    # ---- scores ----

    @cached_property
    def factor(self) -> float:
        """What makes exponents of 2 of products."""
        return self.what.scale / math.log(2)

    @property
    def is_scaled_late(self) -> bool:
        """Whether scores are products, which are multiplied when they are exponents."""
        return self.places.bias is None and self.what.scale > 0

    def scored(self, product: Expr, row: Expr, key: Expr) -> Expr:
        """A product as an exponent of 2 with its bias, for rows and keys of a tile."""
        code, places = self.code, self.places
        score = Mul(product, smart.const(self.factor, f32))
        if places.bias is None:
            return score
        if not self._are_all_queries:
            last = smart.sub(places.queries, constant(1))
            row = smart.minimum(row, last)
        if not self._are_whole(places.keys, self.tile_keys):
            key = smart.minimum(key, smart.sub(places.keys, constant(1)))
        bias = places.bias_of(code, (self.batch, self.head, row, key))
        return Call("fma", [bias, smart.const(1 / math.log(2), f32), score], f32)

    def hides(self, base: Expr, top: Expr, rows: int) -> Expr:
        """Whether one of `rows` rows does not see some key of the tile."""
        places, what = self.places, self.what
        end = smart.add(base, constant(self.tile_keys))
        place = smart.add(top, places.offset)
        found = smart.const(0, i1)
        if not self._are_whole(places.keys, self.tile_keys):
            found = smart.gt(end, places.keys)
        if what.causal_mask is not None:
            last = smart.sub(end, constant(1))
            found = smart.disjunction(found, smart.gt(last, place))
        if what.window is not None:
            least = smart.add(place, constant(rows - 1 - what.window))
            found = smart.disjunction(found, smart.le(base, least))
        return found

    def masked(self, score: Expr, row: Expr, key: Expr) -> Expr:
        """A score, minus infinity where the key does not exist or is not seen."""
        if not self._are_whole(self.places.keys, self.tile_keys):
            score = smart.select(smart.lt(key, self.places.keys), score, _NONE)
        return self.places.masked(score, row, key)

    # ---- weights ----

    def weigh(
        self,
        own: Expr,
        scores: Callable[[Callable[[Expr], None]], None],
        read: Callable[[Expr], Expr],
        write: Callable[[Expr, Expr], None],
        lanes: int,
    ) -> Expr:
        """Make weights of the scores of a row of a thread, which `lanes` threads share.

        `scores` does something at each of them. Updates the largest score and the sum,
        and returns what the sums of values before are to be multiplied by.
        """
        code = self.code
        peak = code.alloc("peak", [2], f32, "local")
        zero, one = constant(0), constant(1)
        code.store(code.load(self.best, own), peak, zero)
        scores(
            lambda at: code.store(
                smart.maximum(code.load(peak, zero), read(at)), peak, zero
            )
        )
        self.combine(peak, zero, lanes, smart.maximum)
        scale = smart.const(self.factor if self.is_scaled_late else 1, f32)
        largest = code.let("largest", code.load(peak, zero))
        # Of a row that has seen no key yet, all exponentials are 0.
        safe = smart.select(smart.eq(largest, _NONE), ZERO, largest)
        before = code.let("before", smart.sub(code.load(self.best, own), safe))
        by = code.let("by", self._power(smart.mul(before, scale)))
        lower = code.let("lower", smart.mul(safe, smart.mul(scale, -1.0)))
        code.store(largest, self.best, own)
        code.store(smart.mul(code.load(self.total, own), by), peak, one)

        def weight(at: Expr) -> None:
            exponent = smart.add(read(at), lower)
            if self.is_scaled_late:
                exponent = Call("fma", [read(at), scale, lower], f32)
            found = code.let("weight", self._power(exponent))
            write(at, found)
            code.store(smart.add(code.load(peak, one), found), peak, one)

        scores(weight)
        code.store(code.load(peak, one), self.total, own)
        return by

    def _power(self, exponent: Expr) -> Expr:
        """2 to the power of an exponent, by the instruction of the device."""
        name = self.code.string(APPROXIMATE_EXP2)
        return self.code.call("call_llvm_pure_intrin", [name, exponent], f32)

    def inverse(self, own: Expr, lanes: int) -> Expr:
        """One over the sum of the weights of a row; of one that sees no key infinity."""
        self.combine(self.total, own, lanes, smart.add)
        found = Div(smart.const(1, f32), self.code.load(self.total, own))
        return self.code.let("inverse", found)

    def combine(
        self,
        values: SSAValue,
        at: Expr,
        lanes: int,
        both: Callable[[Expr, Expr], Expr],
    ) -> None:
        """Combine a value with those of neighbouring threads, `lanes` in all."""
        code = self.code
        linear = smart.mul(self.row, constant(self.threads[1]))
        lane = smart.floormod(smart.add(linear, self.column), constant(_WARP))
        width = smart.const(_WARP, i32)
        offset = 1
        while offset < lanes:
            other = smart.call("bitwise_xor", [lane, constant(offset)], i64)
            value = code.load(values, at)
            arguments = [_ALL_LANES, value, smart.cast(i32, other), width, width]
            found = code.call("tvm_warp_shuffle", arguments, f32)
            code.store(both(value, found), values, at)
            offset *= 2

    # ---- results ----

    def store(
        self, place: Expr, feature: Expr, some: int, value: Callable[[Expr], Expr]
    ) -> None:
        """Store `some` neighbours of a result, where there are a query and features.

        The number divides that of the features.
        """
        code, what, out = self.code, self.what, self.places.out
        inside = _true()
        if not self._are_all_queries:
            inside = smart.lt(place, self.places.queries)
        inside = smart.conjunction(inside, smart.lt(feature, what.value_features))
        with code.when(inside), self.lanes(some) as lane:
            at = self.batch, place, self.head, smart.add(feature, lane)
            code.store(
                smart.cast(out.dtype, value(lane)), out.buffer, *self.places.indices(*at)
            )


def _true() -> Expr:
    return smart.const(1, i1)


def _numbers(*values: int) -> ArrayAttr[IntegerAttr]:
    return ArrayAttr([IntegerAttr(value, i32) for value in values])


def layout(name: str) -> dict[str, Attribute]:
    """Annotations of a block that accesses tiles whose columns are permuted."""
    return {"permuted_layout": StringAttr(name)}
