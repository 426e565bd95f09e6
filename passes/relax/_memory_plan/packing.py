"""Offsets of blocks of memory, at which no two that are live at the same time overlap.

Finding the smallest arena is NP-hard (dynamic storage allocation), so several greedy
packings are tried and the smallest is taken. Each places the blocks in some order at
the lowest offset, or in the tightest gap, that is free of the blocks placed before that
live at the same time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product as pairs
from typing import TypeAlias

from xdsl_tvm.analysis.relax.live_ranges import most_at_once

_NEIGHBOURS = 256
"""Blocks that are live at the same time as one block, on average: a function with more is
not packed, which keeps the time linear."""

Range: TypeAlias = tuple[int, int]
"""Where a range of offsets ends that blocks do not cross, and where the next begins."""


@dataclass(eq=False)
class Block:
    """Units that a tensor needs, from one time to another, both inclusive."""

    start: int
    end: int
    size: int
    alignment: int
    neighbours: list[Block] = field(default_factory=lambda: [])
    """The blocks that live at the same time."""
    place: int | None = None
    """The offset that it has; None where it may be anywhere."""


def pack(
    blocks: Sequence[Block], ranges: Sequence[Range] = ()
) -> dict[Block, int] | None:
    """Offsets at which no two blocks that live at once overlap: the best that is found.

    Each block is within one of the ranges, the first of which begins at 0, or after
    them. None if too many blocks live at the same time.
    """
    if not _find_neighbours(blocks):
        return None
    least = most_at_once((block.start, block.end, block.size) for block in blocks)
    best: dict[Block, int] | None = None
    placed = {block: block.place for block in blocks if block.place is not None}
    free = [block for block in blocks if block.place is None]
    for order, fit in pairs(_ORDERS, _FITS):
        found = _placed(placed, sorted(free, key=order), fit, ranges)
        if best is None or arena_size(found) < arena_size(best):
            best = found
        if arena_size(best) == least:
            break
    return best


def arena_size(offsets: Mapping[Block, int]) -> int:
    """Where the last block ends."""
    return max((offset + block.size for block, offset in offsets.items()), default=0)


def _find_neighbours(blocks: Sequence[Block]) -> bool:
    """Find what lives at the same time; False if that is too much."""
    budget = _NEIGHBOURS * len(blocks)
    for block in blocks:
        block.neighbours.clear()
    alive = list[Block]()
    for block in sorted(blocks, key=lambda each: each.start):
        alive = [each for each in alive if each.end >= block.start]
        budget -= len(alive)
        if budget < 0:
            return False
        block.neighbours += alive
        for other in alive:
            other.neighbours.append(block)
        alive.append(block)
    return True


_ORDERS: tuple[Callable[[Block], tuple[int, ...]], ...] = (
    lambda block: (-block.size, block.start),
    lambda block: (block.start, -block.size),
    lambda block: (-block.size * (block.end - block.start + 1), block.start),
    lambda block: (block.start - block.end, -block.size),
    lambda block: (-len(block.neighbours), -block.size),
)
"""By size, start, size times life, life, and by how many others live at the same time."""

_Gap: TypeAlias = tuple[int, int | None]
"""An offset at which a block fits, and the bytes that it leaves; None without an end."""


def _lowest(gaps: Sequence[_Gap]) -> int:
    return gaps[0][0]


def _tightest(gaps: Sequence[_Gap]) -> int:
    closed = [(left, offset) for offset, left in gaps if left is not None]
    return min(closed)[1] if closed else gaps[0][0]


_FITS = (_lowest, _tightest)


def _placed(
    placed: Mapping[Block, int],
    blocks: Sequence[Block],
    fit: Callable[[Sequence[_Gap]], int],
    ranges: Sequence[Range],
) -> dict[Block, int]:
    offsets = dict(placed)
    for block in blocks:
        taken = sorted(
            (offsets[other], offsets[other] + other.size)
            for other in block.neighbours
            if other in offsets
        )
        offsets[block] = fit(_gaps(block, taken, ranges))
    return offsets


def _gaps(
    block: Block, taken: Sequence[tuple[int, int]], ranges: Sequence[Range]
) -> list[_Gap]:
    """Where a block fits between taken bytes, which are sorted, and after them."""
    found = list[_Gap]()
    free = _within(0, block.size, ranges)
    for low, high in taken:
        if free + block.size <= low:
            found.append((free, low - free - block.size))
        if high > free:
            free = -(-high // block.alignment) * block.alignment
            free = _within(free, block.size, ranges)
    found.append((free, None))
    return found


def _within(offset: int, size: int, ranges: Sequence[Range]) -> int:
    """The first offset, from one on, at which so many bytes are within one range."""
    for end, following in ranges:
        if offset < following:
            if offset + size <= end:
                break
            offset = following
    return offset
