"""Scans by threads: a block of threads scans a tile, tiles are joined by their totals.

A thread scans some elements that follow each other; a tree of the totals of the threads
(Brent and Kung) is in shared memory. So elements are combined in their order, but in
groups: results of floats are rounded differently from those of a loop.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from xdsl.ir import Attribute

from xdsl_tvm.dialects import relax, tir
from xdsl_tvm.dialects.relax.reductions import ScanOp
from xdsl_tvm.passes.relax._thread_kernels.program import (
    Sizes,
    ThreadProgram,
    ceildiv,
    power_of_two,
    product,
)
from xdsl_tvm.passes.relax.legalize.extents import times
from xdsl_tvm.passes.relax.legalize.registry import NoStagesError, RuleContext
from xdsl_tvm.passes.relax.legalize.stages import accumulator_type, unflatten
from xdsl_tvm.passes.relax.legalize.tensor_expression import (
    PRODUCT,
    SUM,
    Dim,
    Expr,
    Reducer,
    Tensor,
)


@dataclass(frozen=True)
class Prefix:
    """What a thread knows of the scan of a tile."""

    before: Expr
    """The elements of the tile that are before those of the thread, combined."""
    own: Tensor
    """The elements of the thread, each combined with those before it."""
    total: Expr
    """All elements of the tile, combined."""


class TileScan:
    """Scans of tiles by the threads of a block, for which it allocates memory.

    A block has `together` tiles, each with threads of its own.
    """

    def __init__(
        self,
        program: ThreadProgram,
        reducer: Reducer,
        dtype: Attribute,
        thread: Expr,
        threads: int,
        each: int,
        together: int = 1,
    ) -> None:
        self._program, self._reducer, self._dtype = program, reducer, dtype
        self._thread, self._each = thread, each
        self._threads = threads
        self._team = threads // together
        self._sums = program.scoped("sums", [threads], dtype, "shared")
        self._own = program.scoped("own", [each], dtype, "local")
        self._last = program.scoped("last", [1], dtype, "local")

    def identity(self) -> Expr:
        """What combines to the other."""
        return self._program.constant(self._reducer.identity(self._dtype), self._dtype)

    def scan(self, element: Callable[[Expr], Expr]) -> Prefix:
        """The scan of `element` of the numbers below `each`, of all threads.

        After it, `barrier` is needed before the next one.
        """
        program, sums, thread = self._program, self._sums, self._thread
        zero = program.extent(0)
        program.store(self.identity(), self._last, [zero])
        with program.unrolled("u", self._each) as number:
            after = self._reducer.combine(self._last[zero], element(number))
            program.store(after, self._last, [zero])
            program.store(after, self._own, [number])
        program.store(self._last[zero], sums, [thread])
        program.barrier()
        self._tree()
        rank = thread % self._team
        start = thread - rank
        before = program.if_then_else(rank > 0, lambda: sums[thread - 1], self.identity)
        return Prefix(before, self._own, sums[start + (self._team - 1)])

    def _tree(self) -> None:
        """Let the entry of each thread combine those of its team up to it."""
        program, sums, thread = self._program, self._sums, self._thread
        levels = self._team.bit_length() - 1
        for level in range(levels):
            stride = 1 << level
            with program.when(thread < self._threads // (2 * stride)):
                last = thread * (2 * stride) + (2 * stride - 1)
                found = self._reducer.combine(sums[last - stride], sums[last])
                program.store(found, sums, [last])
            program.barrier()
        for level in reversed(range(levels - 1)):
            stride = 1 << level
            with program.when(thread < self._threads // (2 * stride)):
                source = thread * (2 * stride) + (2 * stride - 1)
                with program.when((source % self._team) < self._team - 1):
                    target = source + stride
                    found = self._reducer.combine(sums[source], sums[target])
                    program.store(found, sums, [target])
            program.barrier()


def scan(op: ScanOp, site: RuleContext, sizes: Sizes) -> Tensor:
    """Each element combined with those before it in its row."""
    return _Scanner(op, site, sizes).write()


class _Scanner:
    """The launches that scan the rows of the operand."""

    def __init__(self, op: ScanOp, site: RuleContext, sizes: Sizes) -> None:
        self._program = program = ThreadProgram.of(site)
        self._x, self._dtype = site.tensor(0), site.dtype
        if tir.is_bool(self._x.dtype) or tir.is_bool(self._dtype) or not self._x.shape:
            raise NoStagesError
        self._name, self._reducer = (
            ("cumsum", SUM) if isinstance(op, relax.CumsumOp) else ("cumprod", PRODUCT)
        )
        self._wide = accumulator_type(self._dtype)
        self._is_exclusive = op.exclusive is not None
        self._is_flat = op.axis is None
        self._others = () if self._is_flat else self._x.shape[:-1]
        self._length = site.shape[-1]
        self._rows = product(program, self._others)
        self._found = program.memory(self._name, site.shape, self._dtype)
        self._each = max(sizes.tile // sizes.threads, 1)
        n = self._length
        team = sizes.threads
        if isinstance(n, int):
            team = min(team, power_of_two(-(-n // self._each)))
        self._team = team
        self._tile = team * self._each
        self._threads = sizes.threads

    def _at(self, row: Expr, place: Expr) -> tuple[tuple[Expr, ...], tuple[Expr, ...]]:
        """The indices in the operand and in the result."""
        if self._is_flat:
            return unflatten(self._program, place, self._x.shape), (place,)
        at = (*unflatten(self._program, row, self._others), place)
        return at, at

    def write(self) -> Tensor:
        """Write the launches; gives the result."""
        program = self._program
        chunks = ceildiv(program, self._length, self._tile)
        if chunks == 1:
            self._scan_tiles(chunks, None)
            return self._found
        totals = program.memory("totals", (self._rows, chunks), self._wide)
        self._add_up_tiles(chunks, totals)
        self._scan_totals(chunks, totals)
        self._scan_tiles(chunks, totals)
        return self._found

    def _element(self, row: Expr, place: Expr, is_inside: Expr, identity: Expr) -> Expr:
        source, _ = self._at(row, place)
        return self._program.if_then_else(
            is_inside,
            lambda: self._x[source].cast(self._dtype).cast(self._wide),
            lambda: identity,
        )

    def _add_up_tiles(self, chunks: Dim, totals: Tensor) -> None:
        """The total of each tile."""
        program = self._program
        blocks = times(program, self._rows, chunks)
        with program.launch("totals", blocks, self._team) as (block, thread):
            scan = self._tile_scan(thread, self._team)
            row, chunk = self._split(block, chunks)
            first = chunk * self._tile + thread * self._each
            identity = scan.identity()

            def element(number: Expr) -> Expr:
                place = first + number
                is_inside = place < program.extent(self._length)
                return self._element(row, place, is_inside, identity)

            total = scan.scan(element).total
            with program.when(thread.equals(0)):
                program.store(total, totals, [row, chunk])

    def _split(self, block: Expr, chunks: Dim) -> tuple[Expr, Expr]:
        """The row and the tile of a block."""
        if self._rows == 1:
            return self._program.extent(0), block
        parts = self._program.extent(chunks)
        return block // parts, block % parts

    def _tile_scan(self, thread: Expr, threads: int, together: int = 1) -> TileScan:
        return TileScan(
            self._program,
            self._reducer,
            self._wide,
            thread,
            threads,
            self._each,
            together,
        )

    def _scan_totals(self, chunks: Dim, totals: Tensor) -> None:
        """What is before each tile, in the place of its total."""
        program, team, each = self._program, self._team, self._each
        with program.launch("before", self._rows, team) as (row, thread):
            scan = self._tile_scan(thread, team)
            carry = program.scoped("carry", [1], self._wide, "local")
            zero = program.extent(0)
            program.store(scan.identity(), carry, [zero])
            parts = program.extent(ceildiv(program, chunks, self._tile))
            with program.loop("part", zero, parts) as part:
                first = part * self._tile + thread * each
                identity = scan.identity()

                def element(number: Expr) -> Expr:
                    place = first + number
                    return program.if_then_else(
                        place < program.extent(chunks),
                        lambda: totals[row, place],
                        lambda: identity,
                    )

                prefix = scan.scan(element)
                before = self._reducer.combine(carry[zero], prefix.before)
                after = self._reducer.combine(carry[zero], prefix.total)
                with program.unrolled("u", each) as number:
                    place = first + number
                    with program.when(place < program.extent(chunks)):
                        found = self._up_to(prefix, before, number, True)
                        program.store(found, totals, [row, place])
                program.store(after, carry, [zero])
                program.barrier()

    def _up_to(
        self, prefix: Prefix, before: Expr, number: Expr, is_exclusive: bool
    ) -> Expr:
        """The elements up to one of a thread, combined; that one too, or not."""
        program = self._program
        if not is_exclusive:
            return self._reducer.combine(before, prefix.own[number])
        return program.if_then_else(
            number > 0,
            lambda: self._reducer.combine(before, prefix.own[number - 1]),
            lambda: before,
        )

    def _scan_tiles(self, chunks: Dim, totals: Tensor | None) -> None:
        """The results, given what is before each tile."""
        program, each = self._program, self._each
        rows = self._rows
        together = 1 if totals is not None else self._threads // self._team
        if isinstance(rows, int):
            together = min(together, power_of_two(rows))
        threads = together * self._team
        blocks, columns = ceildiv(program, rows, together), None
        if totals is not None:
            blocks, columns = (chunks, None) if rows == 1 else (rows, chunks)
        with program.launch(self._name, blocks, threads, columns) as numbers:
            block, thread = numbers[0], numbers[-1]
            scan = self._tile_scan(thread, threads, together)
            row, chunk, rank = block, program.extent(0), thread
            if together > 1:
                row, rank = block * together + thread // self._team, thread % self._team
            elif totals is not None:
                row, chunk = (chunk, block) if rows == 1 else (block, numbers[1])
            first = rank * each
            if totals is not None:
                first = chunk * self._tile + first
            identity = scan.identity()

            def inside(place: Expr) -> Expr:
                found = place < program.extent(self._length)
                if together == 1 or (isinstance(rows, int) and rows % together == 0):
                    return found
                return (row < program.extent(rows)) & found

            def element(number: Expr) -> Expr:
                place = first + number
                return self._element(row, place, inside(place), identity)

            prefix = scan.scan(element)
            before = prefix.before
            if totals is not None:
                before = self._reducer.combine(totals[row, chunk], before)
            with program.unrolled("u", each) as number:
                place = first + number
                with program.when(inside(place)):
                    found = self._up_to(prefix, before, number, self._is_exclusive)
                    _, at = self._at(row, place)
                    program.store(found.cast(self._dtype), self._found, at)
