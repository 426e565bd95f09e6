"""What is known of the memories of devices: TVM's `MemoryInfo`.

docs/spec/tir-passes-c-memory-and-gpu.md, Common ground, Memory info.
"""

from __future__ import annotations

import threading
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass


@dataclass(frozen=True)
class MemoryInfo:
    """The memory of a storage scope, in bits."""

    unit_bits: int
    """The smallest unit that is addressed."""
    max_num_bits: int
    """How much there is."""
    max_simd_bits: int
    """The widest access, to a multiple of which merged allocations are aligned."""
    head_address: str | None = None
    """The address of its first byte, where it has a fixed one."""


class _State(threading.local):
    def __init__(self) -> None:
        super().__init__()
        self.known: Mapping[str, MemoryInfo] = {}


_STATE = _State()


@contextmanager
def memory_info(**memories: MemoryInfo) -> Generator[None]:
    """Within a `with` statement of this thread, let scopes have the given memory.

    Names of scopes have dots, so they are passed as `**{"local.L0A": info}`. TVM
    registers a global function `tvm.info.mem.local.L0A` for the same.
    """
    outer = _STATE.known
    _STATE.known = {**outer, **memories}
    try:
        yield
    finally:
        _STATE.known = outer


def memory_info_of(scope: str) -> MemoryInfo | None:
    """What is known of the memory of a scope, by its full name."""
    return _STATE.known.get(scope)
