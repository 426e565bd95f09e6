"""Memory, pointers into it, and numpy arrays bound to buffer parameters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, cast

import numpy as np

from xdsl_tvm.analysis.shared_arrays import shared_array
from xdsl_tvm.interpreters.data.numbers import Number
from xdsl_tvm.interpreters.errors import (
    ArgumentError,
    OutOfBoundsError,
    SimulationError,
    UninitializedReadError,
)

_MASK_FORMATS = {1: "B", 2: "H", 4: "I", 8: "Q"}
_WRITTEN = {size: int.from_bytes(b"\1" * size, "little") for size in _MASK_FORMATS}


class Cells(Protocol):
    """Elements of a memory, or their marks, by position."""

    def __getitem__(self, index: int, /) -> Any: ...
    def __setitem__(self, index: int, value: Any, /) -> None: ...


class _NullCells:
    """What is at the null pointer: a view of it may be declared, not used."""

    def __getitem__(self, index: int, /) -> Any:
        raise OutOfBoundsError("a buffer views the null pointer")

    def __setitem__(self, index: int, value: Any, /) -> None:
        raise OutOfBoundsError("a buffer views the null pointer")


_NULL = _NullCells()


@dataclass(eq=False)
class Memory:
    """Bytes, and for allocated memory one mark per byte that was written."""

    bytes: memoryview
    mask: memoryview | None = None
    shadow: Any = None
    """Who touched it last, where threads run (`_shadow.Shadow`)."""

    @staticmethod
    def allocate(size: int) -> Memory:
        """`size` bytes that nobody has written yet.

        Raises SimulationError if there is not so much memory.
        """
        try:
            return Memory(memoryview(bytearray(size)), memoryview(bytearray(size)))
        except (MemoryError, OverflowError):
            raise SimulationError(
                f"there is no memory for {size} bytes; use smaller extents"
            ) from None

    def copy(self) -> Memory:
        """The same contents and marks, somewhere else."""
        mask = None if self.mask is None else memoryview(bytearray(self.mask))
        return Memory(memoryview(bytearray(self.bytes)), mask)

    def mark_written(self) -> None:
        """Take all of it as written, since foreign code may have done so."""
        if self.mask is not None:
            self.mask[:] = b"\1" * len(self.mask)


@dataclass(frozen=True)
class Pointer:
    """An address: an offset in bytes into a memory, and the dtype it points to.

    External functions get pointers; `array()` is the memory of one.
    """

    memory: Memory = field(compare=False)
    offset: int
    element: Number | None = None
    identity: int = 0

    @staticmethod
    def to(memory: Memory, element: Number | None, offset: int = 0) -> Pointer:
        """The pointer to byte `offset` of `memory`."""
        return Pointer(memory, offset, element, id(memory))

    def at(self, elements: int, size: int) -> Pointer:
        """The pointer `elements` of `size` bytes further."""
        return Pointer.to(self.memory, self.element, self.offset + elements * size)

    def array(self, element: np.dtype[Any] | None = None) -> np.ndarray[Any, Any]:
        """All elements from here to the end of the memory, shared, not copied."""
        if element is None:
            element = np.dtype(np.uint8) if self.element is None else self.element.storage
        count = max(0, len(self.memory.bytes) - self.offset) // element.itemsize
        return np.ndarray((count,), element, self.memory.bytes, self.offset)


def allocate(elements: int, element: Number, lanes: int) -> Pointer:
    """Fresh memory for `elements` vectors of `lanes`, none for a negative number."""
    return Pointer.to(Memory.allocate(max(0, elements) * lanes * element.size), element)


def constant(values: Any, element: Number) -> Pointer:
    """Read-only memory with the given contents."""
    data = np.ascontiguousarray(values).astype(element.storage)
    return Pointer.to(Memory(memoryview(data.tobytes())), element)


def cells(pointer: Pointer | None, skip: int, element: Number) -> tuple[Cells, Any, int]:
    """The scalars from `skip` ones at a pointer on: values, marks, and the mark.

    The marks are None for memory that the program did not allocate.
    """
    if pointer is None:
        return _NULL, _NULL, 0
    size = element.size
    start = pointer.offset + skip * size
    if start < 0:
        raise OutOfBoundsError(f"a buffer begins {-start} bytes before its memory")
    count = max(0, len(pointer.memory.bytes) - start) // size
    if count == 0:
        return [], None, 0
    mask = pointer.memory.mask
    marks: object = None
    if mask is not None:
        marked = cast(Any, mask[start : start + count * size])
        marks = cast(object, marked.cast(_MASK_FORMATS[size]))
    if element.is_float:
        values = np.ndarray((count,), element.storage, pointer.memory.bytes, start)
        return cast(Cells, values), marks, _WRITTEN[size]
    window = pointer.memory.bytes[start : start + count * size]
    return cast(Cells, window.cast(cast(Any, element.format))), marks, _WRITTEN[size]


def load_lanes(
    values: Cells, marks: Any, mark: int, places: Sequence[int], predicate: Any, zero: Any
) -> list[Any]:
    """The scalars at `places`, zero where the predicate does not hold."""
    if predicate is None:
        predicate = [True] * len(places)
    found: list[Any] = []
    for place, wanted in zip(places, predicate, strict=True):
        if not wanted:
            found.append(zero)
            continue
        if marks is not None and marks[place] != mark:
            raise_uninitialized(place)
        found.append(values[place])
    return found


def store_lanes(
    values: Cells, marks: Any, mark: int, places: Sequence[int], predicate: Any, new: Any
) -> None:
    """Write the scalars at `places` where the predicate holds."""
    if predicate is None:
        predicate = [True] * len(places)
    lanes = cast("list[Any]", new) if isinstance(new, list) else [new]
    for place, wanted, value in zip(places, predicate, lanes, strict=True):
        if wanted:
            values[place] = value
            if marks is not None:
                marks[place] = mark


def check_lanes(lanes: Sequence[int], extent: int, predicate: Any, repeat: int) -> None:
    """Raise OutOfBoundsError for a wanted lane of an index outside `[0, extent)`."""
    for position, index in enumerate(lanes):
        wanted = predicate is None or any(
            predicate[position * repeat : (position + 1) * repeat]
        )
        if wanted and not 0 <= index < extent:
            raise OutOfBoundsError(
                f"lane {position} of the last index is {index}, the extent is {extent}"
            )


def check_indices(indices: tuple[int, ...], extents: tuple[int, ...]) -> None:
    """Raise OutOfBoundsError for the first index outside of its dimension."""
    for position, (index, extent) in enumerate(zip(indices, extents, strict=True)):
        if not 0 <= index < extent:
            raise OutOfBoundsError(
                f"index {position} is {index}, the extent of the dimension is {extent}"
            )


def check_region(low: int, extent: int, bound: int, position: int) -> None:
    """Raise OutOfBoundsError for a region that leaves its buffer."""
    if extent > 0 and not 0 <= low <= bound - extent:
        raise OutOfBoundsError(
            f"dimension {position} of the region is [{low}, {low + extent}), the buffer "
            f"has extent {bound}"
        )


def raise_uninitialized(place: int) -> None:
    """Raise UninitializedReadError for the scalar at `place`."""
    raise UninitializedReadError(
        f"element {place} of the memory is read, but was never written"
    )


class Tensor(np.ndarray[Any, Any]):
    """An array made on the stack of a program: a view of the program's own memory."""

    pointer: Pointer | None = None

    @staticmethod
    def at(pointer: Pointer, array: np.ndarray[Any, Any]) -> Tensor:
        """`array`, which begins at `pointer`."""
        made = array.view(Tensor)
        made.pointer = pointer
        return made


