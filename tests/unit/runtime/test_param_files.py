"""TVM's files of parameters."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import pytest

import xdsl_tvm as tvm
from xdsl_tvm.dialects.dtypes import numpy_dtype
from xdsl_tvm.dialects.tir.types import parse_dtype
from xdsl_tvm.runtime.param_files import load_param_dict, save_param_dict

BYTES = bytes.fromhex(
    # The list: magic number, reserved; one name, of one byte; one array.
    "b79c04054f8de5f7 0000000000000000 0100000000000000 0100000000000000 77"
    "0100000000000000"
    # The array: magic number, reserved; processor 0; one dimension; int16; 2; 4 bytes.
    "3fa1b496f0405edd 0000000000000000 01000000 00000000 01000000 00 10 0100"
    "0200000000000000 0400000000000000 0100 feff"
)


def test_the_bytes_are_tvms():
    params = {"w": np.array([1, -2], np.int16)}
    assert save_param_dict(params) == BYTES
    found = load_param_dict(BYTES)
    assert (list(found), found["w"].dtype) == (["w"], "int16")
    assert found["w"].numpy().tolist() == [1, -2]


def test_arrays_are_loaded_as_they_were_saved(tmp_path: Path):
    rng = np.random.default_rng(0)
    params = {
        name: rng.integers(0, 2, (2, 3)).astype(numpy_dtype(parse_dtype(name)))
        for name in ("bool", "uint8", "int64", "float16", "bfloat16", "float8_e5m2")
    }
    params |= {"scalar": np.array(2.5), "empty": np.zeros((0, 4), np.float32)}
    params["transposed"] = rng.standard_normal((3, 2)).T
    file = tmp_path / "weights.params"
    given = {name: tvm.nd.array(value) for name, value in params.items()}
    tvm.runtime.save_param_dict_to_file(given, file)
    found = tvm.runtime.load_param_dict_from_file(file)
    assert list(found) == list(params)
    for name, value in params.items():
        got = found[name].numpy()
        assert (got.dtype, got.shape) == (value.dtype, value.shape)
        np.testing.assert_array_equal(got, value)


def test_what_is_no_file_of_parameters_is_refused():
    for end in range(len(BYTES)):
        with pytest.raises(ValueError, match="the parameters end at byte"):
            load_param_dict(BYTES[:end])
    with pytest.raises(ValueError, match="another number comes first"):
        load_param_dict(bytes(8))
    for place, value, reason in (
        (16, b"\2", "the parameters end|differ|utf-8"),
        (33, b"\2", "the numbers of names and of arrays differ"),
        (41, b"\0", "an array is expected"),
        (65, b"\xff", "an array is expected"),
        (70, b"\3", "a dtype that is not known"),
        (73, b"\3", r"an array of \[3\] cannot have 4 bytes"),
    ):
        changed = bytearray(BYTES)
        changed[place : place + 1] = value
        with pytest.raises(ValueError, match=reason):
            load_param_dict(changed)
    with pytest.raises(ValueError, match="'c': complex64 has no code"):
        save_param_dict({"c": np.zeros(1, np.complex64)})
    negative = bytearray(BYTES)
    negative[73:81] = struct.pack("<q", -2)
    with pytest.raises(ValueError, match=r"an array of \[-2\] cannot have"):
        load_param_dict(negative)
