"""Arguments of packed functions: values with type codes, and arrays as DLTensors.

docs/spec/tir-passes-d-abi-and-pipelines.md III.1. Numbers are bytes of memory, as in
compiled code; a handle is what it names: a `Pointer`, a `DLTensor`, a string, or None for
null. So that what a program does wrong is found, numbers are not read as handles.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np
from xdsl.ir import Attribute

from xdsl_tvm.dialects import tir
from xdsl_tvm.dialects.tir.builtin_rules import StructField
from xdsl_tvm.dialects.tir.data_types import (
    TYPE_INDICES,
    Abi,
    DataType,
    TypeCode,
    data_type,
)
from xdsl_tvm.interpreters.data.memory import (
    Memory,
    Pointer,
    Tensor,
    memory_of,
    passed_out,
)
from xdsl_tvm.interpreters.data.numbers import Number, number
from xdsl_tvm.interpreters.errors import (
    ArgumentError,
    OutOfBoundsError,
    SimulationError,
    UninitializedReadError,
)

_INT64 = number(tir.parse_dtype("int64"))
_INT32 = number(tir.parse_dtype("int32"))
_SLOT = 8
_FIELDS = {
    StructField.ARRAY_DATA: "data",
    StructField.ARRAY_SHAPE: "shape",
    StructField.ARRAY_STRIDES: "strides",
    StructField.ARRAY_NDIM: "ndim",
    StructField.ARRAY_TYPE_CODE: "code",
    StructField.ARRAY_TYPE_BITS: "bits",
    StructField.ARRAY_TYPE_LANES: "lanes",
    StructField.ARRAY_BYTE_OFFSET: "byte_offset",
    StructField.ARRAY_DEVICE_ID: "device_id",
    StructField.ARRAY_DEVICE_TYPE: "device_type",
}


@dataclass
class DLTensor:
    """An array as packed functions get it. A field that is not set is no attribute."""

    data: Pointer | None
    shape: Pointer | None
    """The extents, int64."""
    strides: Pointer | None
    """The strides in elements, int64; None for a compact array."""
    ndim: int
    code: int
    bits: int
    lanes: int
    byte_offset: int = 0
    device_type: int = 1
    device_id: int = 0

    @staticmethod
    def of(
        array: np.ndarray[Any, Any], lanes: int = 1, abi: Abi = Abi.PACKED
    ) -> DLTensor:
        """The array, not copied; with lanes, its last dimension are those of vectors.

        Raises ArgumentError for a dtype that DLPack has no code for.
        """
        element = data_type_of(array.dtype, abi)
        shape, strides = array.shape, array.strides
        if lanes > 1:
            shape, strides = shape[:-1], strides[:-1]
        size = array.itemsize * lanes
        steps = None if array.flags.c_contiguous else [step // size for step in strides]
        return DLTensor(
            array.pointer
            if isinstance(array, Tensor) and array.pointer is not None
            else memory_of(array),
            _integers(shape),
            None if steps is None else _integers(steps),
            len(shape),
            element.code,
            element.bits,
            lanes,
        )

    def array(self) -> np.ndarray[Any, Any]:
        """The elements, not copied, which an external function may write to."""
        dtype = dtype_of(self.code, self.bits)
        extents = _read(self.shape, self.ndim)
        if self.lanes > 1:
            extents = [*extents, self.lanes]
        if self.data is None:
            return np.empty(extents, dtype)
        first = cast(Pointer, passed_out(self.data)).at(self.byte_offset, 1)
        flat = first.array(dtype)
        if self.strides is None:
            count = int(np.prod(extents, dtype=np.int64))
            if count > flat.size:
                raise OutOfBoundsError(
                    f"an array of {count} elements has memory for {flat.size}"
                )
            return Tensor.at(first, flat[:count].reshape(extents))
        size = dtype.itemsize * self.lanes
        steps = [step * size for step in _read(self.strides, self.ndim)]
        if self.lanes > 1:
            steps.append(dtype.itemsize)
        strided = np.lib.stride_tricks.as_strided(flat, extents, steps)
        return Tensor.at(first, strided)


class TensorArray(list[DLTensor]):
    """DLTensors in a row, on the stack of a program."""


def tensors_on_stack(count: int) -> TensorArray:
    """`count` DLTensors whose fields are not set."""
    return TensorArray(DLTensor.__new__(DLTensor) for _ in range(count))


def _integers(values: Sequence[int]) -> Pointer | None:
    if not values:
        return None
    return memory_of(np.array(values, np.int64), _INT64)


def _read(integers: Pointer | None, count: int) -> list[int]:
    if integers is None:
        return []
    return [int(each) for each in integers.array(_INT64.storage)[:count]]


def _dtypes(abi: Abi) -> dict[tuple[int, int], Attribute]:
    names = (
        "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64 "
        "bfloat16 float8_e4m3fn float8_e5m2"
    )
    found: dict[tuple[int, int], Attribute] = {}
    for name in names.split():
        dtype = tir.parse_dtype(name)
        code, bits, _ = data_type(dtype, abi)
        found[code, bits] = dtype
    return found


_DTYPES = {abi: _dtypes(abi) for abi in Abi}
_CODES = {
    abi: {tir.dtype_name(dtype): key for key, dtype in known.items()}
    for abi, known in _DTYPES.items()
}
"""By name, as numpy and ml_dtypes have them, too: ml_dtypes may be missing."""


def data_type_of(dtype: np.dtype[Any], abi: Abi = Abi.PACKED) -> DataType:
    """DLPack's numbers for a dtype of numpy; ArgumentError for one without."""
    found = _CODES[abi].get(dtype.name)
    if found is None or number(_DTYPES[abi][found]).storage != dtype:
        raise ArgumentError(f"an array of dtype {dtype} is no argument; convert it")
    return DataType(*found, 1)