def passed_out(value: Any) -> Any:
    """A value for foreign code, which may write to the memory that it names."""
    pointer = value.pointer if isinstance(value, Tensor) else value
    if isinstance(pointer, Pointer):
        pointer.memory.mark_written()
    return value


@dataclass(frozen=True)
class BoundArray:
    """An array that a call passes for a buffer: its memory, extents and strides."""

    pointer: Pointer
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    """In elements; 0 is never given, dimensions of extent 1 count as compact."""
    compact: bool


@dataclass(frozen=True)
class Parameter:
    """What a buffer parameter expects of its array."""

    function: str
    name: str
    element: Number
    lanes: int
    shape: tuple[int, ...]
    """Static extents, negative where they are symbolic."""
    strided: bool

    def fail(self, what: str, expected: object, found: object) -> None:
        """Raise ArgumentError naming function, parameter, expected and found."""
        raise ArgumentError(
            f"{self.function}: parameter {self.name} expects {what} {expected}, got "
            f"{found}"
        )

    def expect(self, what: str, expected: int, found: int) -> None:
        """Raise ArgumentError unless an extent, stride or offset is as expected."""
        if expected != found:
            self.fail(what, expected, found)

    def bind(self, array: Any) -> BoundArray:
        """Take an argument. Raises ArgumentError when dtype, rank or shape differ."""
        found = self._array(array)
        storage = self.element.storage
        if found.dtype != storage:
            self.fail("dtype", storage, found.dtype)
        shape, strides = self._split_lanes(found)
        if len(shape) != len(self.shape):
            self.fail("rank", len(self.shape), len(shape))
        for axis, (wanted, extent) in enumerate(zip(self.shape, shape, strict=True)):
            if wanted >= 0:
                self.expect(f"extent {axis} to be", wanted, extent)
        compact = _row_major(shape)
        known = tuple(
            c if extent == 1 else s
            for c, s, extent in zip(compact, strides, shape, strict=True)
        )
        is_compact = known == compact or 0 in shape
        if not is_compact and not self.strided:
            self.fail("compact row-major strides", compact, strides)
        if any(stride < 0 for stride in known):
            self.fail("strides that are not negative, not", compact, strides)
        pointer = found.pointer if isinstance(found, Tensor) else None
        if pointer is None:
            pointer = memory_of(found, self.element)
        return BoundArray(pointer, shape, known, is_compact)

    def _array(self, array: Any) -> np.ndarray[Any, Any]:
        try:
            found = shared_array(array)
        except ValueError as error:
            what = f"{self.function}: parameter {self.name}: {error}"
            raise ArgumentError(what) from error
        if found is None:
            self.fail("a numpy array, not", "another object", type(array).__name__)
        return cast("np.ndarray[Any, Any]", found)

    def _split_lanes(
        self, array: np.ndarray[Any, Any]
    ) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Extents and strides in elements; vector lanes are the last dimension."""
        size = array.itemsize
        shape = array.shape
        strides = tuple(stride // size for stride in array.strides)
        if self.lanes == 1:
            return shape, strides
        if not shape or shape[-1] != self.lanes or strides[-1] != 1:
            self.fail("a last dimension of lanes", self.lanes, shape)
        return shape[:-1], tuple(stride // self.lanes for stride in strides[:-1])


def _row_major(shape: Sequence[int]) -> tuple[int, ...]:
    strides: list[int] = []
    step = 1
    for extent in reversed(shape):
        strides.append(step)
        step *= extent
    return tuple(reversed(strides))


def memory_of(array: np.ndarray[Any, Any], element: Number | None = None) -> Pointer:
    """The pointer to the first element of an array, not copied."""
    if array.size == 0:
        return Pointer.to(Memory(memoryview(b"")), element)
    last = sum(
        (extent - 1) * stride
        for extent, stride in zip(array.shape, array.strides, strict=True)
    )
    # numpy does not know the names of all narrow floats, so their bits are taken.
    bits = array.view(np.dtype(f"u{array.itemsize}"))
    flat = np.lib.stride_tricks.as_strided(
        bits,
        (last // array.itemsize + 1,),
        (array.itemsize,),
        writeable=array.flags.writeable,
    )
    return Pointer.to(Memory(memoryview(cast(Any, flat.view(np.uint8)))), element)


def pointer_argument(value: Any, element: Number | None, what: str) -> Pointer | None:
    """The pointer to a contiguous array; pointers and None pass as they are.

    Raises ArgumentError, `what` names function and parameter.
    """
    if value is None or isinstance(value, Pointer):
        return value
    if not isinstance(value, np.ndarray):
        raise ArgumentError(
            f"{what} expects a numpy array, a pointer or None, got {type(value).__name__}"
        )
    array = cast("np.ndarray[Any, Any]", value)
    if element is not None and array.dtype != element.storage:
        raise ArgumentError(f"{what} expects dtype {element.storage}, got {array.dtype}")
    if not array.flags.c_contiguous:
        raise ArgumentError(
            f"{what} expects a contiguous array, got strides {array.strides}"
        )
    return memory_of(array, element)
