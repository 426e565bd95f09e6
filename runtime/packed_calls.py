"""Functions of Python that compiled functions call by name.

Compiled code calls one function, `tvm_call_packed`, with the address of a text that says
what is called (`lowering/relax/conversion/packed_call.py`) and that of its 64-bit cells.
Tensors become numpy arrays on the very memory; what comes back is checked and copied.
Functions of the packed convention call `tvm_call_with_slots`, with packed arguments.
"""

from __future__ import annotations

import ctypes
import itertools
import operator
import struct
import threading
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any, TypeAlias, cast

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.parser import Parser
from xdsl.utils.exceptions import PassFailedException

from xdsl_tvm.dialects.dtypes import numpy_dtype
from xdsl_tvm.dialects.tir.intrinsics import format_message
from xdsl_tvm.lowering.relax.conversion.packed_call import (
    PRINT,
    FunctionSlot,
    ObjectSlot,
    PackedCall,
    ScalarSlot,
    ShapeSlot,
    Slot,
    TensorSlot,
    TupleSlot,
)
from xdsl_tvm.lowering.runtime_symbols import CALL_FAILED
from xdsl_tvm.registry import new_context
from xdsl_tvm.runtime._objects import OBJECTS
from xdsl_tvm.runtime.packed_functions import load, store

Array: TypeAlias = "np.ndarray[Any, np.dtype[Any]]"
Externs: TypeAlias = Mapping[str, Callable[..., Any]]
BUILTINS: Externs = {PRINT: print}
"""Functions that need not be given."""

_DTYPES: dict[str, np.dtype[Any]] = {}


def _dtype(text: str) -> np.dtype[Any]:
    """numpy's dtype for the text of an MLIR type."""
    found = _DTYPES.get(text)
    if found is None:
        type_ = Parser(new_context(), text).parse_type()
        found = _DTYPES[text] = numpy_dtype(type_)
    return found


def check_externs(module: ModuleOp, externs: Externs) -> None:
    """Check that every function which a module calls by name is known.

    Raises PassFailedException, of one line, for one that is not.
    """
    from xdsl_tvm.analysis.all_ops import all_ops
    from xdsl_tvm.dialects.relax.cuda_graph import cuda_graph_call
    from xdsl_tvm.dialects.relax.packed import PackedCallOp

    for op in all_ops(module):
        if not isinstance(op, PackedCallOp) or cuda_graph_call(op) is not None:
            continue
        name = op.callee.data
        if name not in externs and name not in BUILTINS:
            raise PassFailedException(
                f"{op.name}: no function '{name}' is known; pass it, as in "
                f"compile(module, externs={{'{name}': …}})"
            )


_STATUSES = 1 << 30
_MOST_KEPT = 256


class _Calls(threading.local):
    """What a thread knows of the calls that it makes."""

    depth = 0
    """How many calls of compiled code are under way: 0 on the threads of the pool."""
    error: BaseException | None = None
    kept: Any = None


class Tensors:
    """Tensors of compiled code in the memory of the host, as arrays of numpy."""

    def at(
        self,
        address: int,
        shape: tuple[int, ...],
        dtype: np.dtype[Any],
        *,
        writable: bool,
    ) -> Any:
        """The array on memory that the compiled code keeps for the time of the call."""
        size = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
        if not size:
            return np.empty(shape, dtype)
        memory = memoryview((ctypes.c_char * size).from_address(address))
        array: Array = np.frombuffer(memory, dtype).reshape(shape)
        array.flags.writeable = writable
        return array

    def shown(self, value: Any) -> Any:
        """What a message says of a value."""
        return value

    def put(
        self,
        value: Any,
        address: int,
        shape: tuple[int, ...],
        dtype: np.dtype[Any],
        what: str,
    ) -> None:
        """Copy a result to where it belongs. Raises ValueError for another type."""
        target = self.at(address, shape, dtype, writable=True)
        target[...] = checked(np.asarray(value), shape, dtype, what)


