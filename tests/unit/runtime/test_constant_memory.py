"""Memory of constants: addresses, contents, and memory that was used before."""

from __future__ import annotations

import ctypes
import os
import sys
import threading
from pathlib import Path
from typing import cast

import numpy as np
import pytest

from xdsl_tvm.lowering.llvm_text.datum import Datum
from xdsl_tvm.runtime._addresses import address_of
from xdsl_tvm.runtime.constant_memory import ConstantMemory, ReservedMemory
from xdsl_tvm.runtime.early_work import EarlyWork

_DATA = [Datum("a", bytes(range(7)), 4), Datum("b", b"\1" * (3 << 20), 64)]
_SIZE = 1 << 24
"""Bytes that a thread uses first, where there is another processor."""


def _expecting(size: int, work: EarlyWork) -> ReservedMemory:
    reserved = ReservedMemory(work)
    reserved.expect(size)
    return reserved


def _contents(memory: ConstantMemory) -> list[bytes]:
    return [ctypes.string_at(memory.addresses[d.name], len(d.data)) for d in _DATA]


@pytest.mark.parametrize("size", [None, 0, 8, _SIZE])
def test_constants_are_where_their_addresses_say(size: int | None) -> None:
    with EarlyWork() as work:
        reserved = None if size is None else _expecting(size, work)
        memory = ConstantMemory(_DATA, reserved)
    assert _contents(memory) == [datum.data for datum in _DATA]
    for datum in _DATA:
        assert memory.addresses[datum.name] % datum.alignment == 0


def test_reserved_memory_is_taken_once() -> None:
    with EarlyWork() as work:
        reserved = _expecting(_SIZE, work)
        one, other = ConstantMemory(_DATA, reserved), ConstantMemory(_DATA, reserved)
    assert one.addresses["b"] != other.addresses["b"]
    assert _contents(one) == _contents(other)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no copies of processes")
def test_copies_of_the_process_have_the_constants() -> None:
    with EarlyWork() as work:
        reserved = _expecting(_SIZE, work)
        memory = ConstantMemory(_DATA, reserved)
    if threading.active_count() > 1:
        pytest.skip("other threads run")
    child = os.fork()
    if child == 0:
        found = _contents(memory) == [datum.data for datum in _DATA]
        os._exit(0 if found else 1)
    assert os.waitpid(child, 0)[1] == 0


def _mapping(address: int) -> tuple[str, set[str]]:
    """The permissions and the flags of the mapping that an address is in."""
    permissions, inside = "", False
    for line in Path("/proc/self/smaps").read_text().splitlines():
        first, *rest = line.split()
        if "-" in first and not first.endswith(":"):
            low, high = (int(bound, 16) for bound in first.split("-"))
            inside, permissions = low <= address < high, rest[0]
        elif inside and first == "VmFlags:":
            return permissions, set(rest)
    raise AssertionError("no mapping has the address")


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc/self/smaps")
def test_large_constants_may_be_huge_pages() -> None:
    """Shared memory would have none."""
    memory = ConstantMemory(_DATA)
    permissions, flags = _mapping(memory.addresses["b"])
    assert permissions == "r--p"
    assert "hg" in flags


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc/self/smaps")
@pytest.mark.parametrize("is_read_often", [True, False])
def test_constants_in_reserved_memory_stay_there(is_read_often: bool) -> None:
    """And the memory is read-only then, of huge pages where that is worth it."""
    reserved = ReservedMemory()
    places = reserved.places([1 << 23] * 3, is_read_often=is_read_often)
    data: list[Datum] = []
    for number, place in enumerate(places):
        assert place is not None
        place[:] = bytes([number]) * len(place)
        written: object = place.toreadonly()
        data.append(Datum(f"w{number}", cast("bytes", written), 64))
    memory = ConstantMemory([*data, *_DATA], reserved)
    for datum in data:
        address = memory.addresses[datum.name]
        assert address == address_of(np.frombuffer(datum.data, np.uint8))
        permissions, flags = _mapping(address)
        assert permissions == "r--p"
        assert ("hg" in flags) == is_read_often
    assert _contents(memory) == [datum.data for datum in _DATA]


def test_small_constants_have_no_memory_of_their_own() -> None:
    assert ReservedMemory().places([64, 1 << 20]) == [None, None]
    assert ReservedMemory(is_used=False).places([1 << 25]) == [None]
