"""Counting barriers in shared memory: `mbarrier`.

`initializing`, `arriving`, `copies_arriving`, `bulk_copying` and `waiting` make rules for
operations of any spelling: those of `nvvm`, and the LLVM intrinsics by name. A thread
that asks whether a phase is complete waits until it is; if all threads wait, that is an
error. A phase that completes counts as a barrier of all blocks for races, since who waits
is ordered after who arrived; races between threads that it does not order are missed.

Copies whose arrival a barrier counts land when no thread can go on without them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from xdsl.ir import Operation

from xdsl_tvm.dialects import nvvm
from xdsl_tvm.interpreters.errors import SimulationError
from xdsl_tvm.interpreters.llvm_kernels.accesses import copying
from xdsl_tvm.interpreters.llvm_kernels.copies import Copy
from xdsl_tvm.interpreters.llvm_kernels.layouts import Array, Mask, Value
from xdsl_tvm.interpreters.llvm_kernels.memory import Access, Spaces
from xdsl_tvm.interpreters.llvm_kernels.rules import (
    ACTION_INTRINSICS,
    SYNC_INTRINSICS,
    Action,
    Sync,
    TeamState,
    action,
    sync,
)

_BYTES = 8


@dataclass(eq=False)
class PhaseBarrier:
    """How many arrivals a phase expects, how many are missing, and its number.

    `bytes` is how many bytes of bulk copies are expected and have not landed.
    """

    expected: int
    missing: int
    phase: int = 0
    bytes: int = 0

    def arrive(self, op: Operation, count: int, spaces: Spaces) -> None:
        """So many arrivals. Raises SimulationError for more than the phase expects."""
        if count > self.missing:
            raise SimulationError(
                f"{op.name}: {count} arrivals at a barrier that expects {self.missing}",
                op,
            )
        self.missing -= count
        self.advance(spaces)

    def advance(self, spaces: Spaces) -> None:
        """End the phase if nothing that it expects is missing."""
        if not self.missing and not self.bytes:
            self.phase += 1
            self.missing = self.expected
            spaces.clock.barrier()


@dataclass(eq=False)
class CountedCopies:
    """Copies of some threads, after which each of them arrives at a barrier."""

    op: Operation
    barrier: PhaseBarrier
    threads: Array
    copies: list[Copy]
    bytes: int | None = None
    """The bytes of bulk copies, which count in place of arrivals."""


@dataclass(eq=False)
class PhaseBarriers:
    """The counting barriers of a team, by their positions in shared memory."""

    found: dict[int, PhaseBarrier]
    counted: list[CountedCopies]

    def at(self, op: Operation, place: int) -> PhaseBarrier:
        """The barrier at a position. Raises SimulationError if there is none."""
        barrier = self.found.get(place)
        if barrier is None:
            raise SimulationError(f"{op.name}: there is no barrier in this memory", op)
        return barrier

    def land(self, team: TeamState) -> bool:
        """Complete the copies that barriers count, which then arrive; whether any did."""
        counted, self.counted = self.counted, []
        for each in counted:
            team.copies.land(each.copies, each.threads)
            if each.bytes is None:
                each.barrier.arrive(each.op, int(each.threads.sum()), team.spaces)
            else:
                each.barrier.bytes -= each.bytes
                each.barrier.advance(team.spaces)
        return bool(counted)


def places_of(
    team: TeamState, op: Operation, address: Array, mask: Mask, operand: int = 0
) -> Array:
    """The positions of the barriers that threads address; -1 for other threads."""
    access = Access(op, op.operands[operand].type, 3, _BYTES)
    address = np.broadcast_to(address, (team.count,))
    shared = team.spaces.shared
    found = team.spaces.checked(access, shared, address, mask, _BYTES)
    return found if mask is None else np.where(mask, found, -1)


def _groups(team: TeamState, op: Operation, address: Array, mask: Mask) -> Any:
    """The positions of barriers, and how many threads address each."""
    places = places_of(team, op, address, mask)
    return zip(*(x.tolist() for x in np.unique(places, return_counts=True)), strict=True)


def initializing(op: Operation) -> Action:
    """Makes a barrier that expects as many arrivals as its second operand says."""

    def start(team: TeamState, mask: Mask, address: Array, expected: Array) -> None:
        counts = np.broadcast_to(expected, (team.count,))
        places = places_of(team, op, address, mask)
        for place in np.unique(places[places >= 0]).tolist():
            count = int(counts[np.flatnonzero(places == place)[0]])
            if count < 1:
                raise SimulationError(
                    f"{op.name}: a barrier expects {count} arrivals", op
                )
            team.barriers.found[place] = PhaseBarrier(count, count)

    return start


def arriving(op: Operation) -> Action:
    """Arrives at a barrier; the result is the phase.

    A second operand is how many more bytes of bulk copies the phase expects.
    """

    def arrive(
        team: TeamState, mask: Mask, address: Array, count_bytes: Array | None = None
    ) -> Value:
        places = places_of(team, op, address, mask)
        phases = np.zeros(team.count, np.int64)
        if count_bytes is not None:
            more = np.broadcast_to(count_bytes, (team.count,)).astype(np.int64)
            for place in np.unique(places[places >= 0]).tolist():
                barrier = team.barriers.at(op, place)
                barrier.bytes += int(more[places == place].sum())
        for place, count in _groups(team, op, address, mask):
            if place >= 0:
                barrier = team.barriers.at(op, place)
                phases[places == place] = barrier.phase
                barrier.arrive(op, count, team.spaces)
        return phases if op.results else None

    return arrive


def copies_arriving(op: Operation, *, counted: bool) -> Action:
    """Lets the copies that each thread has started arrive when they have landed.

    `counted` tells that the barrier expects these arrivals; else they are added.
    """

    def note(team: TeamState, mask: Mask, address: Array) -> None:
        places = places_of(team, op, address, mask)
        for place, count in _groups(team, op, address, mask):
            if place < 0:
                continue
            barrier = team.barriers.at(op, place)
            if not counted:
                barrier.missing += count
            team.barriers.counted.append(
                CountedCopies(op, barrier, places == place, list(team.copies.pending))
            )

    return note


def waiting(op: Operation, *, by_parity: bool) -> Sync:
    """Waits for the phase of a token, or of a parity; the result is true."""

    def ready(team: TeamState, mask: Array, address: Array, which: Array) -> Array:
        places = places_of(team, op, address, mask)
        which = np.broadcast_to(which, (team.count,)).astype(np.int64)
        done = np.zeros(team.count, np.bool_)
        for place in np.unique(places[mask]).tolist():
            phase = team.barriers.at(op, place).phase
            here = places == place
            if by_parity:
                done |= here & (which & 1 != phase & 1)
            else:
                done |= here & (which < phase)
        return done

    def go_on(team: TeamState, mask: Mask, *operands: Value) -> Value:
        return np.ones(1, np.bool_) if op.results else None

    return Sync(op, "count", go_on, ready=ready)


def bulk_copying(op: Operation) -> Action:
    """Starts bulk copies: operands are target, source, barrier and size.

    Their bytes count at the barrier when they have landed.
    """

    def copy(
        team: TeamState,
        mask: Mask,
        target: Array,
        source: Array,
        barrier: Array,
        size: Array,
    ) -> None:
        sizes = np.broadcast_to(size, (team.count,)).astype(np.int64)
        everyone = np.ones(team.count, np.bool_) if mask is None else mask
        places = places_of(team, op, barrier, mask, operand=2)
        for length in np.unique(sizes[everyone]).tolist():
            if length < 0 or length % _BULK_UNIT:
                raise SimulationError(
                    f"{op.name}: a copy of {length} bytes is no multiple of {_BULK_UNIT}",
                    op,
                )
            some = everyone & (sizes == length)
            before = len(team.copies.pending)
            copying(op, length, _BULK_UNIT)(team, some, target, source)
            begun = team.copies.pending[before:]
            for place in np.unique(places[some]).tolist():
                here = some & (places == place)
                team.barriers.counted.append(
                    CountedCopies(
                        op,
                        team.barriers.at(op, place),
                        here,
                        begun,
                        length * int(here.sum()),
                    )
                )

    return copy


_BULK_UNIT = 16
"""Sizes and addresses of bulk copies are multiples of it."""


@action(nvvm.MBarrierInitOp)
def _init(op: nvvm.MBarrierInitOp) -> Action:
    return initializing(op)


@action(nvvm.MBarrierInvalOp)
def _inval(op: nvvm.MBarrierInvalOp) -> Action:
    return _invalidate


@action(nvvm.MBarrierArriveOp, nvvm.MBarrierArriveExpectTxOp)
def _arrive(op: Operation) -> Action:
    return arriving(op)


@action(nvvm.CpAsyncMBarrierArriveOp)
def _copies_arrive(op: nvvm.CpAsyncMBarrierArriveOp) -> Action:
    return copies_arriving(op, counted=op.counted)


@action(nvvm.CpAsyncBulkOp)
def _bulk_copy(op: nvvm.CpAsyncBulkOp) -> Action:
    return bulk_copying(op)


@sync(nvvm.MBarrierTestWaitOp, nvvm.MBarrierTryWaitOp)
def _wait(op: nvvm.MBarrierTestWaitOp | nvvm.MBarrierTryWaitOp) -> Sync:
    return waiting(op, by_parity=op.by_parity)


ACTION_INTRINSICS.update(
    {
        "llvm.nvvm.mbarrier.init.shared": initializing,
        "llvm.nvvm.mbarrier.arrive.shared": arriving,
        "llvm.nvvm.cp.async.mbarrier.arrive.shared": lambda op: copies_arriving(
            op, counted=False
        ),
        "llvm.nvvm.cp.async.mbarrier.arrive.noinc.shared": lambda op: copies_arriving(
            op, counted=True
        ),
        "llvm.nvvm.mbarrier.inval.shared": lambda op: _invalidate,
    }
)
SYNC_INTRINSICS["llvm.nvvm.mbarrier.test.wait.shared"] = lambda op: waiting(
    op, by_parity=False
)


def _invalidate(team: TeamState, mask: Mask, address: Array) -> None:
    """The memory is free for other uses; who waits then finds what is there."""