def dtype_of(code: int, bits: int, abi: Abi = Abi.PACKED) -> np.dtype[Any]:
    """The dtype of numpy for DLPack's numbers; SimulationError for one without, and
    InterpretationError for one of ml_dtypes if that is missing."""
    found = _DTYPES[abi].get((code, bits))
    if found is None:
        raise SimulationError(
            f"an array has the type code {code} with {bits} bits, which no dtype has"
        )
    return number(found).storage


# ---- values ----


@dataclass
class PackedValues:
    """Slots of packed values, from `begin` on, and what the handles among them name."""

    memory: Memory
    handles: dict[int, Any] = field(default_factory=dict[int, Any])
    begin: int = 0

    @staticmethod
    def allocate(count: int) -> PackedValues:
        """`count` slots that nobody has written yet."""
        return PackedValues(Memory.allocate(count * _SLOT))

    def from_slot(self, slot: int) -> PackedValues:
        """The slots from one on."""
        return PackedValues(self.memory, self.handles, self.begin + slot)

    def address(self, slot: int) -> Pointer:
        """The memory of a slot, for a result."""
        self.handles.pop(self.begin + slot, None)
        return Pointer.to(self.memory, None, self._start(slot))

    def _start(self, slot: int) -> int:
        start = (self.begin + slot) * _SLOT
        if not 0 <= start <= len(self.memory.bytes) - _SLOT:
            raise OutOfBoundsError(f"the slot {slot} is outside of the stack of values")
        return start

    def store(self, slot: int, value: Any, element: Number | None) -> None:
        """Write a number of 64 bits, or a handle for None as dtype."""
        start = self._start(slot)
        if element is None:
            self.handles[self.begin + slot] = value
            data = struct.pack("<q", 0 if value is None else 1)
        else:
            self.handles.pop(self.begin + slot, None)
            data = struct.pack("<d" if element.is_float else "<q", value)
        self.memory.bytes[start : start + _SLOT] = data
        if self.memory.mask is not None:
            self.memory.mask[start : start + _SLOT] = b"\1" * _SLOT

    def load(self, slot: int, element: Number | None) -> Any:
        """Read a number of 64 bits, or a handle for None as dtype."""
        start = self._start(slot)
        mask = self.memory.mask
        if mask is not None and not all(mask[start : start + _SLOT]):
            raise UninitializedReadError(
                f"the slot {slot} is read, but was never written"
            )
        is_handle = self.begin + slot in self.handles
        if is_handle is not (element is None):
            found, wanted = ("a handle", "a number") if is_handle else ("a number", "one")
            raise SimulationError(
                f"the slot {slot} holds {found}, and is read as {wanted}"
            )
        if element is None:
            return self.handles[self.begin + slot]
        data = self.memory.bytes[start : start + _SLOT]
        found = struct.unpack("<d" if element.is_float else "<q", data)[0]
        return element.storage.type(found) if element.is_float else found