class PackedCalls:
    """The function that compiled code calls, for the externs of one module.

    An exception of an extern ends the call of the compiled function, which raises it.
    """

    def __init__(
        self,
        externs: Externs,
        functions: Callable[[str], Callable[..., Any]],
        tensors: Tensors | None = None,
    ) -> None:
        """`functions` gives those of the module, which it passes by name."""
        self._externs = {**BUILTINS, **externs}
        self._functions = functions
        self._tensors = Tensors() if tensors is None else tensors
        self._calls: dict[bytes, PackedCall] = {}
        self._thread = _Calls()
        self._numbers = itertools.count(1)
        self._on_other_threads: dict[int, BaseException] = {}
        """By number: of parallel loops, whose threads are not the one that calls."""
        kind = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p)
        self._function = kind(self._enter)
        # Name, arguments, type codes, their number, result and its type code.
        pointer = ctypes.c_void_p
        with_slots = ctypes.CFUNCTYPE(
            ctypes.c_int32, pointer, pointer, pointer, ctypes.c_int32, pointer, pointer
        )
        self._with_slots = with_slots(self._enter_with_slots)

    @property
    def address(self) -> int:
        """Where compiled code finds the function; valid as long as this object."""
        found = ctypes.cast(self._function, ctypes.c_void_p).value
        assert found is not None
        return found

    @property
    def slots_address(self) -> int:
        """Where compiled code finds the function for calls with packed arguments."""
        found = ctypes.cast(self._with_slots, ctypes.c_void_p).value
        assert found is not None
        return found

    @contextmanager
    def calling(self) -> Generator[None]:
        """For the time of a call of compiled code, which this thread makes."""
        self._thread.depth += 1
        try:
            with OBJECTS.calling():
                yield
        finally:
            self._thread.depth -= 1

    def take_error(self, message: str, number: int) -> BaseException | None:
        """The exception that ended a call of this thread, which is forgotten.

        `message` and `number` are those that the call left. None if something else ended
        it.
        """
        error, self._thread.error = self._thread.error, None
        if error is not None or CALL_FAILED not in message:
            return error
        return self._on_other_threads.pop(number, None)

    def _raised(self, error: BaseException) -> int:
        """Keeps an exception; gives the status that compiled code is to report."""
        if self._thread.depth:
            self._thread.error = error
            return 1
        number = next(self._numbers) % _STATUSES + 1
        self._on_other_threads[number] = error
        if len(self._on_other_threads) > _MOST_KEPT:
            # Of several that fail in one loop, the call reports one.
            with suppress(KeyError, RuntimeError, StopIteration):
                del self._on_other_threads[next(iter(self._on_other_threads))]
        return number

    def _enter(self, text: int, cells: int) -> int:
        try:
            self._run(self._call_of(ctypes.string_at(text)), cells)
        except BaseException as error:  # it must not pass through compiled code
            return self._raised(error)
        return 0

    def _enter_with_slots(
        self, name: int, values: int, codes: int, count: int, result: int, code: int
    ) -> int:
        try:
            called = ctypes.string_at(name).decode()
            function = self._externs.get(called)
            if function is None:
                raise RuntimeError(
                    f"no function '{called}' is known; pass it, as in "
                    f"compile(module, externs={{'{called}': …}})"
                )
            arguments = [load(values, codes, slot) for slot in range(count)]
            # What is returned lives until the next call of this thread returns something.
            self._thread.kept = store(result, code, 0, function(*arguments))
        except BaseException as error:  # it must not pass through compiled code
            return self._raised(error)
        return 0

    def _call_of(self, text: bytes) -> PackedCall:
        found = self._calls.get(text)
        if found is None:
            found = self._calls[text] = PackedCall.parse(text.decode())
        return found

    def _run(self, call: PackedCall, address: int) -> None:
        count = sum(slot.cells for slot in (*call.arguments, *call.results))
        cells = (ctypes.c_int64 * count).from_address(address)
        reader = iter(cells)
        values = [self._read(slot, reader) for slot in call.arguments]
        if call.kind in ("assert", "print"):
            values = [self._tensors.shown(value) for value in values]
        if call.kind == "assert":
            raise RuntimeError(f"assertion failed: {format_message(call.format, values)}")
        if call.kind == "print":
            values = [format_message(call.format, values)]
        function = self._externs.get(call.callee)
        if function is None:
            raise RuntimeError(f"no function '{call.callee}' is known; pass it as extern")
        _Results(call, cells, self._tensors).take(function(*values))

    def _read(self, slot: Slot, cells: Iterator[int]) -> Any:
        match slot:
            case TensorSlot():
                return self._tensors.at(
                    *_place(slot, cells), writable=not slot.is_constant
                )
            case ScalarSlot():
                return _number(slot, next(cells))
            case ShapeSlot():
                return tuple(next(cells) for _ in range(slot.rank))
            case ObjectSlot():
                return OBJECTS.value(next(cells))
            case FunctionSlot():
                return self._functions(slot.name)
            case TupleSlot():
                return tuple(self._read(inner, cells) for inner in slot.fields)


