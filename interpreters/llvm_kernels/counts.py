"""Counts what accesses of memory cost: bank conflicts, and sectors of global memory.

Bank conflicts are those of `interpreters/gpu/bank_conflicts.py`. Global memory moves in
sectors of 32 bytes: an instruction of a warp moves every sector that its lanes touch
once, and at least as many as hold the distinct bytes.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from xdsl.ir import Operation

from xdsl_tvm.interpreters.errors import describe
from xdsl_tvm.interpreters.gpu.bank_conflicts import (
    BANK_BYTES,
    BANKS,
    BankReport,
    BankUse,
)
from xdsl_tvm.interpreters.llvm_kernels.layouts import Array, Mask

SECTOR_BYTES = 32
_LANES = 32


@dataclass(eq=False)
class SectorUse:
    """The accesses of global memory by one operation."""

    op: Operation
    writes: bool
    instructions: int = 0
    """Of warps."""
    sectors: int = 0
    """That they move."""
    least: int = 0
    """That would hold the bytes."""


@dataclass(eq=False)
class AccessCounts:
    """The accesses of all launches, by operation."""

    _banks: dict[Operation, BankUse] = field(default_factory=dict[Operation, BankUse])
    _sectors: dict[Operation, SectorUse] = field(
        default_factory=dict[Operation, SectorUse]
    )

    def shared(
        self, op: Operation, starts: Array, size: int, warps: Array, mask: Mask, kind: str
    ) -> None:
        """Threads access `size` bytes of shared memory from `starts` on.

        `warps` are the threads of each warp, -1 where it has fewer than 32.
        """
        lanes = _LANES * BANK_BYTES // max(BANK_BYTES, size)
        words, valid = _touched(starts, size, BANK_BYTES, warps, mask)
        phases = (len(warps) * _LANES // lanes, -1)
        steps = _bank_steps(words.reshape(phases), valid.reshape(phases))
        use = self._banks.get(op)
        if use is None:
            use = self._banks[op] = BankUse(op, "shared memory", kind != "reads")
        use.instructions += int(valid.reshape(len(warps), -1).any(1).sum())
        use.phases += int((steps > 0).sum())
        use.steps += int(steps.sum())
        use.worst = max(use.worst, int(steps.max(initial=0)))

    def outside(
        self, op: Operation, starts: Array, size: int, warps: Array, mask: Mask, kind: str
    ) -> None:
        """Threads access `size` bytes of global memory from `starts` on."""
        use = self._sectors.get(op)
        if use is None:
            use = self._sectors[op] = SectorUse(op, kind != "reads")
        sectors, valid = _touched(starts, size, SECTOR_BYTES, warps, mask)
        shape = (len(warps), -1)
        valid = valid.reshape(shape)
        moved = _distinct(sectors.reshape(shape), valid)[1].sum(1)
        first, has = _touched(starts, 1, 1, warps, mask)
        distinct = _distinct(first.reshape(shape), has.reshape(shape))[1].sum(1)
        use.instructions += int(valid.any(1).sum())
        use.sectors += int(moved.sum())
        use.least += int((-(-distinct * size // SECTOR_BYTES)).sum())

    def banks(self) -> BankReport:
        """The accesses of shared memory."""
        return BankReport(list(self._banks.values()))

    def lines(self) -> list[str]:
        """The report of bank conflicts, then the accesses of global memory."""
        found = self.banks().lines()
        for use in self.sectors():
            found.append(
                f"global memory: {'writes' if use.writes else 'reads'} {use.sectors} "
                f"sectors of {SECTOR_BYTES} bytes, {use.least} would do: "
                f"{describe(use.op)}"
            )
        return found

    def sectors(self) -> list[SectorUse]:
        """The accesses of global memory, by operation."""
        return list(self._sectors.values())


def _touched(
    starts: Array, size: int, unit: int, warps: Array, mask: Mask
) -> tuple[Array, Array]:
    """The units of `unit` bytes that lanes touch, by warp and lane, and which count."""
    valid = warps >= 0
    if mask is not None:
        valid = valid & mask[warps]
    first = np.broadcast_to(starts, (int(warps.max(initial=0)) + 1,))[warps]
    count = max(1, -(-size // unit))
    units = first[..., None] // unit + np.arange(count)
    inside = units * unit < (first + size)[..., None]
    return units, valid[..., None] & inside


def _distinct(units: Array, valid: Array) -> tuple[Array, Array]:
    """The units of each row in order, and the first one of each value that counts."""
    found = np.sort(np.where(valid, units, -1), axis=1)
    fresh = found >= 0
    fresh[:, 1:] &= found[:, 1:] != found[:, :-1]
    return found, fresh


def _bank_steps(words: Array, valid: Array) -> Array:
    """The largest number of distinct words in one bank, by row."""
    found, fresh = _distinct(words, valid)
    rows = np.arange(len(found))[:, None]
    keys = (rows * BANKS + found % BANKS)[fresh]
    loads = np.bincount(keys, minlength=len(found) * BANKS)
    return loads.reshape(-1, BANKS).max(axis=1, initial=0)
