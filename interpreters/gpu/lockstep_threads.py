"""Threads of a kernel in lockstep: one numpy array holds a value of all of them.

The code of a kernel (`codegen/lockstep_launch.py`) gets `Lanes`: the threads of as many
blocks as make good arrays. Integers of up to 32 bits are kept in arrays of i64, wrapped
by the code; others in arrays of their dtype. What not all threads do is done under a
mask.

Every doubt raises `Fault`, in time or at the next barrier: a race, an index out of
bounds, what nobody has written, a division by zero, a barrier that not all reach. The
memory is then as it was before the launch, and the launch is begun again with threads
that run one after the other (`simulator.py`), which tells what is wrong, and where.
So nothing here has to be told apart from its like, or be in its right order.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import repeat
from math import prod
from typing import Any, TypeAlias, cast

import numpy as np

from xdsl_tvm.interpreters.data.memory import Memory, Pointer
from xdsl_tvm.interpreters.data.numbers import Number, toward_zero
from xdsl_tvm.interpreters.errors import SimulationError
from xdsl_tvm.interpreters.gpu.lockstep_races import Array, Fault, Track
from xdsl_tvm.interpreters.gpu.simulator import Grid

Value: TypeAlias = Any
"""A value of all threads: an array with one item each, or one scalar for all."""
Mask: TypeAlias = "Array | None"
"""The threads that take part; None for all."""

LEAST_THREADS = 32
"""Below this number of threads in a launch, one after the other is faster."""
MOST_THREADS = 8192
"""About how many run together; more make the arrays too large for caches."""
_MOST_BYTES = 1 << 28
"""Of one allocation for all threads."""
_ROW_BYTES = 16
"""The shared memories of two blocks begin at multiples of this."""
_NATIVE = "efd"
_FAULTS = (Fault, SimulationError, ZeroDivisionError, OverflowError, IndexError)
"""What the code of a faulty kernel raises."""


@dataclass(eq=False)
class LaunchCounts:
    """Launches that ran with their threads together, and those that were begun so and
    repeated with one after the other."""

    ran: int = 0
    repeated: int = 0


@dataclass(eq=False)
class WrittenMarks:
    """Which bytes, or elements, of a memory were written; `full` once all were."""

    data: Array
    full: bool = False
    _asked: int = 0

    def is_full(self) -> bool:
        """Whether all were written; asked again ever less often."""
        self._asked += 1
        if not self.full and self._asked & (self._asked - 1) == 0:
            self.full = bool(self.data.all())
        return self.full


@dataclass(eq=False)
class Rows:
    """A pointer to memory of which each block has a row, of bytes."""

    data: Array
    marks: WrittenMarks
    row: int
    """Bytes from one row to the next."""
    size: int
    """Bytes of a row that may be used."""
    track: Track


@dataclass(eq=False)
class Columns:
    """A pointer to memory of which each thread has a column, of elements."""

    values: Array
    marks: WrittenMarks


class Window:
    """The elements of a buffer in shared or global memory."""

    def __init__(
        self,
        lanes: Lanes,
        element: Number,
        values: Array,
        marks: WrittenMarks | None,
        count: int,
        start: int,
    ) -> None:
        self._lanes = lanes
        self._element = element
        self._values = values
        self._marks = marks
        self._count = count
        self._start = start
        """The byte of the memory at which element 0 of `values` is."""
        self._written: Array | None = None
        self._inside = False
        self.track: Track | None = None
        self.base: Array | None = None
        """Where the elements of each thread's block begin."""
        if marks is not None:
            size = element.size
            window = marks.data[start : start + len(values) * size]
            self._written = window.view(f"u{size}")
            self._mark = int.from_bytes(b"\1" * size, "little")

    def fit(self, extents: tuple[int, ...], strides: tuple[int, ...]) -> None:
        """Learn whether indices within `extents` stay within the memory."""
        self._inside = _spans(extents, strides) <= self._count

    def load(self, place: Value, mask: Mask) -> Value:
        """The elements at `place` for the threads of the mask."""
        index = self._index(place, mask)
        marks = self._marks
        if marks is not None and not marks.full and not marks.is_full():
            assert self._written is not None
            _require(self._written[index] == self._mark, mask, "unwritten memory is read")
        track = self.track
        if track is not None:
            track.note(index, mask, self._start, self._element.size, writes=False)
        return _widened(self._element, self._values.take(index))

    def store(self, place: Value, value: Value, mask: Mask) -> None:
        """Write the elements at `place` for the threads of the mask."""
        index = self._index(place, mask)
        if self.track is None:
            raise Fault("memory is written that was taken to be only read")
        self.track.note(index, mask, self._start, self._element.size, writes=True)
        if mask is not None:
            index = index[mask]
            if isinstance(value, np.ndarray) and value.ndim:
                value = cast(Array, value)[mask]
        self._values[index] = value
        if self._written is not None:
            self._written[index] = self._mark

    def _index(self, place: Value, mask: Mask) -> Array:
        lanes = self._lanes
        if not self._inside:
            check_index(place, self._count, mask)
        index = lanes.spread(place)
        if mask is not None:
            index = np.where(mask, index, 0)
            if not self._count:
                raise Fault("memory without elements is accessed")
        return index if self.base is None else index + self.base