class _Results:
    """Where the results of one call go."""

    def __init__(self, call: PackedCall, cells: Any, tensors: Tensors) -> None:
        self._tensors = tensors
        self._call = call
        self._cells = cells
        self._position = sum(slot.cells for slot in call.arguments)

    def take(self, found: Any) -> None:
        """Put what the function has returned where the compiled code expects it."""
        results = self._call.results
        if not results:
            return
        values = self._fields(found)
        for number, (slot, place, value) in enumerate(
            zip(results, self._call.inplace, values, strict=True)
        ):
            if place < 0:
                self._put(slot, value, number)
            self._position += slot.cells

    def _fields(self, found: Any) -> Sequence[Any]:
        count = len(self._call.results)
        if count == 1 and _is_whole(self._call.results[0], found):
            return (found,)
        if found is None and all(place >= 0 for place in self._call.inplace):
            return (None,) * count
        if isinstance(found, tuple):
            fields = cast(tuple[Any, ...], found)
            if len(fields) == count:
                return fields
            if count == 1:
                return (fields,)
        raise TypeError(f"'{self._call.callee}' must return a tuple of {count}")

    def _put(self, slot: Slot, value: Any, number: int) -> None:
        what = f"result {number} of '{self._call.callee}'"
        position = self._position
        match slot:
            case TensorSlot():
                reader = iter(self._cells[position : position + slot.cells])
                self._tensors.put(value, *_place(slot, reader), what)
            case ShapeSlot():
                dims = tuple(_integer(extent, f"an extent of {what}") for extent in value)
                if len(dims) != slot.rank:
                    raise ValueError(f"{what} must have rank {slot.rank}, got {dims}")
                if not all(0 <= extent < 1 << 63 for extent in dims):
                    raise ValueError(f"{what} must hold extents of 64 bits, got {dims}")
                self._cells[position : position + slot.rank] = dims
            case ScalarSlot():
                self._cells[position] = _bits(slot, value, what)
            case ObjectSlot():
                self._cells[position] = OBJECTS.number(value)
            case FunctionSlot() | TupleSlot():
                raise AssertionError("results are flat, and no functions")


def _is_whole(slot: Slot, value: object) -> bool:
    """Whether a value is the only result itself, and not a tuple that holds it."""
    if not isinstance(value, tuple):
        return True
    fields = cast(tuple[object, ...], value)
    is_nested = any(isinstance(field, tuple | list) for field in fields)
    return isinstance(slot, ShapeSlot) and not is_nested


def _integer(value: Any, what: str) -> int:
    try:
        return operator.index(value)
    except TypeError:
        kind = type(value).__name__
        raise TypeError(f"{what} must be an integer, got {kind}") from None


def checked(
    value: Array, shape: tuple[int, ...], dtype: np.dtype[Any], what: str
) -> Array:
    """The value. Raises ValueError unless it has the shape and dtype."""
    if value.dtype != dtype or value.shape != shape:
        raise ValueError(
            f"{what} must be {dtype}{list(shape)}, got {value.dtype}{list(value.shape)}"
        )
    return value


def _place(
    slot: TensorSlot, cells: Iterator[int]
) -> tuple[int, tuple[int, ...], np.dtype[Any]]:
    """Address, shape and dtype of a tensor."""
    address = next(cells)
    return address, tuple(next(cells) for _ in range(slot.rank)), _dtype(slot.dtype)


def _number(slot: ScalarSlot, bits: int) -> Any:
    dtype = _dtype(slot.dtype)
    if dtype.kind == "b":
        return bool(bits & 1)
    if dtype.kind == "u":
        return bits & ((1 << 8 * dtype.itemsize) - 1)
    return bits if dtype.kind == "i" else struct.unpack("<d", struct.pack("<q", bits))[0]


def _bits(slot: ScalarSlot, value: Any, what: str) -> int:
    dtype = _dtype(slot.dtype)
    if dtype.kind not in "iub":
        return struct.unpack("<q", struct.pack("<d", float(value)))[0]
    if dtype.kind == "b":
        return int(bool(value))
    low, high = int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)
    number = _integer(value, what)
    if not low <= number <= high:
        raise ValueError(f"{what} must be within {low} and {high}, got {number}")
    return number
