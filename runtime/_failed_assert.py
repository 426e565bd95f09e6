"""Failed assertions of compiled code, as Python exceptions."""

from __future__ import annotations

import ctypes
import os
import threading
from collections.abc import Callable, Sequence
from typing import Any
from weakref import WeakSet

from xdsl_tvm.lowering.to_llvm.lower_assert import (
    ASSERT_FAIL,
    DRIVER_FAILED,
    OUT_OF_MEMORY,
    failed_number,
)
from xdsl_tvm.runtime.packed_calls import PackedCalls


class FailedAssert:
    """The global in which compiled code stores the message of a failed assertion.

    There is one per module, so calls of functions of modules with assertions wait for
    each other. A function that the code calls may call it again, on the same thread.
    """

    def __init__(
        self,
        address: int,
        numbers: Sequence[int],
        packed: PackedCalls | None,
        error_name: Callable[[int], str] = str,
    ) -> None:
        self._message = ctypes.c_int64.from_address(address)
        self._numbers = [ctypes.c_int64.from_address(each) for each in numbers]
        self._packed = packed
        self._error_name = error_name
        """The name of an error of the driver."""
        self._lock = threading.RLock()
        _FAILED_ASSERTS.add(self)

    def forget_threads(self) -> None:
        """Called in the child of a fork: threads of the parent may hold the lock."""
        self._lock = threading.RLock()

    def guard(self, function: Any, *arguments: Any) -> Any:
        """The function's result.

        Raises what a Python function raised that the code has called, MemoryError if
        memory could not be allocated, and RuntimeError for another failed assertion.
        """
        with self._lock:
            self._message.value = 0
            result = function(*arguments)
            address = self._message.value
            # Python may have been called from a call that goes on.
            self._message.value = 0
        if address:
            raise self._error(ctypes.string_at(address).decode(errors="replace"))
        return result

    def _with_numbers(self, text: str) -> str:
        for place, number in enumerate(self._numbers):
            text = text.replace(f"{{{failed_number(place)}}}", str(number.value))
        return text

    def _error(self, text: str) -> BaseException:
        raised = None if self._packed is None else self._packed.take_error()
        if raised is not None:
            return raised
        if text.startswith(OUT_OF_MEMORY):
            return MemoryError(self._with_numbers(text))
        if text.startswith(DRIVER_FAILED):
            what, _, _ = text.removeprefix(DRIVER_FAILED).rpartition(": ")
            return RuntimeError(f"{what}: {self._error_name(self._numbers[0].value)}")
        if text.startswith(ASSERT_FAIL):
            return RuntimeError(text)
        return RuntimeError(f"assertion failed: {self._with_numbers(text)}")


_FAILED_ASSERTS: WeakSet[FailedAssert] = WeakSet()


def _forget_threads() -> None:
    for failed in list(_FAILED_ASSERTS):
        failed.forget_threads()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_threads)