class LocalWindow:
    """The elements of a buffer in local memory."""

    def __init__(self, lanes: Lanes, element: Number, memory: Columns, skip: int) -> None:
        values = memory.values
        if values.dtype.itemsize != element.size or skip < 0:
            raise Fault("local memory is viewed with another element size")
        self._lanes = lanes
        self._element = element
        self._values = values.view(element.storage)[skip:]
        self._marks = memory.marks
        self._written = memory.marks.data[skip:]
        self._inside = False

    def fit(self, extents: tuple[int, ...], strides: tuple[int, ...]) -> None:
        """Learn whether indices within `extents` stay within the memory."""
        self._inside = _spans(extents, strides) <= len(self._values)

    def load(self, place: Value, mask: Mask) -> Value:
        """The elements at `place`."""
        where = self._where(place, mask)
        marks = self._marks
        if not marks.full and not marks.is_full():
            _require(self._written[where], mask, "unwritten memory is read")
        return _widened(self._element, self._values[where], copy=True)

    def store(self, place: Value, value: Value, mask: Mask) -> None:
        """Write the elements at `place` for the threads of the mask."""
        where = self._where(place, mask)
        if mask is None:
            self._values[where] = value
            self._written[where] = True
        elif isinstance(where, int):
            np.copyto(self._values[where], value, where=mask, casting="unsafe")
            self._written[where] |= mask
        else:
            chosen = (where[0][mask], where[1][mask])
            if isinstance(value, np.ndarray) and value.ndim:
                value = cast(Array, value)[mask]
            self._values[chosen] = value
            self._written[chosen] = True

    def _where(self, place: Value, mask: Mask) -> int | tuple[Array, Array]:
        if not self._inside:
            check_index(place, len(self._values), mask)
        if isinstance(place, int):
            return place
        index = self._lanes.spread(place)
        if mask is not None:
            index = np.where(mask, index, 0)
            if not len(self._values):
                raise Fault("memory without elements is accessed")
        return index, self._lanes.numbers


@dataclass(eq=False)
class Launch:
    """A launch: its extents, and what it does to the memory of its callers."""

    blocks: tuple[int, int, int]
    threads: tuple[int, int, int]
    written: dict[int, Memory]
    """The memories from outside that the kernel may write, by identity."""
    tracks: dict[int, Track] = field(default_factory=dict[int, Track])
    marks: dict[int, WrittenMarks] = field(default_factory=dict[int, WrittenMarks])

    @property
    def count(self) -> int:
        """The number of blocks."""
        return prod(self.blocks)


