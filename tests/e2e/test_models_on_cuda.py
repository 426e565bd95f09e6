"""Whole models on the road to GPUs: host code runs, and their kernels are interpreted.

The ordinary run takes one model; with `XDSL_TVM_FUZZ` all take part.
"""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any, cast

import numpy as np
import pytest
from models import MODELS
from models.__main__ import TOLERANCE, difference
from models.bert import Bert
from models.gpt2 import GPT2
from xdsl.parser import Parser

from xdsl_tvm.lowering.pipelines import gpu_pipeline, run_pipeline
from xdsl_tvm.registry import new_context
from xdsl_tvm.runtime.device_array import DeviceArray
from xdsl_tvm.runtime.kernel_interpreter import InterpretedKernels
from xdsl_tvm.tvmscript import parse

pytest.importorskip("llvmlite")
CHOSEN = sorted(MODELS) if "XDSL_TVM_FUZZ" in os.environ else ["gpt2"]


@pytest.mark.parametrize("name", CHOSEN)
def test_model(name: str) -> None:
    model = MODELS[name].small()
    if isinstance(model, Bert | GPT2):
        # All layers have the same functions, which take time to compile.
        model = replace(model, layers=1)
    kernels = InterpretedKernels(model.build())
    parameters, inputs = model.parameters(), model.inputs()
    result = kernels["main"](*inputs, *parameters.values())
    results = cast("list[Any]", result if isinstance(result, tuple | list) else [result])
    found = [one.numpy() if isinstance(one, DeviceArray) else one for one in results]
    assert difference(found, model.reference(parameters, *inputs)) < TOLERANCE


DTYPES = ("f32", "f16", "bf16")


@pytest.mark.skipif("XDSL_TVM_FUZZ" not in os.environ, reason="of a long run")
@pytest.mark.parametrize("arch", ["sm_80", "sm_90"])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", sorted(MODELS))
def test_no_kernel_is_refused(name: str, dtype: str, arch: str) -> None:
    """Schedules, and the check of barriers, of models whose floats are of one dtype."""
    text = str(MODELS[name].small().build()).replace("f32", dtype)
    module = Parser(new_context(), text).parse_module()
    run_pipeline(new_context(), module, gpu_pipeline(f"cuda -arch={arch}", relax=True))


F16_LAYER = """
@I.ir_module
class Module:
    @R.function
    def main(
        x: R.Tensor((32, 96), "float16"),
        w: R.Tensor((96, 32), "float16"),
        b: R.Tensor((32,), "float16"),
    ) -> R.Tensor((32, 32), "float16"):
        with R.dataflow():
            y = R.nn.relu(R.add(R.matmul(x, w), b))
            R.output(y)
        return y
"""


@pytest.mark.parametrize("arch", ["sm_90a", "sm_75"])
def test_architecture_of_the_schedule(arch: str) -> None:
    """Tensor cores and asynchronous copies are used where the architecture has them."""
    kernels = InterpretedKernels(parse(F16_LAYER), arch)
    assert ("mma.sync" in kernels.ptx) == (arch == "sm_90a")
    assert ("cp.async" in kernels.ptx) == (arch == "sm_90a")
    if arch == "sm_75":
        return
    rng = np.random.default_rng(0)
    x, w, b = (rng.uniform(-1, 1, s).astype("f2") for s in ((32, 96), (96, 32), (32,)))
    exact = np.maximum(x.astype("f8") @ w.astype("f8") + b, 0)
    # Terms are exact products summed in f32; the product and the sum with `b` are rounded
    # to f16, each by half a unit in the last place of what is up to 32.
    np.testing.assert_allclose(kernels["main"](x, w, b).numpy(), exact, 0, 2 * 2**-7)
