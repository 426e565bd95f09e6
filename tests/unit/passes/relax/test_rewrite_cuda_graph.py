"""RewriteCUDAGraph: models as the interpreter, the processor and a GPU run them."""

from __future__ import annotations

import gc
import os

import numpy as np
import pytest
from support.effort import calls
from support.gpu_driver import simulated_driver
from support.ir import parse
from xdsl.dialects.builtin import ModuleOp

import xdsl_tvm
from xdsl_tvm.dialects import relax
from xdsl_tvm.dialects.relax.cuda_graph import (
    GET_CACHED_ALLOC,
    RUN_OR_CAPTURE,
    cuda_graph_call,
)
from xdsl_tvm.interpreters.semantics import check_semantics
from xdsl_tvm.lowering.pipelines import run_pipeline
from xdsl_tvm.passes.infra import PassContext
from xdsl_tvm.passes.relax.default_pipeline import DefaultPipeline
from xdsl_tvm.passes.relax.rewrite_cuda_graph import RewriteCUDAGraph
from xdsl_tvm.registry import new_context
from xdsl_tvm.runtime.cuda import CudaExecutable
from xdsl_tvm.runtime.device_array import Array
from xdsl_tvm.runtime.load import load_module

pytestmark = pytest.mark.usefixtures("small_heap")

COUNT = int(os.environ.get("XDSL_TVM_FUZZ", "4"))
FIRST = int(os.environ.get("XDSL_TVM_FUZZ_FROM", "0"))
CONFIG = {"relax.backend.use_cuda_graph": True}
PLANNED = (
    "relax-legalize-ops,relax-to-non-dataflow,relax-call-tir-rewrite,"
    "relax-static-plan-block-memory"
)
MODEL = """
from tvm.script import ir as I, relax as R
@I.ir_module
class Module:
    @R.function
    def main(
        x: R.Tensor((4, 8), "float32"),
        w: R.Tensor((8, 6), "float32"),
        v: R.Tensor((6, 5), "float32"),
    ) -> R.Tensor((4, 5), "float32"):
        R.func_attr({"num_input": 1})
        with R.dataflow():
            h = R.matmul(x, w)
            r = R.nn.relu(h)
            s = R.nn.softmax(r)
            y = R.matmul(s, v)
            z = R.exp(y)
            R.output(z)
        return z
"""


def graphs(module: ModuleOp) -> list[str]:
    """The functions for CUDA graphs that a module calls, in order."""
    return [
        op.callee.data
        for op in module.walk()
        if isinstance(op, relax.CallBuiltinWithCtxOp) and cuda_graph_call(op)
    ]


def arguments() -> list[Array]:
    rng = np.random.default_rng(0)
    return [rng.random(shape, "f4") for shape in ((4, 8), (8, 6), (6, 5))]


@pytest.mark.parametrize("pipeline", ["default_build", "cuda"])
def test_the_context_says_whether_it_runs(pipeline: str) -> None:
    module = load_module(MODEL)
    off = DefaultPipeline("cuda", pipeline)(module.clone())
    assert graphs(off) == []
    with PassContext(config=CONFIG):
        on = DefaultPipeline("cuda", pipeline)(module.clone())
    assert graphs(on).count(GET_CACHED_ALLOC) == 1
    assert graphs(on).count(RUN_OR_CAPTURE) >= 1
    expected = xdsl_tvm.interpret(off)["main"](*arguments())
    np.testing.assert_allclose(
        xdsl_tvm.interpret(on)["main"](*arguments()), expected, rtol=1e-5
    )


def test_machine_code_of_the_processor() -> None:
    module = load_module(MODEL)
    expected = xdsl_tvm.interpret(module)["main"](*arguments())
    run_pipeline(new_context(), module, PLANNED)
    module = RewriteCUDAGraph(use_cuda_graph=True)(module)
    assert GET_CACHED_ALLOC in graphs(module)
    compiled = xdsl_tvm.compile(module)
    for _ in range(2):
        found = compiled["main"](*arguments())
        np.testing.assert_allclose(found, expected, rtol=1e-5)


def test_host_code_of_a_gpu() -> None:
    """What is captured is launched, in one allocation of each storage, and released."""
    module = load_module(MODEL)
    expected = xdsl_tvm.interpret(module)["main"](*arguments())
    with PassContext(config=CONFIG):
        driver = simulated_driver(module)
        compiled = CudaExecutable(module, driver=driver, graphs=True)
    held = len(driver.memory)
    on_gpu = [compiled.array(each) for each in arguments()]
    for _ in range(4):
        found = compiled["main"](*on_gpu).numpy()
        np.testing.assert_allclose(found, expected, rtol=1e-5)
    del compiled, on_gpu
    gc.collect()
    assert (held, driver.memory, driver.graphs) == (0, {}, {})