class Lanes:
    """The threads of some blocks of a launch, which run together."""

    def __init__(self, launch: Launch, blocks: range) -> None:
        per_block = prod(launch.threads)
        self._launch = launch
        self._count = per_block * len(blocks)
        self._rows = len(blocks)
        self.numbers = np.arange(self._count)
        """The threads, counted through all blocks."""
        self._row = self.numbers // per_block
        self._thread = self.numbers % per_block
        self._block = self._row + blocks.start
        self._shared: dict[int, Rows] = {}
        self._tracks: list[Track] = []
        for track in launch.tracks.values():
            self._adopt(track)

    def _adopt(self, track: Track) -> None:
        track.numbers, track.blocks = self.numbers, self._block
        self._tracks.append(track)

    def block_index(self, axis: int) -> Array:
        """The coordinates of the blocks of the threads."""
        return _coordinate(self._block, self._launch.blocks, axis)

    def thread_index(self, axis: int) -> Array:
        """The coordinates of the threads in their blocks."""
        return _coordinate(self._thread, self._launch.threads, axis)

    def spread(self, value: Value) -> Array:
        """A value as an array with one item for each thread."""
        if isinstance(value, np.ndarray) and value.ndim:
            return cast(Array, value)
        return np.full(self._count, cast(object, value))

    # ---- memory ----

    def shared(
        self, site: int | None, elements: int, element: Number, lanes: int
    ) -> Rows:
        """Memory for each block; the same one each time an op asks, if it has a site."""
        size = max(0, elements) * lanes * element.size
        found = None if site is None else self._shared.get(site)
        if found is None:
            found = self._new_rows(size)
            if site is not None:
                self._shared[site] = found
        if found.size != size:
            raise Fault("shared memory changes its size")
        return found

    def _new_rows(self, size: int) -> Rows:
        row = -(-max(size, 1) // _ROW_BYTES) * _ROW_BYTES
        data, marks = (self._zeros(row, self._rows, np.dtype(np.uint8)) for _ in range(2))
        marks.reshape(self._rows, row)[:, size:] = 1
        track = Track(len(data), False, self.numbers, self._block)
        self._tracks.append(track)
        return Rows(data, WrittenMarks(marks), row, size, track)

    def local(self, elements: int, element: Number, lanes: int) -> Columns:
        """Memory for each thread."""
        count = max(0, elements) * lanes
        values = self._zeros(count, self._count, element.storage)
        written = self._zeros(count, self._count, np.dtype(np.bool_))
        shape = (count, self._count)
        return Columns(values.reshape(shape), WrittenMarks(written.reshape(shape)))

    def _zeros(self, each: int, times: int, dtype: np.dtype[Any]) -> Array:
        if each * times * dtype.itemsize > _MOST_BYTES:
            raise Fault("the threads need too much memory together")
        return np.zeros(each * times, dtype)

    def window(self, pointer: object, skip: int, element: Number) -> Window | LocalWindow:
        """The elements at a pointer, `skip` of them further."""
        if isinstance(pointer, Columns):
            return LocalWindow(self, element, pointer, skip)
        if isinstance(pointer, Rows):
            return self._shared_window(pointer, skip, element)
        if not isinstance(pointer, Pointer):
            raise Fault("a buffer views no memory")
        return self._global_window(pointer, skip, element)

    def _shared_window(self, memory: Rows, skip: int, element: Number) -> Window:
        if skip < 0:
            raise Fault("a buffer begins before its memory")
        size = element.size
        values = memory.data.view(element.storage)
        count = max(0, memory.size // size - skip)
        window = Window(self, element, values, memory.marks, count, 0)
        window.base = self._row * (memory.row // size) + skip
        window.track = memory.track
        return window

    def _global_window(self, pointer: Pointer, skip: int, element: Number) -> Window:
        memory, launch = pointer.memory, self._launch
        start = pointer.offset + skip * element.size
        if start < 0:
            raise Fault("a buffer begins before its memory")
        count = max(0, len(memory.bytes) - start) // element.size
        values = np.ndarray((count,), element.storage, memory.bytes, start)
        marks = None
        if memory.mask is not None:
            marks = launch.marks.get(id(memory))
            if marks is None:
                marks = WrittenMarks(np.frombuffer(memory.mask, np.uint8))
                launch.marks[id(memory)] = marks
        window = Window(self, element, values, marks, count, start)
        if id(memory) in launch.written:
            window.track = self._track(memory)
        return window

    def _track(self, memory: Memory) -> Track:
        launch = self._launch
        found = launch.tracks.get(id(memory))
        if found is None:
            several = launch.count > 1
            found = Track(len(memory.bytes), several, self.numbers, self._block)
            launch.tracks[id(memory)] = found
            self._adopt(found)
        return found

    # ---- control ----

    def barrier(self, mask: Mask) -> None:
        """All threads of all blocks wait for each other. Raises Fault for races."""
        if mask is not None and not mask.all():
            raise Fault("not all threads reach a barrier")
        for track in self._tracks:
            track.settle(ends=True)

    def both(self, mask: Mask, condition: Value) -> Array:
        """The threads of a mask for which a condition holds."""
        condition = self.spread(condition)
        return condition if mask is None else condition & mask

    def but(self, mask: Mask, condition: Value) -> Array:
        """The threads of a mask for which it does not."""
        return self.both(mask, np.logical_not(condition))

    def trips(self, extent: Value, mask: Mask) -> range:
        """The iterations of a loop, of which each thread runs the first `extent`."""
        wanted = self.spread(extent)
        if mask is not None:
            wanted = wanted[mask]
        return range(int(wanted.max(initial=0)))

    def each(
        self, dtype: Number, function: Callable[..., Any], *operands: Value
    ) -> Array:
        """A function of the values of each thread."""
        columns = [self._column(operand) for operand in operands]
        columns.append(repeat(None, self._count))
        found = [function(*row[:-1]) for row in zip(*columns, strict=False)]
        return np.array(found, kept_as(dtype))

    def _column(self, operand: Value) -> Iterator[Any]:
        if not isinstance(operand, np.ndarray) or not operand.ndim:
            return repeat(cast(object, operand))
        array = cast(Array, operand)
        return iter(_items(array))


def run_together(
    grid: Grid,
    body: Callable[[Lanes], object],
    blocks: tuple[int, int, int],
    threads: tuple[int, int, int],
    written: Sequence[Any],
    read: Sequence[Any],
    counts: LaunchCounts,
) -> bool:
    """Run a launch with its threads together, if that is quicker and shows no fault.

    `written` and `read` are the pointers of the callers that the kernel may write, or
    only read. Where False is returned memory is as it was.
    """
    per_block = prod(threads)
    if min(*blocks, *threads) < 1 or grid.active or per_block > MOST_THREADS:
        return False
    launch = Launch(blocks, threads, {id(p.memory): p.memory for p in _pointers(written)})
    if launch.count * per_block < LEAST_THREADS or _overlap(launch, _pointers(read)):
        return False
    before = [
        (m, bytes(m.bytes), None if m.mask is None else bytes(m.mask))
        for m in launch.written.values()
    ]
    step = max(1, MOST_THREADS // per_block)
    try:
        for first in range(0, launch.count, step):
            lanes = Lanes(launch, range(first, min(first + step, launch.count)))
            body(lanes)
            lanes.barrier(None)
    except _FAULTS:
        for memory, contents, marks in before:
            memory.bytes[:] = contents
            if memory.mask is not None and marks is not None:
                memory.mask[:] = marks
        counts.repeated += 1
        return False
    counts.ran += 1
    return True


def _pointers(values: Sequence[Any]) -> list[Pointer]:
    return [value for value in values if isinstance(value, Pointer)]


def _overlap(launch: Launch, read: Sequence[Pointer]) -> bool:
    """Whether memory that is written is read-only, or part of two memories."""
    if any(memory.bytes.readonly for memory in launch.written.values()):
        return True
    memories = {id(pointer.memory): pointer.memory for pointer in read} | launch.written
    spans: list[tuple[int, int, bool]] = []
    for key, memory in memories.items():
        if len(memory.bytes):
            start = np.frombuffer(memory.bytes, np.uint8).ctypes.data
            spans.append((start, start + len(memory.bytes), key in launch.written))
    end, any_written = -1, False
    for first, last, is_written in sorted(spans):
        if first < end and (any_written or is_written):
            return True
        any_written = is_written or (any_written and first < end)
        end = max(end, last)
    return False


def _coordinate(number: Array, extents: tuple[int, int, int], axis: int) -> Array:
    return number // prod(extents[:axis]) % extents[axis]


def _spans(extents: tuple[int, ...], strides: tuple[int, ...]) -> int:
    """The elements from the first to the last one of a buffer."""
    if any(extent < 1 for extent in extents):
        return 0
    return 1 + sum((n - 1) * s for n, s in zip(extents, strides, strict=True))


def _widened(element: Number, found: Array, *, copy: bool = False) -> Array:
    """Elements of memory as values."""
    if element.is_float or element.is_bool:
        return found.copy() if copy else found
    wide = found.astype(kept_as(element))
    return wide if element.bits == 8 * element.size else wrapped(element, wide)


# ---- what the code calls ----


def kept_as(dtype: Number) -> np.dtype[Any]:
    """The dtype of the arrays that hold values of a dtype."""
    if dtype.is_float or dtype.is_bool or dtype.storage == np.uint64:
        return dtype.storage
    return np.dtype(np.int64)


def wrapped(dtype: Number, value: Array) -> Array:
    """Integers in i64 modulo 2^bits, for dtypes of fewer than 64 bits."""
    return ((value - dtype.low) & (dtype.high - dtype.low)) + dtype.low


def signed64(value: Value) -> Value:
    """Integers modulo 2^64, which arrays of i64 are already."""
    if isinstance(value, int):
        return (value + (1 << 63) & (1 << 64) - 1) - (1 << 63)
    return value


def _require(condition: Value, mask: Mask, what: str) -> None:
    if mask is not None:
        condition = condition | ~mask
    if not np.all(condition):
        raise Fault(what)


def check_index(index: Value, extent: int, mask: Mask) -> None:
    """Raise Fault unless indices are in `[0, extent)`."""
    if isinstance(index, int):
        inside = 0 <= index < extent
    else:
        inside = (index >= 0) & (index < extent)
    _require(inside, mask, "an index is out of bounds")


def check_range(value: Value, low: Value, extent: Value, mask: Mask) -> None:
    """Raise Fault unless values are in `[low, low + extent)`."""
    inside = np.greater_equal(value, low) & np.less(value, low + extent)
    _require(inside, mask, "an iteration variable leaves its domain")


def check_region(low: Value, extent: int, bound: int, mask: Mask) -> None:
    """Raise Fault for a region that leaves its buffer."""
    if extent > 0:
        inside = np.greater_equal(low, 0) & np.less_equal(low, bound - extent)
        _require(inside, mask, "a region leaves its buffer")


def check_holds(condition: Value, mask: Mask) -> Value:
    """Raise Fault where an assumption or an assertion does not hold."""
    _require(condition, mask, "an assertion fails")
    return condition


def divisor(value: Value, mask: Mask) -> Value:
    """A divisor. Raises Fault where it is 0."""
    _require(np.not_equal(value, 0), mask, "an integer is divided by zero")
    return value


def truncated_quotient(a: Value, b: Value) -> Array:
    """C's integer division."""
    return toward_zero(np.floor_divide(a, b), a, b)


def truncated_remainder(a: Value, b: Value) -> Array:
    """The remainder of it."""
    return a - truncated_quotient(a, b) * b


def convert(dtype: Number, value: Array) -> Array:
    """Numbers as values of a float dtype, or floats as values of an integer dtype."""
    if not dtype.is_float:
        return _saturated(dtype, value.astype(np.float64))
    exact = value.dtype.char in "ef" or value.dtype == dtype.storage
    if dtype.storage.char in _NATIVE or exact:
        return value.astype(dtype.storage)
    return np.array([dtype.convert(item) for item in _items(value)], dtype.storage)


def _items(array: Array) -> Sequence[Any]:
    """Items as the code for one thread has them: Python integers, numpy floats."""
    return array.tolist() if array.dtype.kind in "iub" else list(array)


def _saturated(dtype: Number, value: Array) -> Array:
    low, high = float(dtype.low), float(dtype.high)
    with np.errstate(invalid="ignore"):
        inside = np.where((value > low) & (value < high), value, 0.0)
        found = inside.astype(kept_as(dtype))
    found = np.where(value <= low, dtype.low, found)
    return np.where(value >= high, dtype.high, found).astype(kept_as(dtype))


def float_function(
    dtype: Number, function: Callable[..., Any], *operands: Array
) -> Array:
    """A numpy function on f64, rounded once to a dtype."""
    found = function(*(x.astype(np.float64) for x in operands))
    return convert(dtype, found)


def array_function(name: str, function: Callable[..., Any]) -> Callable[..., Any] | None:
    """The function on arrays of f64 that does what `function` does on floats."""
    if name == "round":
        return _round_half_away
    if name == "erf":
        return np.vectorize(math.erf, otypes=[np.float64])
    return None if name == "ldexp" else function


def _round_half_away(value: Array) -> Array:
    nearest = np.copysign(np.floor(np.abs(value) + 0.5), value)
    return np.where(np.isfinite(value) & (value != np.trunc(value)), nearest, value)


def shift_left(dtype: Number, value: Value, amount: Value) -> Array:
    """`value << amount`; 0 where TIR leaves the amount undefined."""
    fine = np.greater_equal(amount, 0) & np.less(amount, dtype.bits)
    shifted = np.left_shift(value, np.where(fine, amount, 0))
    if dtype.bits < 64:
        shifted = wrapped(dtype, shifted)
    return np.where(fine, shifted, 0)


def shift_right(dtype: Number, value: Value, amount: Value) -> Array:
    """Arithmetic for signed, logical for unsigned; 0 for an undefined amount."""
    fine = np.greater_equal(amount, 0) & np.less(amount, dtype.bits)
    return np.where(fine, np.right_shift(value, np.where(fine, amount, 0)), 0)


NAMES: dict[str, Any] = {
    "v_check_holds": check_holds,
    "v_check_index": check_index,
    "v_check_range": check_range,
    "v_check_region": check_region,
    "v_convert": convert,
    "v_divisor": divisor,
    "v_float_function": float_function,
    "v_floor": np.floor,
    "v_fmod": np.fmod,
    "v_int64": np.int64,
    "v_logical_and": np.logical_and,
    "v_logical_not": np.logical_not,
    "v_logical_or": np.logical_or,
    "v_not_equal": np.not_equal,
    "v_run_lockstep": run_together,
    "v_shift_left": shift_left,
    "v_shift_right": shift_right,
    "v_signed64": signed64,
    "v_tdiv": truncated_quotient,
    "v_tmod": truncated_remainder,
    "v_where": np.where,
}
"""What the code refers to."""
