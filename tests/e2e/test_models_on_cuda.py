"""Whole models on the road to GPUs: host code runs, and their kernels are interpreted.

The ordinary run takes one model; with `XDSL_TVM_FUZZ` all take part.
"""

from __future__ import annotations

import os
from typing import Any, cast

import pytest
from models import MODELS
from models.__main__ import TOLERANCE, difference

from xdsl_tvm.runtime.device_array import DeviceArray
from xdsl_tvm.runtime.kernel_interpreter import InterpretedKernels

pytest.importorskip("llvmlite")
CHOSEN = sorted(MODELS) if "XDSL_TVM_FUZZ" in os.environ else ["gpt2"]


@pytest.mark.parametrize("name", CHOSEN)
def test_model(name: str) -> None:
    model = MODELS[name].small()
    kernels = InterpretedKernels(model.build())
    parameters, inputs = model.parameters(), model.inputs()
    result = kernels["main"](*inputs, *parameters.values())
    results = cast("list[Any]", result if isinstance(result, tuple | list) else [result])
    found = [one.numpy() if isinstance(one, DeviceArray) else one for one in results]
    assert difference(found, model.reference(parameters, *inputs)) < TOLERANCE
