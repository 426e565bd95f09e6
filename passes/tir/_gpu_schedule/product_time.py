"""A model of the time of the kernel of a product, by which its tile is chosen.

A block of threads computes a tile of the result in steps of some terms. A step of a block
takes `step` cycles of a multiprocessor, those of the unit that needs most, and a quarter
of those of the others, which are not hidden:

- `products`: multiply-adds of the tensor cores, or of threads;
- `shared`: what is copied to shared memory, and what warps read of it;
- `issue`: instructions;
- `cache`: what is copied of the operands, from the second-level cache.

A multiprocessor holds some blocks at a time, as many as its registers, shared memory and
warps allow, which share it: a step of `n` blocks takes `n * step` cycles, but no less
than `ahead`, as a copy has to arrive before the ring of stages has turned. The
multiprocessor with most blocks has them in groups of as many as it holds. So

    time = sum over groups of (steps * max(n * step, ahead) + latency + n * end)

where `end` is the stores of results. Where terms are split over several blocks, the sums
are stored, and a second kernel reads them. The rates are those of
`analysis/gpu_rates.py`; nothing was timed.

With an extent that is not known, there is no count of blocks, and the tile is the middle
one of its table (`symbolic_tile`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf
from typing import Final

from xdsl_tvm.analysis.gpu_rates import (
    CACHE_BYTES,
    GPUS,
    QUARTERS,
    SHARED_BYTES,
    WARP,
    GPURates,
    occupancy,
)

_LATENCY: Final = 800
"""Cycles from a load of memory to its use."""
_UNHIDDEN: Final = 1 / 4
"""Of the cycles of units that do not bound a step."""
_LAUNCH: Final = 3000
"""Cycles that a second kernel takes beside what it moves."""
_OTHERS: Final = 40
"""Instructions of a warp in a step that compute addresses, wait, and count."""
_SUM_BYTES: Final = 4
_FRAGMENT_ROWS: Final = 16
_FRAGMENT_COLUMNS: Final = 8
_FRAGMENT_BYTES: Final = 32
"""Bytes of the terms of one product of tensor cores."""
_MATRICES_BYTES: Final = 512
"""What an instruction of a warp loads for tensor cores, or copies by 16 bytes a lane."""
_WORD: Final = 4
"""Elements of a line that a thread reads at once."""
_GROUP_ROWS: Final = 64


@dataclass(frozen=True)
class Tile:
    """A candidate: what a block computes, and what its threads need."""

    rows: int
    columns: int
    threads: int
    registers: int
    """At most so many a thread, on all architectures and of all types of elements."""
    spilled_for: tuple[str, ...] = ()
    """The architectures for which `ptxas` spills some of them, in kernels that need more
    than others of the tile, so that a multiprocessor holds one block more."""


WARP_TILES: Final = (
    Tile(128, 128, 128, 216),
    Tile(128, 64, 128, 128),
    Tile(64, 128, 128, 128),
    Tile(64, 64, 128, 80, spilled_for=("sm_80", "sm_90")),
    Tile(64, 32, 128, 64),
    Tile(32, 64, 128, 64),
    Tile(32, 32, 128, 56),
)
"""Tiles of four warps with `ptx_mma`."""
THREAD_TILES: Final = (
    Tile(128, 128, 256, 216),
    Tile(128, 64, 256, 128),
    Tile(64, 128, 256, 128, spilled_for=("sm_80",)),
    Tile(64, 64, 256, 80),
    Tile(64, 32, 256, 64),
    Tile(32, 64, 256, 64),
    Tile(32, 32, 256, 56),
)
"""Tiles of threads that multiply and add."""
GROUP_TILES: Final = (
    Tile(128, 256, 384, 168),
    Tile(128, 128, 384, 96),
    Tile(128, 64, 384, 64),
    Tile(64, 256, 256, 168),
    Tile(64, 128, 256, 96),
    Tile(64, 64, 256, 64),
)
"""Tiles of warpgroups, one of which copies."""


@dataclass(frozen=True)
class ProductSizes:
    """What the time of a product depends on."""

    rows: int
    columns: int
    terms: int
    batch: int
    depth: int
    """Terms of a step."""
    size: int
    """Bytes of an element of the operands."""
    result: int
    """Bytes of an element of the result."""
    stages: int
    """Tiles of an operand in shared memory; 1 if copies are waited for."""


@dataclass(frozen=True)
class ProductTime:
    """The terms of the model for a tile, in cycles where nothing else is said."""

    tile: Tile
    splits: int
    blocks: int
    """How many there are, those of split terms included."""
    held: int
    """How many a multiprocessor holds at a time, 0 if one is too large for it."""
    steps: int
    """Of a block."""
    units: Mapping[str, float]
    """Cycles of each unit for a step of a block."""
    ahead: float
    """Least cycles of a step: those of the copies for later ones."""
    end: float
    """Cycles of the stores of a block."""
    most: int
    """Blocks of the multiprocessor that has most."""
    second: float
    """Of the kernel that adds split sums."""

    @property
    def bound(self) -> str:
        """The unit that needs most."""
        return max(self.units, key=lambda each: self.units[each])

    @property
    def step(self) -> float:
        """Cycles for a step of a block, if there are enough."""
        most = self.units[self.bound]
        return most + _UNHIDDEN * (sum(self.units.values()) - most)

    def _group(self, blocks: int) -> float:
        """Cycles of a multiprocessor for so many blocks at a time."""
        step = max(blocks * self.step, self.ahead)
        return self.steps * step + _LATENCY + blocks * self.end

    @property
    def cycles(self) -> float:
        """Of the kernel, or of both; infinite where it cannot run."""
        if not self.held:
            return inf
        whole, rest = divmod(self.most, self.held)
        total = whole * self._group(self.held) + (self._group(rest) if rest else 0.0)
        return total + self.second


class TimeModel:
    """The time of products of warps with `ptx_mma` on a GPU."""

    TILES: tuple[Tile, ...] = WARP_TILES

    def __init__(self, gpu: GPURates, multiprocessors: int) -> None:
        self.gpu = gpu
        self.multiprocessors = multiprocessors

    def tiles_within(self, most: int) -> Sequence[Tile]:
        """The candidates of at most so many rows and columns, or one of so many."""
        fit = [each for each in self.TILES if max(each.rows, each.columns) <= most]
        return fit or [replace(self.TILES[-1], rows=most, columns=most)]

    def symbolic_tile(self, most: int) -> Tile:
        """The candidate where an extent is not known: 64 by 64 or less.

        It takes at most 1.5 times as long as the largest where there are many blocks, and
        multiplies a quarter of the zeros of that where there are few rows.
        """
        return max(
            (each for each in self.tiles_within(most) if self._is_middle(each)),
            key=lambda each: each.rows * each.columns,
            default=self.tiles_within(most)[-1],
        )

    def _is_middle(self, tile: Tile) -> bool:
        return tile.rows == tile.columns <= _GROUP_ROWS

    def of(self, tile: Tile, sizes: ProductSizes, splits: int = 1) -> ProductTime:
        """The time with a tile, and with terms split over so many blocks."""
        down, across = -(-sizes.rows // tile.rows), -(-sizes.columns // tile.columns)
        blocks = down * across * sizes.batch * splits
        steps = -(-sizes.terms // sizes.depth) // splits
        units = self.units_of(tile, sizes)
        shared = sizes.stages * (tile.rows + tile.columns) * sizes.depth * sizes.size
        held = occupancy(self.gpu, tile.registers, shared, tile.threads).blocks
        ahead = _LATENCY / (sizes.stages - 1) if sizes.stages > 1 else 0.0
        if sizes.stages == 1:
            # What is copied is waited for, and then multiplied.
            ahead = _LATENCY + max(units.values())
        stored = sizes.result if splits == 1 else _SUM_BYTES
        end = tile.rows * tile.columns * stored / CACHE_BYTES
        second = 0.0
        if splits > 1:
            moved = sizes.rows * sizes.columns * sizes.batch * splits * _SUM_BYTES
            second = _LAUNCH + moved / (CACHE_BYTES * self.multiprocessors)
        most = -(-blocks // self.multiprocessors)
        return ProductTime(
            tile, splits, blocks, held, steps, units, ahead, end, most, second
        )

    def units_of(self, tile: Tile, sizes: ProductSizes) -> dict[str, float]:
        """Cycles of each unit for a step of a block."""
        gpu, bytes_of_terms = self.gpu, sizes.depth * sizes.size
        own, warps = _of_warp(tile)
        read = sum(own) * bytes_of_terms
        products = own[0] / _FRAGMENT_ROWS * own[1] / _FRAGMENT_COLUMNS
        products *= bytes_of_terms / _FRAGMENT_BYTES
        copied = (tile.rows + tile.columns) * bytes_of_terms
        issued = products + (read + copied / warps) / _MATRICES_BYTES + _OTHERS
        rate = gpu.tensor * gpu.sync_share * 2 / sizes.size
        return {
            "products": tile.rows * tile.columns * sizes.depth / rate,
            "shared": (warps * read + copied) / SHARED_BYTES,
            "issue": warps * issued / QUARTERS,
            "cache": copied / CACHE_BYTES,
        }

    def least_blocks(self, tile: Tile) -> int:
        """How many blocks a multiprocessor is to hold at least, of a kernel that needs
        more registers than others of the tile: as many as those of the tile allow.

        0 where `ptxas` chooses well by itself.
        """
        if self.gpu not in [GPUS[arch] for arch in tile.spilled_for]:
            return 0
        return occupancy(self.gpu, tile.registers, 0, tile.threads).blocks

    def best(
        self, sizes: ProductSizes, candidates: Sequence[tuple[Tile, int]]
    ) -> ProductTime:
        """The least time of tiles and numbers of splits; the larger tile of two.

        The smallest tile if a multiprocessor holds none.
        """
        times = [self.of(tile, sizes, splits) for tile, splits in candidates]

        def cost(each: ProductTime) -> tuple[float, int]:
            area = _area(each.tile)
            return each.cycles, -area if each.held else area

        return min(times, key=cost)


def _area(tile: Tile) -> int:
    return tile.rows * tile.columns


def _of_warp(tile: Tile) -> tuple[tuple[int, int], int]:
    """Rows and columns of a warp, of which two share each side that allows it."""
    down, across = (min(side // _FRAGMENT_ROWS, 2) for side in (tile.rows, tile.columns))
    return (tile.rows // down, tile.columns // across), down * across


class ThreadModel(TimeModel):
    """The time of products of threads, as many rows of them as there are columns."""

    TILES = THREAD_TILES

    def units_of(self, tile: Tile, sizes: ProductSizes) -> dict[str, float]:
        warps, side = tile.threads // WARP, 1 << (tile.threads.bit_length() // 2)
        rows, columns = tile.rows * side // tile.threads, tile.columns // side
        added = rows * columns * sizes.depth
        # The lanes of a warp read few lines of A, which takes a cycle, and many of B.
        words = sizes.depth / _WORD
        lines = max(1.0, min(side, WARP) * _WORD * _SUM_BYTES / SHARED_BYTES)
        copied = (tile.rows + tile.columns) * sizes.depth * sizes.size
        issued = added + words * (rows + columns) + _OTHERS
        issued += copied / warps / _MATRICES_BYTES
        return {
            "products": tile.rows * tile.columns * sizes.depth / self.gpu.f32,
            "shared": warps * words * (rows + lines * columns) + copied / SHARED_BYTES,
            "issue": warps * issued / QUARTERS,
            "cache": copied / CACHE_BYTES,
        }


class GroupModel(TimeModel):
    """The time of products of warpgroups."""

    TILES = GROUP_TILES

    def _is_middle(self, tile: Tile) -> bool:
        return tile.rows == tile.columns

    def units_of(self, tile: Tile, sizes: ProductSizes) -> dict[str, float]:
        bytes_of_terms = sizes.depth * sizes.size
        groups = tile.rows // _GROUP_ROWS
        copied = (tile.rows + tile.columns) * bytes_of_terms
        read = groups * (_GROUP_ROWS + tile.columns) * bytes_of_terms
        return {
            "products": tile.rows * tile.columns * sizes.depth / self.gpu.tensor,
            "shared": (read + copied) / SHARED_BYTES,
            "issue": groups * _OTHERS,
            "cache": copied / CACHE_BYTES,
        }


def clipped(
    tile: Tile, rows: float | None, columns: float | None, least: tuple[int, int]
) -> Tile:
    """The tile, with at most as many rows and columns as the least powers of two that
    hold those of a product."""

    def side(own: int, extent: float | None, fewest: int) -> int:
        while extent is not None and own > fewest and own // 2 >= extent:
            own //= 2
        return own

    return replace(
        tile,
        rows=side(tile.rows, rows, least[0]),
        columns=side(tile.columns, columns, least[1]),
    )
