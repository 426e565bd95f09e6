"""The threads of some blocks of a launch, run together through a kernel's segments."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from xdsl_tvm.interpreters.errors import DivergenceError, StepLimitError, describe
from xdsl_tvm.interpreters.llvm_kernels.copies import Copies
from xdsl_tvm.interpreters.llvm_kernels.counting import PhaseBarriers
from xdsl_tvm.interpreters.llvm_kernels.counts import AccessCounts
from xdsl_tvm.interpreters.llvm_kernels.layouts import Array, Mask, Value, merged
from xdsl_tvm.interpreters.llvm_kernels.memory import Region, Spaces, rows_region
from xdsl_tvm.interpreters.llvm_kernels.products import PendingProducts
from xdsl_tvm.interpreters.llvm_kernels.programs import EXIT, Program, Segment
from xdsl_tvm.interpreters.llvm_kernels.races import Clock
from xdsl_tvm.interpreters.llvm_kernels.warps import WARP

_PARKED = EXIT + 1
_ALL_LANES = (1 << WARP) - 1
_AXES = "xyz"


@dataclass(frozen=True, eq=False)
class LaunchShape:
    """The extents of a launch, and the bytes of dynamic shared memory."""

    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    dynamic_bytes: int = 0


class Team:
    """Threads that run together; see `TeamState` for what operations see of them."""

    def __init__(
        self,
        program: Program,
        shape: LaunchShape,
        blocks: range,
        arrays: Sequence[Region],
        clock: Clock,
        counts: AccessCounts | None,
    ) -> None:
        per_block = prod(shape.block)
        self.program = program
        self.values: list[Value] = list(program.initial)
        self.count = count = per_block * len(blocks)
        numbers = np.arange(count)
        row, thread = numbers // per_block, numbers % per_block
        self.lane = thread % WARP
        self.warp_start = numbers - self.lane
        self._block = row
        self._full_blocks = per_block
        self._shape = shape
        self._thread, self._block_number = thread, row + blocks.start
        clock.begin(blocks.start * per_block, count)
        shared_bytes = program.shared_bytes + shape.dynamic_bytes
        each = -(-per_block // WARP)
        lanes = np.arange(each * WARP)
        warps = np.where(lanes < per_block, lanes, -per_block * len(blocks) - 1)
        starts = np.arange(len(blocks)) * per_block
        found = np.maximum((starts[:, None] + warps).reshape(-1, WARP), -1)
        self.spaces = Spaces(
            count,
            arrays,
            rows_region("shared memory", shared_bytes, len(blocks), row, clock),
            rows_region("local memory", program.local_bytes, count, numbers, None),
            clock,
            found,
            counts,
        )
        self.copies = Copies(self.spaces)
        self.barriers = PhaseBarriers({}, [])
        self.products = PendingProducts(self.count)
        self._registers: dict[str, Array] = {}
        self._together: int | None = 0
        """The segment that all threads are at; None where they are at several."""
        self._at = np.zeros(count, np.int64)
        self._parked = np.zeros(count, np.bool_)

    # ---- what operations see ----

    def jump(self, target: int, mask: Mask) -> None:
        """Send threads to a segment."""
        if mask is None:
            self._together = target
            return
        if self._together is not None:
            self._together = None
        self._at[mask] = target

    def register(self, name: str) -> Array:
        """A special register."""
        found = self._registers.get(name)
        if found is None:
            found = self._registers[name] = self._read(name).astype(np.int32)
        return found

    def _read(self, name: str) -> Array:
        kind, _, axis = name.partition(".")
        match kind:
            case "laneid":
                return self.lane
            case "warpsize":
                return np.array([WARP])
            case "ntid":
                return np.array([self._shape.block[_AXES.index(axis)]])
            case "nctaid":
                return np.array([self._shape.grid[_AXES.index(axis)]])
            case _:
                pass
        if kind == "tid":
            numbers, extents = self._thread, self._shape.block
        else:
            numbers, extents = self._block_number, self._shape.grid
        position = _AXES.index(axis)
        found = numbers // prod(extents[:position]) % extents[position]
        return found[:1] if (found == found[0]).all() else found

    def forget_local(self, start: int, size: int, mask: Mask) -> None:
        """Local memory is allocated anew."""
        local = self.spaces.local
        if local.marks is not None:
            rows = local.marks.reshape(self.count, -1)[:, start : start + size]
            rows[slice(None) if mask is None else mask] = 0

    def lanes_of(self, mask: Mask) -> Array:
        """The bits of the lanes of a mask that are in the warp of each thread."""
        bits = np.int64(1) << self.lane
        return self._sum_by_warp(bits if mask is None else np.where(mask, bits, 0))

    def _sum_by_warp(self, bits: Array) -> Array:
        sums = np.bincount(self.warp_start, bits.astype(np.float64), self.count)
        return sums.astype(np.int64)[self.warp_start]

    # ---- running ----

    def run(self, limit: int) -> int:
        """Run all threads to their end; what is left of the limit of segments.

        Raises StepLimitError, DivergenceError, and what operations raise.
        """
        segments = self.program.segments
        while True:
            number, mask = self._next()
            if number >= EXIT:
                if number == EXIT:
                    return limit
                self._release()
                continue
            limit -= 1
            if limit < 0:
                raise StepLimitError(
                    f"@{self.program.function.sym_name.data}: the step limit is reached; "
                    "raise it, or look for a loop that does not end"
                )
            self._execute(segments[number], mask)

    def _next(self) -> tuple[int, Mask]:
        """The lowest segment at which threads are ready, and these threads."""
        if self._together is not None:
            return self._together, None
        at = np.where(self._parked, _PARKED, self._at)
        ready = at[at != EXIT]
        if not len(ready):
            return EXIT, None
        number = int(ready.min())
        if number == _PARKED:
            return number, None
        mask = at == number
        if mask.all():
            self._together = number
            return number, None
        return number, mask

    def _execute(self, segment: Segment, mask: Mask) -> None:
        values = self.values
        for step, slot, escapes in segment.steps:
            value = step(self, values, mask)
            if slot >= 0:
                if escapes and mask is not None:
                    value = merged(values[slot], value, mask)
                values[slot] = value
        if segment.branch is not None:
            segment.branch(self, values, mask)
        elif mask is None:
            # All threads of all blocks are here.
            self._together = None
            self._at[:] = segment.number
            self._parked[:] = True
            self._release()
        else:
            self._parked |= mask

    # ---- meeting ----

    def _release(self) -> None:
        """Let threads that wait go on. Raises DivergenceError if none can."""
        segments = self.program.segments
        waiting: list[int] = np.unique(self._at[self._parked]).tolist()
        released = False
        for number in waiting:
            sync = segments[number].sync
            if sync is not None and sync.scope != "block":
                here = self._parked & (self._at == number)
                if sync.ready is None:
                    released |= self._release_warps(segments[number], here)
                else:
                    released |= self._release_counted(segments[number], here)
        if released or self._release_blocks(waiting):
            return
        # Counted copies arrive as late as they can.
        if not self.barriers.land(self):
            raise self._divergence()

    def _release_counted(self, segment: Segment, here: Array) -> bool:
        sync = segment.sync
        assert sync is not None
        assert sync.ready is not None
        operands = [self.values[each] for each in segment.sync_slots[0]]
        ready = here & sync.ready(self, here, *operands)
        if ready.any():
            self._meet(segment, ready)
        return bool(ready.any())

    def _release_warps(self, segment: Segment, here: Array) -> bool:
        sync = segment.sync
        assert sync is not None
        present = self._sum_by_warp(np.where(here, np.int64(1) << self.lane, 0))
        if sync.scope == "warp":
            complete = here & (present == _ALL_LANES)
        else:
            slot = segment.sync_slots[0][sync.mask]
            members = np.broadcast_to(
                self.values[slot].view(np.uint32).astype(np.int64), (self.count,)
            )
            self._check_members(segment, here, members)
            alive = self._sum_by_warp(
                np.where(self._at == EXIT, 0, np.int64(1) << self.lane)
            )
            complete = here & ((members & alive & ~present) == 0)
        if not complete.any():
            return False
        self._meet(segment, complete)
        return True

    def _check_members(self, segment: Segment, here: Array, members: Array) -> None:
        """Raises DivergenceError for a mask without its own lane, or of which the first
        lane has another one."""
        assert segment.sync is not None
        op = segment.sync.op
        outside = here & (members >> self.lane & 1 == 0)
        if outside.any():
            name = self.spaces.name(int(np.flatnonzero(outside)[0]))
            raise DivergenceError(f"{op.name}: {name} is not in its own mask", op)
        lowest = members & -members
        first = self.warp_start + np.log2(np.maximum(lowest, 1)).astype(np.int64)
        first = np.minimum(first, self.count - 1)
        differs = here & here[first] & (members[first] != members)
        if differs.any():
            thread = int(np.flatnonzero(differs)[0])
            one, other = (self.spaces.name(int(x)) for x in (thread, first[thread]))
            raise DivergenceError(f"{op.name}: {one} and {other} have other masks", op)

    def _release_blocks(self, waiting: Sequence[int]) -> bool:
        """Blocks go on all of whose threads wait at barriers of the block."""
        segments = self.program.segments
        at_barrier = self._parked.copy()
        for number in waiting:
            sync = segments[number].sync
            assert sync is not None
            if sync.scope != "block":
                at_barrier &= self._at != number
        rows = self._block
        complete = (np.bincount(rows, at_barrier) == self._full_blocks)[rows]
        if not complete.any() or (self._parked & ~complete).any():
            return False
        self.spaces.clock.barrier()
        for number in waiting:
            self._meet(segments[number], complete & (self._at == number))
        return True

    def _meet(self, segment: Segment, mask: Array) -> None:
        assert segment.sync is not None
        everyone = bool(mask.all())
        operands, slot = segment.sync_slots
        chosen = None if everyone else mask
        result = segment.sync.action(self, chosen, *[self.values[x] for x in operands])
        if slot >= 0:
            old = self.values[slot]
            self.values[slot] = result if everyone else merged(old, result, mask)
        self._parked &= ~mask
        if everyone:
            self._together = segment.number + 1
        else:
            self._at[mask] = segment.number + 1

    def _divergence(self) -> DivergenceError:
        waiting = int(np.flatnonzero(self._parked)[0])
        sync = self.program.segments[int(self._at[waiting])].sync
        assert sync is not None
        block = self._block == self._block[waiting]
        others = block & ~(self._parked & (self._at == self._at[waiting]))
        text = "some of its threads are missing"
        if sync.ready is not None:
            text = "the phase that it waits for never ends"
        elif others.any():
            other = int(np.flatnonzero(others)[0])
            text = f"{self.spaces.name(other)} has ended"
            if self._parked[other]:
                there = self.program.segments[int(self._at[other])].sync
                assert there is not None
                text = f"{self.spaces.name(other)} waits at {describe(there.op)}"
        name = self.spaces.name(waiting)
        return DivergenceError(f"{sync.op.name}: {name} waits, and {text}", sync.op)
