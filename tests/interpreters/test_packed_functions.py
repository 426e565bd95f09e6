"""Packed functions in the interpreter: every check, every kind of argument and result."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.packed_cases import Array, PackedCase, packed_cases

from xdsl_tvm.dialects.tir.data_types import Abi
from xdsl_tvm.interpreters.data.memory import memory_of
from xdsl_tvm.interpreters.errors import AssertionFailedError
from xdsl_tvm.interpreters.tir import DLTensor, interpret
from xdsl_tvm.passes.tir.bind_target import BindTarget
from xdsl_tvm.passes.tir.make_packed_api import MakePackedAPI
from xdsl_tvm.registry import new_context
from xdsl_tvm.tvmscript import parse

CASES = [(abi, case) for abi in Abi for case in packed_cases(abi)]


def _argument(value: Any) -> Any:
    if not isinstance(value, Array):
        return value
    found = DLTensor.of(value.array)
    if not value.has_data:
        found.data = None
    if value.shape is not None:
        found.shape = memory_of(np.array(value.shape, np.int64))
        found.ndim = len(value.shape)
    if value.strides is not None:
        found.strides = memory_of(np.array(value.strides, np.int64))
    found.byte_offset = value.byte_offset
    found.device_type, found.device_id = value.device_type, value.device_id
    found.lanes = value.lanes
    return found


@pytest.mark.parametrize(
    ("abi", "case"), CASES, ids=lambda value: getattr(value, "name", str(value))
)
def test_a_call(abi: Abi, case: PackedCase) -> None:
    module = parse(case.function)
    BindTarget("llvm", "llvm").apply(new_context(), module)
    MakePackedAPI(abi=abi.value).apply(new_context(), module)
    module.verify()
    arguments = case.arguments()
    function = interpret(module)["f"]
    passed = [_argument(argument) for argument in arguments]
    if case.failure is not None:
        with pytest.raises(AssertionFailedError) as error:
            function(*passed)
        assert case.failure in str(error.value)
        return
    assert function(*passed) == case.result
    for place, first in case.results:
        array = arguments[place]
        assert (array.array if isinstance(array, Array) else array).flat[0] == first
