"""Functions of the packed conventions, called with values of Python.

docs/spec/tir-passes-d-abi-and-pipelines.md III.1. Arguments are 64-bit slots with type
codes, or, in the convention of `tvm-ffi`, values that say what they are; an array is the
address of a DLTensor on its memory, which is not copied.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from xdsl.utils.exceptions import InterpretationError

from xdsl_tvm.dialects.tir.data_types import TYPE_INDICES, Abi, TypeCode
from xdsl_tvm.interpreters.data.packed import data_type_of, dtype_of, scalar_of

Array = np.ndarray[Any, np.dtype[Any]]
CODE_BYTES = ctypes.sizeof(ctypes.c_int32)
SLOT_BYTES = ctypes.sizeof(ctypes.c_int64)
_POINTERS = (TypeCode.HANDLE, TypeCode.DLTENSOR, TypeCode.NDARRAY, TypeCode.STRING)


class DLTensor(ctypes.Structure):
    """DLPack's structure, as compiled code reads it."""

    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    )

    @staticmethod
    def of(array: Array, abi: Abi = Abi.PACKED) -> DLTensor:
        """The structure of an array, which it keeps; the memory is not copied.

        Raises ValueError for a dtype that DLPack has no code for, and for an array that
        is read-only, since compiled code may write to it.
        """
        if not array.flags.writeable:
            raise ValueError("the array is read-only; pass a copy of it")
        strides = None if array.flags.c_contiguous else array.strides
        found = DLTensor.described(
            array.ctypes.data, array.shape, strides, array.dtype, (1, 0), abi
        )
        found.array = array
        return found

    @staticmethod
    def described(
        address: int,
        shape: Sequence[int],
        strides: Sequence[int] | None,
        dtype: np.dtype[Any],
        device: tuple[int, int],
        abi: Abi,
    ) -> DLTensor:
        """The structure of memory of a device, with strides in bytes.

        Raises ValueError for a dtype that DLPack has no code for.
        """
        try:
            element = data_type_of(dtype, abi)
        except InterpretationError as error:
            raise ValueError(str(error)) from None
        return DLTensor(
            address,
            *device,
            len(shape),
            element.code,
            element.bits,
            element.lanes,
            _integers(shape),
            None
            if strides is None
            else _integers([s // dtype.itemsize for s in strides]),
            0,
        )

    def view(self) -> Array:
        """The elements, on the same memory.

        Raises ValueError for a dtype that numpy does not have.
        """
        try:
            dtype = dtype_of(self.code, self.bits)
        except InterpretationError as error:
            raise ValueError(str(error)) from None
        extents = list(self.shape[: self.ndim]) if self.ndim else []
        size = dtype.itemsize
        if self.lanes != 1:
            extents.append(self.lanes)
        if not self.data or 0 in extents:
            return np.empty(extents, dtype)
        if self.strides:
            steps = [step * size * self.lanes for step in self.strides[: self.ndim]]
            steps += [size] if self.lanes != 1 else []
        else:
            steps = _compact(extents, size)
        spans = [(e - 1) * s for e, s in zip(extents, steps, strict=True)]
        before = sum(span for span in spans if span < 0)
        after = sum(span for span in spans if span > 0)
        start = self.data + self.byte_offset + before
        memory = (ctypes.c_char * (after - before + size)).from_address(start)
        return np.ndarray(extents, dtype, cast(Any, memory), -before, steps)


def _compact(extents: Sequence[int], size: int) -> list[int]:
    steps: list[int] = []
    for extent in reversed(extents):
        steps.insert(0, size)
        size *= extent
    return steps


def _integers(values: Sequence[int]) -> Any:
    return (ctypes.c_int64 * len(values))(*values)


class AnyValue(ctypes.Structure):
    """A value of `tvm-ffi`: what it is, and 64 bits."""

    _fields_ = (
        ("type_index", ctypes.c_int32),
        ("padding", ctypes.c_int32),
        ("content", ctypes.c_int64),
    )


_CONTENT = AnyValue.content.offset
_TYPE_CODES = {int(index): code for code, index in TYPE_INDICES.items()}


def store(values: int, codes: int, slot: int, value: Any) -> Any:
    """Write a value and its type code to the slots at two addresses.

    Gives what must live as long as the slot is read. Raises TypeError for what is no
    packed value.
    """
    code, kept = _write(values + slot * SLOT_BYTES, value, Abi.PACKED)
    ctypes.c_int32.from_address(codes + slot * CODE_BYTES).value = int(code)
    return kept


def _store_any(to: AnyValue, value: Any) -> Any:
    """The same for a value of `tvm-ffi`."""
    code, kept = _write(ctypes.addressof(to) + _CONTENT, value, Abi.FFI)
    to.type_index = TYPE_INDICES[code]
    return kept


def _write(address: int, value: Any, abi: Abi) -> tuple[TypeCode, Any]:
    """Write a value to a slot; its type code, and what must live as long as the slot."""
    scalar = scalar_of(value)
    kept: Any = None
    if scalar is not None:
        code, number = scalar
        if code is TypeCode.FLOAT:
            ctypes.c_double.from_address(address).value = number
        else:
            ctypes.c_int64.from_address(address).value = int(number)
    else:
        code, pointer, kept = _pointer_of(value, abi)
        ctypes.c_void_p.from_address(address).value = pointer
    return code, kept


def _pointer_of(value: Any, abi: Abi) -> tuple[TypeCode, int | None, Any]:
    """The type code and the address of a value that is no number, and what keeps it."""
    match value:
        case str():
            text = ctypes.create_string_buffer(value.encode())
            return TypeCode.STRING, ctypes.addressof(text), text
        case DLTensor():
            return TypeCode.DLTENSOR, ctypes.addressof(value), value
        case ctypes.c_void_p():
            return TypeCode.HANDLE, value.value, value
        case np.ndarray():
            return _pointer_of(DLTensor.of(cast(Array, value), abi), abi)
        case _ if hasattr(value, "__dlpack__"):
            return _pointer_of(DLTensor.of(np.from_dlpack(value), abi), abi)
        case _:
            raise TypeError(
                f"a value of type {type(value).__name__} is no packed argument; pass "
                "numbers, strings, arrays or None"
            )


def load(values: int, codes: int, slot: int) -> Any:
    """The value in the slot at two addresses; arrays on the memory, not copied."""
    code = ctypes.c_int32.from_address(codes + slot * CODE_BYTES).value
    return _read(values + slot * SLOT_BYTES, code)


def _read(address: int, code: int) -> Any:
    match code:
        case TypeCode.INT:
            return ctypes.c_int64.from_address(address).value
        case TypeCode.BOOL:
            return bool(ctypes.c_int64.from_address(address).value)
        case TypeCode.FLOAT:
            return ctypes.c_double.from_address(address).value
        case TypeCode.NULL:
            return None
        case _:
            return _pointed(code, ctypes.c_void_p.from_address(address).value)


def _pointed(code: int, address: int | None) -> Any:
    if address is None or code not in _POINTERS:
        return None
    if code == TypeCode.STRING:
        return ctypes.string_at(address).decode(errors="replace")
    if code == TypeCode.HANDLE:
        return ctypes.c_void_p(address)
    return DLTensor.from_address(address).view()


@dataclass(frozen=True)
class PackedSignature:
    """A function of a packed convention: its arguments are checked by its code."""

    function: str
    abi: Abi = Abi.PACKED

    def __str__(self) -> str:
        return f"@{self.function}(*args)"


_POINTER = ctypes.c_void_p
ENTRY_TYPES: Mapping[Abi, Sequence[Any]] = {
    Abi.PACKED: (_POINTER, _POINTER, ctypes.c_int32, _POINTER, _POINTER, _POINTER),
    Abi.FFI: (_POINTER, _POINTER, ctypes.c_int32, _POINTER),
}
"""The types of the parameters."""


class PackedFunction:
    """A compiled function of a packed convention.

    Call it with the arguments that the function had before MakePackedAPI: numbers,
    strings, None, arrays that numpy or DLPack know, which are not copied, and `DLTensor`.
    It returns a number, or None.
    """

    def __init__(
        self,
        signature: PackedSignature,
        entry: Callable[..., int],
        address: int,
        bound: Sequence[Any] = (),
    ) -> None:
        self.signature = signature
        self._bound = tuple(bound)
        self.address = address
        """Where its code is, for other languages; -1 is the status of a failure."""
        self._entry = entry

    def bind(self, *trailing: Any, **named: Any) -> PackedFunction:
        """The function with its last arguments given once.

        Raises TypeError for names, which the convention does not have.
        """
        self._refuse_names(named)
        bound = (*trailing, *self._bound)
        return PackedFunction(self.signature, self._entry, self.address, bound)

    def _refuse_names(self, named: Mapping[str, Any]) -> None:
        if named:
            raise TypeError(
                f"{self.signature}: the packed convention has no names of parameters; "
                "pass them in order"
            )

    def __call__(self, *args: Any, **named: Any) -> Any:
        """Call the function.

        Raises RuntimeError where a check of the function fails, with its message, or a
        function that it calls; TypeError for what is no packed argument; ValueError for
        an array that cannot be passed; and what a Python function raises that it calls.
        """
        self._refuse_names(named)
        args += self._bound
        ffi = self.signature.abi is Abi.FFI
        return self._call_ffi(args) if ffi else self._call_packed(args)

    def _call_ffi(self, args: Sequence[Any]) -> Any:
        values = (AnyValue * (len(args) + 1))()
        kept = [_store_any(values[at], argument) for at, argument in enumerate(args)]
        result = values[len(args)]
        status = self._entry(
            None, ctypes.addressof(values), len(args), ctypes.addressof(result)
        )
        del kept
        self._check(status)
        # A number, or None: whose type index is that of no other value.
        code = _TYPE_CODES[result.type_index]
        return _read(ctypes.addressof(result) + _CONTENT, code)

    def _check(self, status: int) -> None:
        if status:
            raise RuntimeError(f"{self.signature} returned the status {status}")

    def _call_packed(self, args: Sequence[Any]) -> Any:
        count = len(args)
        values = (ctypes.c_int64 * (count + 1))()
        codes = (ctypes.c_int32 * (count + 1))()
        slots, kinds = ctypes.addressof(values), ctypes.addressof(codes)
        kept = [
            store(slots, kinds, place, argument) for place, argument in enumerate(args)
        ]
        codes[count] = TypeCode.NULL
        result, code = slots + count * SLOT_BYTES, kinds + count * CODE_BYTES
        status = self._entry(slots, kinds, count, result, code, None)
        del kept
        self._check(status)
        return load(slots, kinds, count)

    def __repr__(self) -> str:
        """The name of the function."""
        return f"<{type(self).__name__} {self.signature}>"
