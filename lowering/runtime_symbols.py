"""Names and numbers that compiled code and the runtime share.

The runtime asks an object file for these symbols. It is loaded without the passes that
make them, which take a fifth of a second to import.
"""

from __future__ import annotations

from typing import Final

NOALIAS: Final = "llvm.noalias"
"""The attribute of arguments whose memory no other argument has."""

TAKEN: Final = "tvm.taken"
"""The attribute of a cast to memory that a callee has made, and its caller releases."""

KERNEL_ALIGNMENT: Final = 16
"""Kernels may expect that memory which the host passes starts at such an address.

It is what a thread accesses at once at most.
"""

FAILED_ASSERT: Final = "tvm_failed_assert"
"""The global that holds the address of the message of a failed assertion, else 0."""
FAILED_NUMBER: Final = "tvm_failed_number"
"""How the names of globals start that hold the numbers of such a message. It has the
name of a global, in braces, where the number belongs."""
ASSERT_FAIL: Final = "Assert fail: "
"""How messages of functions of the packed convention start, as those of TVM do."""
OUT_OF_MEMORY: Final = "out of memory: "
"""How messages of assertions start which say that memory cannot be allocated."""
DRIVER_FAILED: Final = "the GPU driver: "
"""How messages start which say that the driver reports an error, whose number is their
end."""

DRIVER_FUNCTIONS: Final = (
    "cuLaunchKernel",
    "cuMemAllocAsync",
    "cuMemFreeAsync",
    "cuMemcpyDtoDAsync_v2",
    "cuMemcpyDtoHAsync_v2",
    "cuMemcpyHtoDAsync_v2",
    "cuStreamSynchronize",
    "cuTensorMapEncodeTiled",
)
"""The functions of the driver that host code calls."""

CALL_WITH_SLOTS: Final = "tvm_call_with_slots"
"""The function of the runtime that TIR functions call functions of Python with."""
CALL_FAILED: Final = 'the call of "'
"""How messages start which say that a call has failed; its status is the first of their
numbers where the function was called by name."""

KERNEL_NAMES: Final = "tvm_kernel_names"
KERNEL_TIMES: Final = "tvm_kernel_times"
"""The globals with the names of kernels, and their calls and nanoseconds."""

EVENTS: Final = "tvm_loop_events"
LIMIT: Final = "tvm_loop_limit"
COUNT: Final = "tvm_loop_count"
NAMES: Final = "tvm_loop_names"
"""The globals with the times of loops that are profiled."""


def reporting_name(function: str) -> str:
    """The symbol of a function that takes the address of a slot for its failure."""
    return f"{function}.reporting"


def failed_number(place: int) -> str:
    """The global of the number with this index in a message."""
    return f"{FAILED_NUMBER}{place}"
