"""Sorts by threads: tiles of rows in shared memory, which are then merged in pairs.

A tile is sorted by Batcher's bitonic network, on pairs of an element and its index. The
index decides between equal elements, so that the order is total, and the sort stable.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from xdsl.dialects.builtin import i32, i64
from xdsl.ir import Attribute

from xdsl_tvm.dialects import relax, tir
from xdsl_tvm.passes.relax._thread_kernels.program import (
    Sizes,
    ThreadProgram,
    ceildiv,
    power_of_two,
    product,
)
from xdsl_tvm.passes.relax.legalize.extents import times
from xdsl_tvm.passes.relax.legalize.registry import NoStagesError, RuleContext
from xdsl_tvm.passes.relax.legalize.sorting import comes_before
from xdsl_tvm.passes.relax.legalize.stages import unflatten
from xdsl_tvm.passes.relax.legalize.tensor_expression import Dim, Expr, Tensor

_MOST = 1 << 31
"""Indices of rows up to this length are 32-bit."""


@dataclass(frozen=True)
class Sorted:
    """Elements in their order, and the indices that they had."""

    keys: Tensor
    order: Tensor


def sort(op: relax.SortOp, site: RuleContext, sizes: Sizes) -> Tensor:
    """The elements in the order that sorts them."""
    sorter = _Sorter(site, op.descending is not None, sizes)
    values = sorter.program.memory("values", site.shape, site.dtype)
    sorter.write(site.shape, values, None)
    return values


def argsort(op: relax.ArgsortOp, site: RuleContext, sizes: Sizes) -> Tensor:
    """The order that sorts the elements."""
    sorter = _Sorter(site, op.descending is not None, sizes)
    indices = sorter.program.memory("indices", site.shape, site.dtype)
    sorter.write(site.shape, None, indices)
    return indices


def topk(op: relax.TopkOp, site: RuleContext, sizes: Sizes) -> list[Tensor]:
    """The first elements in the order that sorts them, and their indices."""
    sorter = _Sorter(site, op.smallest is None, sizes)
    names = {"both": ("values", "indices")}.get(op.ret_type.data, (op.ret_type.data,))
    made = {
        name: sorter.program.memory(name, result.shape, result.dtype)
        for name, result in zip(names, site.results, strict=True)
    }
    sorter.write(site.shape, made.get("values"), made.get("indices"))
    return [made[name] for name in names]


Write = Callable[[Expr, Expr, Expr, Expr], None]
"""Puts an element and its index at a place of a row: row, place, element, index."""


class _Sorter:
    """The launches that sort the rows of the operand."""

    def __init__(self, site: RuleContext, descending: bool, sizes: Sizes) -> None:
        self.program = program = ThreadProgram.of(site)
        self._x = site.tensor(0)
        if tir.is_bool(self._x.dtype) or not self._x.shape:
            raise NoStagesError
        *self._others, self._length = self._x.shape
        self._rows = product(program, self._others)
        self._before = comes_before(self._x.dtype, descending)
        self._sizes = sizes
        n = self._length
        self._tile = (
            min(power_of_two(max(n, 2)), sizes.tile) if isinstance(n, int) else sizes.tile
        )
        """Elements of a row that are sorted together."""
        self._is_short = isinstance(n, int) and n <= self._tile
        is_narrow = isinstance(n, int) and n < _MOST
        self._index_type: Attribute = i32 if is_narrow else i64

    def _at(self, row: Expr, place: Expr) -> tuple[Expr, ...]:
        return (*unflatten(self.program, row, self._others), place)

    def write(
        self, shape: tuple[Dim, ...], values: Tensor | None, indices: Tensor | None
    ) -> None:
        """Store the first elements of each row, as many as `shape` has, and indices."""
        program = self.program
        count = shape[-1]

        def store(row: Expr, place: Expr, key: Expr, index: Expr) -> None:
            at = self._at(row, place)
            if values is not None:
                program.store(key, values, at)
            if indices is not None:
                program.store(index.cast(indices.dtype), indices, at)

        if self._is_short:
            self._sort_tiles(store, count)
            return
        first, second = (self._workspace(name) for name in ("first", "second"))
        self._sort_tiles(_into(program, first), self._length)
        with program.launches("p", self._double_passes()) as number:
            width = program.extent(self._tile).call("shift_left", number * 2)
            self._merge("merge", first, second, width)
            self._merge("merge_back", second, first, width * 2)
        threads = self._sizes.threads
        cells = times(program, self._rows, count)
        blocks = ceildiv(program, cells, threads)
        with program.launch("sorted", blocks, threads) as (block, thread):
            cell = block * threads + thread
            with program.when(cell < program.extent(cells)):
                row, place = cell // program.extent(count), cell % program.extent(count)
                store(row, place, first.keys[row, place], first.order[row, place])

    def _workspace(self, name: str) -> Sorted:
        shape = (self._rows, self._length)
        return Sorted(
            self.program.memory(f"{name}_keys", shape, self._x.dtype),
            self.program.memory(f"{name}_order", shape, self._index_type),
        )

    def _double_passes(self) -> Dim:
        """How many times two merges make runs four times as long, until one is left."""
        n, width = self._length, self._tile
        if isinstance(n, int):
            return (((n - 1) // width).bit_length() + 1) // 2
        return self.program.at_entry(
            lambda: _bits((n.maximum(1) - 1) // width * 2 + 1) // 2
        )

    # ---- tiles ----

    def _sort_tiles(self, write: Write, count: Dim) -> None:
        """Sort tiles; write what is among the first `count` places of a row."""
        program, tile = self.program, self._tile
        chunks = ceildiv(program, self._length, tile)
        most = 2 * min(self._sizes.threads, self._sizes.tile // 2)
        together = max(most // tile, 1) if chunks == 1 else 1
        if isinstance(self._rows, int):
            together = min(together, power_of_two(self._rows))
        elements = together * tile
        threads = min(most // 2, elements // 2)
        blocks = ceildiv(program, self._rows, together)
        columns = None if chunks == 1 else chunks
        if self._rows == 1:
            blocks, columns = chunks, None
        with program.launch("sort_tile", blocks, threads, columns) as numbers:
            block, thread = numbers[0], numbers[-1]
            first = None
            if chunks != 1:
                first = numbers[0 if columns is None else 1] * tile
            if self._rows == 1:
                block = program.extent(0)
            network = _Network(
                program,
                Sorted(
                    program.scoped("keys", [elements], self._x.dtype, "shared"),
                    program.scoped("order", [elements], i32, "shared"),
                ),
                tile,
                self._goes_before,
                thread,
                threads,
            )

            def position(number: Expr) -> tuple[Expr, Expr, Expr]:
                """Place among the tiles of the block, row, place in the tile."""
                i = number * threads + thread
                if together == 1:
                    return i, block, i
                return i, block * together + i // tile, i % tile

            def inside(row: Expr, place: Expr, limit: Dim) -> Expr:
                found = place < program.extent(limit)
                rows = self._rows
                if together == 1 or (isinstance(rows, int) and rows % together == 0):
                    return found
                return (row < program.extent(self._rows)) & found

            with program.loop(
                "u", program.extent(0), program.extent(elements // threads)
            ) as number:
                i, row, place = position(number)
                here = place if first is None else first + place
                is_inside = inside(row, here, self._length)
                key = program.if_then_else(
                    is_inside,
                    lambda: self._x[self._at(row, here)],
                    lambda: program.constant(0, self._x.dtype),
                )
                rest = program.constant(tile, i32)
                index = program.select(is_inside, place.cast(i32), rest)
                network.put(i, key, index)
            program.barrier()
            network.sort()
            with program.loop(
                "u", program.extent(0), program.extent(elements // threads)
            ) as number:
                i, row, place = position(number)
                here = place if first is None else first + place
                with program.when(inside(row, here, count)):
                    key, index = network.get(i)
                    index = index.cast(self._index_type)
                    if first is not None:
                        index = index + first.cast(self._index_type)
                    write(row, here, key, index)

    def _goes_before(self, a: tuple[Expr, Expr], b: tuple[Expr, Expr]) -> Expr:
        """Whether a pair of element and index is before another, absent ones last."""
        (key, index), (other, its_index) = a, b
        by_index = index < its_index
        found = self._before(key, other) | (~self._before(other, key) & by_index)
        if isinstance(self._length, int) and self._length % self._tile == 0:
            return found
        tile = self._tile
        return (index < tile) & ((its_index >= tile) | found)

    # ---- merges ----

    def _merge(self, name: str, source: Sorted, target: Sorted, width: Expr) -> None:
        """Merge pairs of runs of `width`; each thread finds one element of the result.

        Where the result is cut, so many elements are of the first run that none of them
        is after the next one of the second: a binary search along the diagonal.
        """
        program, n = self.program, self.program.extent(self._length)
        threads = self._sizes.threads
        cells = times(program, self._rows, self._length)
        blocks = ceildiv(program, cells, threads)
        with program.launch(name, blocks, threads) as (block, thread):
            state = program.scoped("state", [2], i64, "local")
            least, most = program.extent(0), program.extent(1)
            cell = block * threads + thread
            with program.when(cell < program.extent(cells)):
                row, place = cell // n, cell % n
                low = place - place % (width * 2)
                middle = (low + width).minimum(n)
                high = (middle + width).minimum(n)
                diagonal = place - low
                zero = program.extent(0)
                program.store((diagonal - (high - middle)).maximum(zero), state, [least])
                program.store(diagonal.minimum(middle - low), state, [most])

                def comes_first(first: Expr, second: Expr) -> Expr:
                    """Whether an element of the first run precedes one of the second."""
                    keys = source.keys
                    return ~self._before(keys[row, second], keys[row, first])

                with program.repeat(lambda: state[least] < state[most]):
                    half = (state[least] + state[most]) // 2
                    taken = comes_first(low + half, middle + diagonal - half - 1)
                    program.store(
                        program.select(taken, half + 1, state[least]), state, [least]
                    )
                    program.store(program.select(taken, state[most], half), state, [most])
                first = low + state[least]
                second = middle + diagonal - state[least]
                is_first = program.if_then_else(
                    (first < middle) & (second < high),
                    lambda: comes_first(first, second),
                    lambda: first < middle,
                )
                found = program.select(is_first, first, second)
                write = _into(program, target)
                write(row, place, source.keys[row, found], source.order[row, found])


def _bits(number: Expr) -> Expr:
    """The length of a positive number in bits."""
    return number.program.extent(64) - number.call("clz", dtype=i32).cast(i64)


def _into(program: ThreadProgram, target: Sorted) -> Write:
    def write(row: Expr, place: Expr, key: Expr, index: Expr) -> None:
        program.store(key, target.keys, [row, place])
        program.store(index, target.order, [row, place])

    return write


class _Network:
    """Batcher's bitonic network on tiles in shared memory."""

    def __init__(
        self,
        program: ThreadProgram,
        pairs: Sorted,
        tile: int,
        goes_before: Callable[[tuple[Expr, Expr], tuple[Expr, Expr]], Expr],
        thread: Expr,
        threads: int,
    ) -> None:
        self._program, self._pairs, self._tile = program, pairs, tile
        self._goes_before = goes_before
        self._thread, self._threads = thread, threads
        elements = pairs.keys.shape[0]
        assert isinstance(elements, int)
        self._steps = elements // 2 // threads

    def get(self, i: Expr) -> tuple[Expr, Expr]:
        """The pair at a place."""
        return self._pairs.keys[i], self._pairs.order[i]

    def put(self, i: Expr, key: Expr, index: Expr) -> None:
        """Store a pair at a place."""
        self._program.store(key, self._pairs.keys, [i])
        self._program.store(index, self._pairs.order, [i])

    def sort(self) -> None:
        """Sort each tile, by merges of runs that ascend and descend in turns."""
        program = self._program
        steps = program.extent(self._steps)
        for stage in range(self._tile.bit_length() - 1):
            # A merge is a loop: the code of all of them would be long.
            with program.loop("step", program.extent(0), program.extent(stage + 1)) as s:
                distance = program.extent(stage) - s
                with program.loop("u", program.extent(0), steps) as number:
                    self._exchange(number * self._threads + self._thread, stage, distance)
                program.barrier()

    def _exchange(self, pair: Expr, stage: int, distance: Expr) -> None:
        """Order two pairs that are `1 << distance` apart, in a run of `2 << stage`."""
        program = self._program
        stride = program.extent(1).call("shift_left", distance)
        low = pair + pair.call("shift_right", distance).call("shift_left", distance)
        high = low + stride
        first, second = self.get(low), self.get(high)
        is_wrong = self._goes_before(second, first)
        if 2 << stage < self._tile:
            ascends = (low // (2 << stage) % 2).equals(0)
            is_wrong = program.select(ascends, is_wrong, ~is_wrong)
        with program.when(is_wrong):
            self.put(low, *second)
            self.put(high, *first)