def type_codes(count: int) -> Pointer:
    """Memory for the type codes of so many values."""
    return Pointer.to(Memory.allocate(count * _INT32.size), _INT32)


def set_code(codes: Pointer, slot: int, code: int) -> None:
    """Write the type code of a slot."""
    start = codes.offset + slot * _INT32.size
    codes.memory.bytes[start : start + _INT32.size] = struct.pack("<i", int(code))
    if codes.memory.mask is not None:
        codes.memory.mask[start : start + _INT32.size] = b"\1" * _INT32.size


def code_at(codes: Pointer, slot: int) -> int:
    """Read the type code of a slot."""
    return int(codes.array(_INT32.storage)[slot])


_REAL = number(tir.parse_dtype("float64"))


def scalar_of(value: object) -> tuple[TypeCode, int | float] | None:
    """The type code and the number that a number, a truth value or None is passed as;
    None for anything else."""
    if value is None:
        return TypeCode.NULL, 0
    if isinstance(value, bool | np.bool_):
        return TypeCode.BOOL, int(cast(bool, value))
    if isinstance(value, int | np.integer):
        return TypeCode.INT, int(_INT64.wrap(int(cast(int, value))))
    if isinstance(value, float | np.floating) or _is_narrow_float(value):
        return TypeCode.FLOAT, float(cast(float, value))
    return None


def pack(values: PackedValues, codes: Pointer, slot: int, value: Any) -> None:
    """Write an argument or a result, and its type code.

    Raises ArgumentError for what packed functions do not take.
    """
    scalar = scalar_of(value)
    if value is None:
        code, dtype = TypeCode.NULL, None
    elif scalar is not None:
        code, value = scalar
        dtype = _REAL if code is TypeCode.FLOAT else _INT64
    else:
        code, value = _handle_of(value)
        dtype = None
    values.store(slot, value, dtype)
    set_code(codes, slot, code)


def _handle_of(value: Any) -> tuple[TypeCode, Any]:
    match value:
        case str():
            return TypeCode.STRING, value
        case np.ndarray():
            array = cast("np.ndarray[Any, Any]", value)
            return TypeCode.DLTENSOR, DLTensor.of(array)
        case DLTensor():
            return TypeCode.DLTENSOR, value
        case Pointer():
            return TypeCode.HANDLE, value
        case _:
            raise ArgumentError(
                f"a value of type {type(value).__name__} is no packed argument"
            )


def _is_narrow_float(value: object) -> bool:
    return type(value).__module__ == "ml_dtypes"


def unpack(values: PackedValues, codes: Pointer, slot: int) -> Any:
    """An argument or a result; arrays as DLTensors."""
    code = code_at(codes, slot)
    match code:
        case TypeCode.INT:
            return values.load(slot, _INT64)
        case TypeCode.BOOL:
            return bool(values.load(slot, _INT64))
        case TypeCode.FLOAT:
            return float(values.load(slot, _REAL))
        case TypeCode.NULL:
            return None
        case _:
            return values.load(slot, None)