SYMBOLIC = """
!v = tensor<?xf32, #relax.dims<[n]>>
relax.func impure @main<n>(%x: !v) -> !v attributes {
  global_symbol = "main",
  relax.rewrite_cuda_graph.capture_symbolic_vars = ["n"]
} {
  %s = relax.memory.alloc_storage 64 on 0 scope "global" dtype f32 : !relax.object
  %t = relax.memory.alloc_storage 64 on 0 scope "global" dtype f32 : !relax.object
  %a = relax.memory.alloc_tensor %s at 0 : !relax.object -> !v
  relax.call impure @twice(%x, %a) : (!v, !v) -> ()
  %b = relax.memory.alloc_tensor %t at 0 : !relax.object -> !v
  relax.call impure @twice(%a, %b) : (!v, !v) -> ()
  %y = relax.builtin.alloc_tensor on 0 scope "global" : !v
  relax.call impure @twice(%b, %y) : (!v, !v) -> ()
  relax.return %y : !v
}
tir.func @twice(%a: !tir.handle, %b: !tir.handle) {
  %n = tir.shape_var "n" : i32
  %A = tir.match_buffer %a [%n] : !tir.buffer<?xf32>
  %B = tir.match_buffer %b [%n] : !tir.buffer<?xf32>
  %c0 = tir.const 0 : i32
  tir.for %i = %c0 to %n {
    %x = tir.load %A[%i] : f32
    %y = tir.add %x, %x : f32
    tir.store %y, %B[%i] : f32
  }
}
"""


def test_symbols_of_regions() -> None:
    """They are passed as a shape, and the lowered region knows their numbers."""
    module = RewriteCUDAGraph(use_cuda_graph=True)(parse(SYMBOLIC))
    module.verify()
    assert graphs(module) == [GET_CACHED_ALLOC, RUN_OR_CAPTURE]
    for count in (1, 5, 16):
        x = np.arange(count, dtype="f4")
        for run in (xdsl_tvm.interpret(module), xdsl_tvm.compile(module)):
            np.testing.assert_array_equal(run["main"](x), 8 * x)
    with pytest.raises(RuntimeError, match="a tensor ends after its 64 bytes"):
        xdsl_tvm.compile(module)["main"](np.zeros(17, "f4"))


def chain(seed: int, length: int) -> ModuleOp:
    """Kernels on tensors of a few storages and parameters, some in branches."""
    rng = np.random.default_rng(seed)
    storages = int(rng.integers(1, 4))
    lines = [
        f'%s{k} = relax.memory.alloc_storage 16 on 0 scope "global" dtype f32 '
        ": !relax.object"
        for k in range(storages)
    ]
    known, count = ["%x", "%w", "%v"], 0

    def kernels(steps: int, visible: list[str], indent: str) -> None:
        nonlocal count
        for _ in range(steps):
            count += 1
            source = visible[int(rng.integers(len(visible)))]
            lines.append(
                f"{indent}%t{count} = relax.memory.alloc_tensor "
                f"%s{rng.integers(storages)} at 0 : !relax.object -> !t"
            )
            lines.append(
                f"{indent}relax.call impure @f({source}, %t{count}) : (!t, !t) -> ()"
            )
            visible.append(f"%t{count}")

    while count < length:
        kernels(int(rng.integers(1, 4)), known, "")
        if rng.random() < 0.3:
            name = f"%i{count}"
            lines.append(f"{name} = relax.if %c : !relax.prim<i1> -> !t {{")
            for end in ("} else {", "}"):
                inner = list(known)
                kernels(int(rng.integers(0, 3)), inner, "  ")
                lines.append(f"  relax.yield {inner[-1]} : !t")
                lines.append(end)
            known.append(name)
    lines.append('%r = relax.builtin.alloc_tensor on 0 scope "global" : !t')
    lines.append(f"relax.call impure @f({known[-1]}, %r) : (!t, !t) -> ()")
    body = "\n".join(lines)
    return parse(f"""
!t = tensor<4xf32>
relax.func impure @main(%c: !relax.prim<i1>, %x: !t, %w: !t, %v: !t) -> !t attributes {{
  num_input = {rng.integers(1, 4)}, global_symbol = "main"
}} {{
{body}
relax.return %r : !t
}}
tir.func @f(%a: !tir.handle, %b: !tir.handle) {{
  %A = tir.match_buffer %a : !tir.buffer<4xf32>
  %B = tir.match_buffer %b : !tir.buffer<4xf32>
  %c0 = tir.const 0 : i32
  %c4 = tir.const 4 : i32
  %one = tir.const 1.0 : f32
  tir.for %i = %c0 to %c4 {{
    %x = tir.load %A[%i] : f32
    %y = tir.add %x, %one : f32
    tir.store %y, %B[%i] : f32
  }}
}}
""")


def test_random_chains() -> None:
    captured = 0
    for seed in range(FIRST, FIRST + COUNT):
        module = chain(seed, 12)
        report = check_semantics(module, (RewriteCUDAGraph(True),), seed=seed)
        assert "main" in report.checked
        result = RewriteCUDAGraph(True)(module.clone())
        result.verify()
        captured += graphs(result).count(RUN_OR_CAPTURE)
    assert captured >= COUNT


def test_time_is_linear() -> None:
    def effort(length: int) -> int:
        module = chain(1, length)
        return calls(lambda: RewriteCUDAGraph(True)(module))

    assert effort(200) < 6 * effort(50)
