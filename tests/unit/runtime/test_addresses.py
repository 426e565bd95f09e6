"""Addresses of arrays."""

import numpy as np
import pytest

from xdsl_tvm.runtime import _addresses
from xdsl_tvm.runtime._addresses import address_of
from xdsl_tvm.runtime._arguments import HOST


class Named(np.ndarray):
    """An array of another class, with a field of its own."""

    name = ""


def test_addresses_are_those_of_the_array_interface() -> None:
    whole = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    fixed = whole[1:]
    fixed.flags.writeable = False
    arrays = [whole, fixed, whole[:, ::-1], whole.T, whole[1, 2, 3:], np.zeros((0, 3))]
    arrays += [np.array(3.0), whole.view(Named), np.frombuffer(b"abcd", np.int8)]
    for array in arrays:
        expected = array.__array_interface__["data"][0]
        assert _addresses.address_of(array) == expected


def test_the_field_is_asked_for_only_where_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    assert _addresses.has_pointer_field()
    monkeypatch.setattr(_addresses, "_POINTER_AT", object.__basicsize__ + 8)
    assert not _addresses.has_pointer_field()


@pytest.mark.parametrize("shape", [(), (0, 3), (5,), (64, 1 << 10), (1 << 16, 1)])
def test_where_results_begin(shape: tuple[int, ...]) -> None:
    """Large ones at a line of the cache, and all as numpy's own."""
    for dtype in map(np.dtype, (np.float32, np.int8, np.bool_)):
        array = HOST.empty(shape, dtype)
        assert (array.shape, array.dtype) == (shape, dtype)
        assert array.flags.c_contiguous
        assert array.flags.aligned
        assert array.flags.writeable
        if array.nbytes > 1 << 15:
            assert address_of(array) % 64 == 0
