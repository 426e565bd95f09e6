"""What the lanes of a warp do together with matrices.

A fragment of `wmma.*` or `metal.simdgroup` is opaque: its matrix is, row by row, in the
memory of the lane that comes first, and the others' is left alone. The registers of
`ptx_mma` and `ptx_ldmatrix` are elements of each lane's own memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from xdsl_tvm.interpreters.data.memory import Pointer
from xdsl_tvm.interpreters.errors import (
    DivergenceError,
    SimulationError,
    UninitializedReadError,
)
from xdsl_tvm.interpreters.gpu import fragments as _fragments
from xdsl_tvm.interpreters.gpu.bank_conflicts import Request
from xdsl_tvm.interpreters.gpu.fragments import LANES, Array, Format, Places, Product
from xdsl_tvm.interpreters.gpu.grid_memory import GridMemory
from xdsl_tvm.interpreters.gpu.raw_access import Access

_STEP_BITS = 128
"""What the distance of rows of elements of less than 8 bits is a multiple of."""
_ROW_BYTES = 16
"""Of a row of the 8 by 8 matrices that `ptx_ldmatrix` loads."""


def _agree(
    grid: GridMemory, threads: Sequence[int], operands: Sequence[Sequence[Any]], what: str
) -> tuple[Any, ...]:
    """What all lanes give. Raises DivergenceError naming two that differ."""
    first = operands[0]
    for thread, values in zip(threads, operands, strict=True):
        for ours, theirs in zip(first, values, strict=True):
            if ours != theirs and not (ours != ours and theirs != theirs):
                raise DivergenceError(
                    f"{grid.name(threads[0])} and {grid.name(thread)} disagree about "
                    f"{what}: {_shown(ours)} and {_shown(theirs)}"
                )
    return tuple(first)


def _shown(value: Any) -> object:
    return f"byte {value.offset}" if isinstance(value, Pointer) else value


# ---- opaque fragments ----


@dataclass(frozen=True)
class Tile:
    """What is known of a fragment: its shape, that of its product, how it was loaded."""

    rows: int
    columns: int
    product: tuple[int, int, int]


@dataclass(frozen=True, eq=False)
class Fragments:
    """The fragments at a pointer."""

    access: Access
    kind: str

    def tile(self, product: tuple[int, int, int]) -> Tile:
        """The shape of one of them, for products of m, n and k."""
        m, n, k = product
        shapes = {"matrix_a": (m, k), "matrix_b": (k, n)}
        return Tile(*shapes.get(self.kind, (m, n)), product)

    def find(self, grid: GridMemory, pointer: Pointer, index: int) -> Tile:
        """The fragment at `index`. Raises UninitializedReadError if it has no value."""
        tile: Tile | None = grid.tiles.get((pointer.memory, pointer.offset, index))
        if tile is None:
            raise UninitializedReadError(
                f"fragment {index} of {self.kind} is used, but was never filled or loaded"
            )
        return tile

    def get(self, grid: GridMemory, pointer: Pointer, index: int, tile: Tile) -> Array:
        """The matrix of a fragment."""
        places = self._places(index, tile)
        return self.access.read(grid, pointer, places).reshape(tile.rows, tile.columns)

    def set(
        self, grid: GridMemory, pointer: Pointer, index: int, tile: Tile, matrix: Array
    ) -> None:
        """Give a fragment a value."""
        self.access.write(grid, pointer, self._places(index, tile), matrix.ravel())
        grid.tiles[pointer.memory, pointer.offset, index] = tile

    def _places(self, index: int, tile: Tile) -> Array:
        count = tile.rows * tile.columns
        return np.arange(index * count, (index + 1) * count)


@dataclass(frozen=True, eq=False)
class FillFragment:
    """`tvm_fill_fragment`: operands are fragment, index and value."""

    fragments: Fragments
    tile: Tile

    def __call__(
        self, grid: GridMemory, threads: Sequence[int], operands: list[tuple[Any, ...]]
    ) -> None:
        pointer = operands[0][0]
        values = [rest for _, *rest in operands]
        index, value = _agree(grid, threads, values, "index and value")
        matrix = np.full(
            (self.tile.rows, self.tile.columns),
            value,
            self.fragments.access.element.storage,
        )
        self.fragments.set(grid, pointer, index, self.tile, matrix)


@dataclass(frozen=True, eq=False)
class MoveFragment:
    """Loads and stores: operands are fragment, index, pointer and stride.

    With `packed`, memory is words of 32 bits, each of several elements of that format.
    """

    fragments: Fragments
    tile: Tile
    memory: Access
    by_columns: bool
    loads: bool
    packed: Format | None = None

    def __call__(
        self, grid: GridMemory, threads: Sequence[int], operands: list[tuple[Any, ...]]
    ) -> None:
        fragment = operands[0][0]
        index, pointer, stride = _agree(
            grid, threads, [rest for _, *rest in operands], "index, memory and stride"
        )
        tile = self.tile
        rows, columns = np.indices((tile.rows, tile.columns))
        if self.by_columns:
            rows, columns = columns, rows
        places = (rows * stride + columns).ravel()
        grid.turn_warp(threads[0])
        if self.packed is not None and stride % (_STEP_BITS // self.packed.bits):
            raise SimulationError(
                f"rows or columns are {stride} elements apart, not a multiple of "
                f"{_STEP_BITS // self.packed.bits}"
            )
        if self.loads:
            values = self._loaded(grid, pointer, places)
            matrix = values.reshape(tile.rows, tile.columns)
            self.fragments.set(grid, fragment, index, tile, matrix)
            return
        known = self.fragments.find(grid, fragment, index)
        if known != tile:
            raise SimulationError(
                f"fragment {index} is one of products {known.product}, not of "
                f"{tile.product}"
            )
        values = self.fragments.get(grid, fragment, index, tile)
        self.memory.write(grid, pointer, places, values.ravel())

    def _loaded(self, grid: GridMemory, pointer: Pointer, places: Array) -> Array:
        """The elements at some places in memory."""
        if self.packed is None:
            return self.memory.read(grid, pointer, places)
        words, shifts = np.divmod(places, 32 // self.packed.bits)
        found = self.memory.read(grid, pointer, words).astype(np.int64)
        return self.packed.narrow(found >> shifts * self.packed.bits)


@dataclass(frozen=True, eq=False)
class MultiplyFragments:
    """`d = a * b + c`: operands are four pairs of fragment and index."""

    d: Fragments
    a: Fragments
    b: Fragments
    c: Fragments
    operator: str | None

    def __call__(
        self, grid: GridMemory, threads: Sequence[int], operands: list[tuple[Any, ...]]
    ) -> None:
        di, ai, bi, ci = _agree(
            grid, threads, [one[1::2] for one in operands], "the indices of fragments"
        )
        d, a, b, c = operands[0][::2]
        sources = ((self.a, a, ai), (self.b, b, bi), (self.c, c, ci))
        tiles = [kind.find(grid, memory, index) for kind, memory, index in sources]
        products = {tile.product for tile in tiles}
        if len(products) > 1:
            raise SimulationError(
                "fragments of different products are multiplied: "
                f"{', '.join(str(tile.product) for tile in tiles)}"
            )
        left, right, start = (
            kind.get(grid, memory, index, tile)
            for (kind, memory, index), tile in zip(sources, tiles, strict=True)
        )
        total = _fragments.multiply(left, right, start, self.operator)
        self.d.set(grid, d, di, tiles[2], total)


# ---- registers ----


@dataclass(frozen=True, eq=False)
class Registers:
    """An operand in the registers of the lanes."""

    access: Access
    format: Format
    places: Places

    @property
    def count(self) -> int:
        """Elements of a lane."""
        return self.places[0].shape[1]

    def get(self, grid: GridMemory, pointer: Pointer) -> Array:
        """The elements of the lane whose turn it is."""
        element = self.access.element
        if not element.is_float and element.bits == self.format.bits < 8:
            values = self.access.read(grid, pointer, np.arange(self.count))
            return self.format.narrow(values)
        data = self.access.read_bytes(grid, pointer, self.count * self.format.bits // 8)
        return self.format.unpack(data, self.count)

    def gather(
        self, grid: GridMemory, threads: Sequence[int], pointers: Sequence[Pointer]
    ) -> Array:
        """The elements of all lanes, by lane and element."""
        found: list[Array] = []
        for thread, pointer in zip(threads, pointers, strict=True):
            grid.turn(thread)
            found.append(self.get(grid, pointer))
        return np.stack(found)


@dataclass(frozen=True, eq=False)
class MultiplyRegisters:
    """`ptx_mma`, `ptx_mma_sp`: operands are A, B, C, saturate, metadata, selector."""

    product: Product
    a: Registers
    b: Registers
    c: Registers
    metadata: Access | None = None

    def __call__(
        self, grid: GridMemory, threads: Sequence[int], operands: list[tuple[Any, ...]]
    ) -> None:
        saturate, selector = _agree(
            grid, threads, [(one[3], one[5]) for one in operands], "how to multiply"
        )
        a, b, c = [
            registers.gather(grid, threads, [one[position] for one in operands])
            for position, registers in enumerate((self.a, self.b, self.c))
        ]
        if self.product.in_quads:
            result = self._multiply_quads(a, b, c)
        else:
            words = self._words(grid, threads, [one[4] for one in operands])
            result = self._multiply(a, b, c, words, selector, saturate=saturate)
        for lane, thread in enumerate(threads):
            grid.turn(thread)
            self.c.access.write_bytes(grid, operands[lane][2], result[lane].tobytes())

    def _words(
        self, grid: GridMemory, threads: Sequence[int], pointers: Sequence[Pointer]
    ) -> list[int]:
        if self.metadata is None:
            return []
        words: list[int] = []
        for thread, pointer in zip(threads, pointers, strict=True):
            grid.turn(thread)
            data = self.metadata.read_bytes(grid, pointer, 4)
            words.append(int.from_bytes(data, "little"))
        return words

    def _multiply(
        self,
        a: Array,
        b: Array,
        c: Array,
        words: Sequence[int],
        selector: int,
        *,
        saturate: bool,
    ) -> Array:
        m, n, k = self.product.shape
        left = np.zeros((m, k // 2 if words else k), a.dtype)
        right, start = np.zeros((k, n), b.dtype), np.zeros((m, n), c.dtype)
        left[self.a.places], right[self.b.places], start[self.c.places] = a, b, c
        if words:
            left = _fragments.expand(left, words, selector, self.product.a)
        total = _fragments.multiply(
            left, right, start, self.product.operator, saturate=saturate
        )
        return total[self.c.places]

    def _multiply_quads(self, a: Array, b: Array, c: Array) -> Array:
        result = np.empty_like(c)
        for group in range(4):
            lanes = np.flatnonzero(np.arange(LANES) % 16 // 4 == group)
            left, right = np.zeros((8, 4), a.dtype), np.zeros((4, 8), b.dtype)
            start = np.zeros((8, 8), c.dtype)
            for matrix, values, registers in (
                (left, a, self.a),
                (right, b, self.b),
                (start, c, self.c),
            ):
                rows, columns = registers.places
                matrix[rows[lanes], columns[lanes]] = values[lanes]
            rows, columns = self.c.places
            total = _fragments.multiply(left, right, start)
            result[lanes] = total[rows[lanes], columns[lanes]]
        return result


@dataclass(frozen=True, eq=False)
class LoadMatrices:
    """`ptx_ldmatrix` of `count` matrices: operands are registers and shared memory."""

    local: Access
    shared: Access
    count: int
    transposed: bool

    def __call__(
        self, grid: GridMemory, threads: Sequence[int], operands: list[tuple[Any, ...]]
    ) -> None:
        matrices = np.zeros((self.count, 8, 8), np.uint16)
        for lane in range(8 * self.count):
            pointer: Pointer = operands[lane][1]
            grid.turn(threads[lane])
            if pointer.offset % _ROW_BYTES:
                raise SimulationError(
                    f"a row of a matrix begins at byte {pointer.offset}, not at a "
                    f"multiple of {_ROW_BYTES}"
                )
            grid.turn_warp(threads[lane])
            data = self.shared.read_bytes(grid, pointer, _ROW_BYTES)
            matrices[lane // 8, lane % 8] = np.frombuffer(data, np.uint16)
        if grid.banks is not None and self.shared.bank_site is not None:
            rows = [operands[lane][1].offset for lane in range(8 * self.count)]
            requests = [Request(lane, row, _ROW_BYTES) for lane, row in enumerate(rows)]
            grid.banks.note_warp(self.shared.bank_site, requests)
        if self.transposed:
            matrices = matrices.transpose(0, 2, 1)
        for lane, thread in enumerate(threads):
            grid.turn(thread)
            first = 2 * (lane % 4)
            registers = matrices[:, lane // 4, first : first + 2]
            self.local.write_bytes(grid, operands[lane][0], registers.tobytes())


@dataclass(frozen=True, eq=False)
class LoadBytes:
    """`ptx_ldmatrix` of transposed bytes: operands are registers, memory and stride."""

    local: Access
    shared: Access

    def __call__(
        self, grid: GridMemory, threads: Sequence[int], operands: list[tuple[Any, ...]]
    ) -> None:
        slot = np.arange(16)
        for lane, thread in enumerate(threads):
            grid.turn(thread)
            target, source, stride = operands[lane]
            row = slot % 8 // 4 * 16 + lane % 4 * 4 + slot % 4
            places = row * stride + lane // 4 + slot // 8 * 8
            values = self.shared.read(grid, source, places)
            self.shared.note_banks(grid, source, places)
            self.local.write(grid, target, slot, values)


@dataclass(frozen=True, eq=False)
class FillRegisters:
    """`mma_fill`: the running thread zeroes `count` elements.

    In memory of a warp those of a lane follow those of the lane before.
    """

    local: Access
    of_warp: bool

    def __call__(self, grid: GridMemory, pointer: Pointer, count: int) -> None:
        start = count * grid.lane if self.of_warp else 0
        self.local.write(grid, pointer, np.arange(start, start + count), 0)


@dataclass(frozen=True, eq=False)
class StoreRegisters:
    """`mma_store`: the running thread writes its 8 elements of a 16 by 16 tile."""

    memory: Access
    local: Access
    of_warp: bool

    def __call__(
        self, grid: GridMemory, target: Pointer, source: Pointer, stride: int
    ) -> None:
        lane = grid.lane
        start = 8 * lane if self.of_warp else 0
        values = self.local.read(grid, source, np.arange(start, start + 8))
        rows, columns = _fragments.store_places()
        places = rows[lane] * stride + columns[lane]
        self.memory.write(grid, target, places, values)
        self.memory.note_banks(grid, target, places)
