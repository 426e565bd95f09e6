"""Counts the bank conflicts of shared memory.

Shared memory has 32 banks of 4 bytes. A warp's access is served in phases: one of 32
lanes where a lane touches up to 4 bytes, two of 16 lanes for 8 bytes, four of 8 lanes for
16 bytes. A phase takes as many steps as the largest number of different words that its
lanes touch in one bank, its multiplicity; lanes that touch one word share it. A row of
`ptx_ldmatrix` counts as an access of 16 bytes, so that a matrix is a phase.

The threads of the simulator run one after the other, so that what a warp does at a time
is found again: lanes execute an operation together if the loops around it, from its
function or kernel inwards, are at the same iterations, and it is the same execution of
those since the last synchronization point of the block. Each allocation of shared memory
begins at bank 0. Fragments of WMMA, atomic operations, bulk copies and external functions
are not counted: which lanes touch what, and when, is not specified.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from math import gcd
from typing import NamedTuple

from xdsl.dialects.builtin import UnknownLoc
from xdsl.ir import Operation

from xdsl_tvm.dialects import tir
from xdsl_tvm.interpreters.errors import describe

BANKS = 32
"""Of shared memory."""
BANK_BYTES = 4
"""Of a word, which a bank serves in one step."""
MOST_BYTES = 16
"""That a lane touches by one instruction."""
_LANES = 32
"""Of a warp."""


class Request(NamedTuple):
    """What one lane touches."""

    lane: int
    start: int
    """The first byte."""
    size: int
    """In bytes."""


def multiplicities(requests: Iterable[Request]) -> list[int]:
    """The steps that each phase of a warp's instruction takes, for phases with lanes."""
    found = list(requests)
    size = max((request.size for request in found), default=BANK_BYTES)
    lanes = _LANES * BANK_BYTES // max(BANK_BYTES, size)
    phases: dict[int, set[int]] = {}
    for lane, start, size in found:
        words = range(start // BANK_BYTES, (start + size - 1) // BANK_BYTES + 1)
        phases.setdefault(lane // lanes, set()).update(words)
    steps: list[int] = []
    for _, words in sorted(phases.items()):
        loads = [0] * BANKS
        for word in words:
            loads[word % BANKS] += 1
        steps.append(max(loads))
    return steps


def runs(places: Sequence[int], bits: int) -> list[tuple[int, int]]:
    """First byte and size of the bytes in a row that elements at these places take.

    `places` count elements of `bits` bits from byte 0 of the memory.
    """
    found: list[tuple[int, int]] = []
    for place in places:
        start, end = place * bits // 8, ((place + 1) * bits + 7) // 8
        if found and found[-1][0] <= start <= sum(found[-1]):
            first, size = found[-1]
            found[-1] = (first, max(size, end - first))
        else:
            found.append((start, end - start))
    return found


def instructions(runs_of_lanes: Sequence[Request]) -> list[list[Request]]:
    """The instructions by which lanes touch a run of bytes each.

    They touch as many bytes at a time as the starts of all lanes are multiples of, up
    to 16.
    """
    width = MOST_BYTES
    for _, start, size in runs_of_lanes:
        width = gcd(width, start, size)
    longest = max((size for _, _, size in runs_of_lanes), default=0)
    return [
        [
            Request(lane, start + skip, width)
            for lane, start, size in runs_of_lanes
            if skip < size
        ]
        for skip in range(0, longest, width)
    ]


@dataclass(eq=False)
class BankUse:
    """The accesses of shared memory by one operation, through one pointer."""

    op: Operation
    buffer: str
    """The name of the buffer, as far as it is known."""
    writes: bool
    worst: int = 0
    """The largest multiplicity of a phase."""
    instructions: int = 0
    """Of warps."""
    phases: int = 0
    """Steps that the accesses would take without conflicts."""
    steps: int = 0
    """Steps that they take."""

    @property
    def conflicts(self) -> int:
        """Steps that are there for conflicts only."""
        return self.steps - self.phases

    def add(self, steps: Sequence[int]) -> None:
        """Count an instruction of a warp with phases of so many steps."""
        self.instructions += 1
        self.phases += len(steps)
        self.steps += sum(steps)
        self.worst = max(self.worst, *steps)


def _shown(op: Operation) -> str:
    """An op, of a call the builtin only, and where it is."""
    if not isinstance(op, tir.CallOp):
        return describe(op)
    text = f'{op.name} "{op.callee.data}"'
    return text if isinstance(op.location, UnknownLoc) else f"{text} {op.location}"


@dataclass(frozen=True)
class BankReport:
    """The accesses of shared memory since the interpreter was made."""

    accesses: Sequence[BankUse]
    """By operation, in the order in which they were first executed."""

    @property
    def worst(self) -> int:
        """The largest multiplicity of all; 0 without accesses."""
        return max((use.worst for use in self.accesses), default=0)

    @property
    def phases(self) -> int:
        """Steps that all accesses would take without conflicts."""
        return sum(use.phases for use in self.accesses)

    @property
    def steps(self) -> int:
        """Steps that they take."""
        return sum(use.steps for use in self.accesses)

    @property
    def conflicts(self) -> int:
        """Steps that are there for conflicts only."""
        return self.steps - self.phases

    def _grouped(self) -> dict[tuple[str, str], BankUse]:
        """The accesses by their text: unrolled loops hold copies of an operation."""
        found: dict[tuple[str, str], BankUse] = {}
        for use in self.accesses:
            key = (f"{'writes' if use.writes else 'reads'} {use.buffer}", _shown(use.op))
            group = found.setdefault(key, BankUse(use.op, use.buffer, use.writes))
            group.worst = max(group.worst, use.worst)
            group.instructions += use.instructions
            group.phases += use.phases
            group.steps += use.steps
        return found

    def lines(self) -> list[str]:
        """A table of the accesses, those of the same text in one row, and the totals."""
        if not self.accesses:
            return ["bank conflicts: no access of shared memory was counted"]
        header = ("worst", "conflicts", "steps", "instructions", "access", "operation")
        rows = [
            (*map(str, (use.worst, use.conflicts, use.steps, use.instructions)), *key)
            for key, use in self._grouped().items()
        ]
        widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
        found = [
            "  ".join(
                cell.rjust(width) if position < 4 else cell.ljust(width)
                for position, (cell, width) in enumerate(zip(row, widths, strict=True))
            ).rstrip()
            for row in (header, *rows)
        ]
        found.append(
            f"bank conflicts: {self.conflicts} of {self.steps} steps, the worst access "
            f"takes {self.worst} steps a phase"
        )
        return found


@dataclass(eq=False)
class BankCounter:
    """Collects what lanes touch, and counts it at synchronization points."""

    _uses: dict[int, BankUse] = field(default_factory=dict[int, BankUse])
    """By the number of the operation and its pointer in the notes of the grid."""
    _warps: dict[tuple[int, ...], list[Request]] = field(
        default_factory=dict[tuple[int, ...], list[Request]]
    )
    """A run of bytes for each lane of a warp; the key begins with the site."""
    _times: dict[tuple[int, ...], int] = field(default_factory=dict[tuple[int, ...], int])
    """How often a thread has executed an operation in an iteration."""

    def declare(self, site: int, op: Operation, buffer: str, *, writes: bool) -> None:
        """Accesses at `site` are those of `op`."""
        if site not in self._uses:
            self._uses[site] = BankUse(op, buffer, writes)

    def note(
        self,
        thread: int,
        site: int,
        iteration: Sequence[int],
        touched: Iterable[tuple[int, int]],
    ) -> None:
        """A thread touches runs of bytes, each given by its first byte and its size."""
        moment = (thread, site, *iteration)
        time = self._times[moment] = self._times.get(moment, 0) + 1
        for position, (start, size) in enumerate(touched):
            key = (site, thread // _LANES, time, position, *iteration)
            self._warps.setdefault(key, []).append(Request(thread % _LANES, start, size))

    def note_warp(self, site: int, requests: Iterable[Request]) -> None:
        """A warp executes an instruction as a whole."""
        self._uses[site].add(multiplicities(requests))

    def settle(self) -> None:
        """A synchronization point is reached: the lists are counted and cleared."""
        for key, requests in self._warps.items():
            for one in instructions(requests):
                self._uses[key[0]].add(multiplicities(one))
        self.reset()

    def reset(self) -> None:
        """Forget what a launch that ended in an error has not counted."""
        self._warps.clear()
        self._times.clear()

    def report(self) -> BankReport:
        """What was counted."""
        return BankReport([use for use in self._uses.values() if use.instructions])