_TYPE_CODES = {int(index): code for code, index in TYPE_INDICES.items()}


@dataclass
class AnyValues:
    """Values of `tvm-ffi`, which say what they are, in a row."""

    contents: PackedValues
    types: Pointer

    @staticmethod
    def allocate(count: int) -> AnyValues:
        """So many values that nobody has written yet."""
        return AnyValues(PackedValues.allocate(count), type_codes(count))

    def pack(self, index: int, value: Any) -> None:
        """Write an argument; ArgumentError for what functions do not take."""
        pack(self.contents, self.types, index, value)
        code = TypeCode(code_at(self.types, index))
        set_code(self.types, index, TYPE_INDICES[code])

    def unpack(self, index: int) -> Any:
        """Read a result."""
        codes = type_codes(1)
        found = code_at(self.types, index)
        if found not in _TYPE_CODES:
            raise SimulationError(f"a result has the type index {found}, which none has")
        set_code(codes, 0, _TYPE_CODES[found])
        return unpack(self.contents.from_slot(index), codes, 0)


# ---- fields ----


def struct_get(base: Any, index: int, field_number: int, element: Number | None) -> Any:
    """What `tvm_struct_get` reads."""
    kind = StructField(field_number)
    if kind is StructField.VALUE_CONTENT:
        return _values_at(base).load(index, element)
    if kind >= StructField.ANY_TYPE_INDEX:
        return _any_get(base, index, kind, element)
    tensor = _tensor_at(base, index)
    if kind is StructField.ARRAY_ADDRESS:
        return tensor
    name = _FIELDS[kind]
    if name not in vars(tensor):
        raise UninitializedReadError(f"the field {name} of an array is read, but not set")
    return getattr(tensor, name)


def struct_set(
    base: Any, index: int, field_number: int, value: Any, element: Number | None
) -> int:
    """Write what `tvm_struct_get` reads; 0."""
    kind = StructField(field_number)
    if kind is StructField.VALUE_CONTENT:
        _values_at(base).store(index, value, element)
    elif kind >= StructField.ANY_TYPE_INDEX:
        _any_set(base, index, kind, value, element)
    else:
        setattr(_tensor_at(base, index), _FIELDS[kind], value)
    return 0


def _any_get(base: Any, index: int, kind: StructField, element: Number | None) -> Any:
    values = _any_at(base)
    if kind is StructField.ANY_TYPE_INDEX:
        return _INT32.storage.type(code_at(values.types, index))
    if kind is StructField.ANY_PADDING:
        return _INT32.storage.type(0)
    return values.contents.load(index, element)


def _any_set(
    base: Any, index: int, kind: StructField, value: Any, element: Number | None
) -> None:
    values = _any_at(base)
    match kind:
        case StructField.ANY_TYPE_INDEX:
            set_code(values.types, index, value)
        case StructField.ANY_VALUE:
            values.contents.store(index, value, element)
        case StructField.ANY_PADDING:
            if value:
                raise SimulationError("the padding of a value must be zero")
        case _:
            raise SimulationError("the pointer in a value is read only")


def _any_at(base: Any) -> AnyValues:
    if not isinstance(base, AnyValues):
        raise SimulationError("values of tvm-ffi are read of what holds none")
    return base


def _values_at(base: Any) -> PackedValues:
    if not isinstance(base, PackedValues):
        raise SimulationError("packed values are read of what holds none")
    return base


def _tensor_at(base: Any, index: int) -> DLTensor:
    if isinstance(base, DLTensor) and index == 0:
        return base
    if not isinstance(base, TensorArray):
        raise SimulationError("a field of an array is read of what is none")
    if not 0 <= index < len(base):
        raise OutOfBoundsError(f"array {index} of {len(base)} on the stack is used")
    return base[index]
