"""Calls by the packed convention in interpreted programs, and workspaces.

docs/spec/tir-passes-d-abi-and-pipelines.md III.1.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

import numpy as np

from xdsl_tvm.dialects import tir
from xdsl_tvm.dialects.tir.builtin_rules import StructField
from xdsl_tvm.dialects.tir.data_types import Abi, TypeCode
from xdsl_tvm.dialects.tir.target_kinds import DeviceType
from xdsl_tvm.interpreters.data.memory import Memory, Pointer, passed_out
from xdsl_tvm.interpreters.data.numbers import Number
from xdsl_tvm.interpreters.data.packed import (
    AnyValues,
    DLTensor,
    PackedValues,
    code_at,
    pack,
    set_code,
    type_codes,
    unpack,
)
from xdsl_tvm.interpreters.errors import SimulationError


class Workspaces:
    """The memory that programs take from the runtime and give back."""

    def __init__(self) -> None:
        self._open: dict[int, Memory] = {}

    @property
    def count(self) -> int:
        """How many were taken and not given back."""
        return len(self._open)

    def allocate(self, size: int) -> Pointer:
        """So many bytes."""
        memory = Memory.allocate(size)
        self._open[id(memory)] = memory
        return Pointer.to(memory, None)

    def free(self, pointer: Pointer | None) -> int:
        """Give memory back; 0."""
        if pointer is None or self._open.pop(id(pointer.memory), None) is None:
            raise SimulationError("memory is freed that is no workspace, or twice")
        return 0

    def reset(self) -> None:
        """Take all back, as the runtime does for a call that failed."""
        self._open.clear()


def device_type_of(func: tir.FuncOp) -> int:
    """The type of the device on which a packed function asks its arrays to be.

    It is what the field of the first array is compared with; 1, a CPU, where none is.
    """
    for call in func.walk():
        if not (isinstance(call, tir.CallOp) and call.callee.data == "tvm_struct_get"):
            continue
        if tir.constant_value(call.args[2]) != StructField.ARRAY_DEVICE_TYPE:
            continue
        for use in call.results[0].uses:
            if isinstance(use.operation, tir.CmpOp):
                expected = tir.constant_value(use.operation.operands[1 - use.index])
                if isinstance(expected, int):
                    return expected
    return int(DeviceType.CPU)


def call_packed_function(
    run: Callable[..., Any],
    name: str,
    values: Sequence[Any],
    device_type: int = 1,
    abi: Abi = Abi.PACKED,
) -> Any:
    """Call a function of a packed signature, `run`, with values; its result.

    Arrays count as those of the device. Raises ArgumentError for a value that is no
    packed argument.
    """
    values = [_on_device(value, device_type, abi) for value in values]
    if abi is Abi.FFI:
        return _call_ffi_function(run, name, values)
    slots, codes = PackedValues.allocate(len(values) + 1), type_codes(len(values) + 1)
    for index, value in enumerate(values):
        pack(slots, codes, index, value)
    call_with_slots(run, name, slots, codes, len(values))
    return unpack(slots, codes, len(values))


def _call_ffi_function(run: Callable[..., Any], name: str, values: Sequence[Any]) -> Any:
    """Call a function of the convention of `tvm-ffi`."""
    args, result = AnyValues.allocate(len(values)), AnyValues.allocate(1)
    for index, value in enumerate(values):
        args.pack(index, value)
    result.pack(0, None)
    status = run(None, args, len(values), result)
    if status:
        raise SimulationError(f"{name} returned the status {status}")
    return result.unpack(0)


def _on_device(value: Any, device_type: int, abi: Abi) -> Any:
    if not isinstance(value, np.ndarray):
        return value
    tensor = DLTensor.of(cast("np.ndarray[Any, Any]", value), abi=abi)
    tensor.device_type = device_type
    return tensor


def call_with_slots(
    run: Callable[..., Any],
    name: str,
    slots: PackedValues,
    codes: Pointer,
    count: int,
    resource: Any = None,
) -> None:
    """Call a function of the packed signature with arguments in slots.

    The result is in the slot after them. Raises SimulationError for a status that is not
    0.
    """
    set_code(codes, count, TypeCode.NULL)
    result, code = slots.address(count), codes.at(count, 4)
    status = run(slots, codes, count, result, code, resource)
    if status:
        raise SimulationError(f"{name} returned the status {status}")
    if code_at(codes, count) == TypeCode.NULL:
        pack(slots, codes, count, None)


def packed_result(
    slots: PackedValues, codes: Pointer, slot: int, element: Number | None
) -> Any:
    """The result in a slot as a value of the dtype of a call; 0 where there is none."""
    value = unpack(slots, codes, slot)
    if element is None:
        return value
    if value is None:
        return element.convert(0)
    if not isinstance(value, int | float):
        raise SimulationError(f"a function returned no number, but {value!r}")
    return element.convert(np.float64(value) if isinstance(value, float) else value)


def is_null_result(codes: Pointer, slot: int) -> bool:
    """Whether a function returned nothing."""
    return code_at(codes, slot) == TypeCode.NULL


def public_argument(value: Any) -> Any:
    """A packed argument as an external function gets it: arrays for DLTensors."""
    if isinstance(value, DLTensor):
        return value.array()
    return passed_out(value)


def _alloc_nd(workspaces: Workspaces) -> Callable[..., Pointer]:
    def alloc(
        _device_type: int,
        _device_id: int,
        _code: int,
        bits: int,
        _scope: str,
        rank: int,
        shape: Pointer,
    ) -> Pointer:
        extents = shape.array(np.dtype(np.int64))[:rank]
        return workspaces.allocate(int(np.prod(extents)) * ((bits + 7) // 8))

    return alloc


def _free_nd(workspaces: Workspaces) -> Callable[..., int]:
    def free(_type: int, _id: int, _scope: str, pointer: Pointer) -> int:
        return workspaces.free(pointer)

    return free


def _dma_copy(
    queue: int, target: Pointer, source: Pointer, size: int, bypass: int
) -> int:
    """A copy that is done at once."""
    end = target.offset + size
    start = source.offset
    if size < 0 or end > len(target.memory.bytes):
        raise SimulationError(f"a copy of {size} bytes leaves the memory it goes to")
    if start + size > len(source.memory.bytes):
        raise SimulationError(f"a copy of {size} bytes leaves the memory it comes from")
    target.memory.bytes[target.offset : end] = source.memory.bytes[start : start + size]
    target.memory.mark_written()
    return 0


def _zero(*values: Any) -> int:
    return 0


def runtime_functions(workspaces: Workspaces) -> Mapping[str, Callable[..., Any]]:
    """Functions of TVM's runtime that programs call by name."""
    return {
        "__tvm_prepare_global_barrier": _zero,
        "__tvm_set_device": _zero,
        "device_api.cpu.alloc_nd": _alloc_nd(workspaces),
        "device_api.cpu.free_nd": _free_nd(workspaces),
        "device_api.cpu.dma_copy": _dma_copy,
        "device_api.cpu.dma_wait": _zero,
        "device_api.cpu.dma_start_group": _zero,
        "device_api.cpu.dma_end_group": _zero,
    }
