"""Failed assertions of compiled code, as Python exceptions."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from xdsl_tvm.lowering.runtime_symbols import (
    ASSERT_FAIL,
    DRIVER_FAILED,
    OUT_OF_MEMORY,
    failed_number,
)

if TYPE_CHECKING:
    from xdsl_tvm.runtime.packed_calls import PackedCalls

_HEAD = 2
"""The words of a slot: the address of the message, and that of the numbers."""


class FailedAssert:
    """Gives each call of a module a slot in which it stores the message of a failure.

    Calls that are under way share nothing, so there may be any number of them, on several
    threads or within each other. A slot serves one after another, until one fails.
    """

    def __init__(
        self,
        numbers: int,
        packed: PackedCalls | None = None,
        error_name: Callable[[int], str] = str,
    ) -> None:
        self._type = ctypes.c_int64 * (_HEAD + numbers)
        self._free: list[tuple[Any, int]] = []
        """Slots that no call uses, and their addresses."""
        self._packed = packed
        self._error_name = error_name
        """The name of an error of the driver."""

    def guard(self, function: Any, *arguments: Any) -> Any:
        """The result of a function that reports; the slot is its last argument.

        Raises what a Python function raised that the code has called, MemoryError if
        memory could not be allocated, and RuntimeError for another failed assertion.
        """
        try:
            free = self._free.pop()
        except IndexError:
            free = self._new_slot()
        slot, address = free
        if self._packed is None:
            result = function(*arguments, address)
        else:
            with self._packed.calling():
                result = function(*arguments, address)
        if slot[0]:
            text = ctypes.string_at(slot[0]).decode(errors="replace")
            raise self._error(text, slot[_HEAD:])
        self._free.append(free)
        return result

    def _new_slot(self) -> tuple[Any, int]:
        slot = self._type()
        address = ctypes.addressof(slot)
        slot[1] = address + _HEAD * ctypes.sizeof(ctypes.c_int64)
        return slot, address

    def _error(self, text: str, numbers: list[int]) -> BaseException:
        number = numbers[0] if numbers else 0
        raised = None if self._packed is None else self._packed.take_error(text, number)
        if raised is not None:
            return raised
        if text.startswith(DRIVER_FAILED):
            what, _, _ = text.removeprefix(DRIVER_FAILED).rpartition(": ")
            return RuntimeError(f"{what}: {self._error_name(number)}")
        if text.startswith(ASSERT_FAIL):
            return RuntimeError(text)
        for place, value in enumerate(numbers):
            text = text.replace(f"{{{failed_number(place)}}}", str(value))
        if text.startswith(OUT_OF_MEMORY):
            return MemoryError(text)
        return RuntimeError(f"assertion failed: {text}")
