"""Executables in TVM's words: the virtual machine, calls of the entry, times."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from support.gpu_driver import simulated_driver

import xdsl_tvm as tvm
from xdsl_tvm import IRModule, relax
from xdsl_tvm.dialects import tir
from xdsl_tvm.runtime.cuda import CudaExecutable
from xdsl_tvm.runtime.executable import Executable, load_module
from xdsl_tvm.runtime.time_evaluator import BenchmarkResult, time_evaluator
from xdsl_tvm.tvmscript import parse

pytest.importorskip("llvmlite")

TEXT = """
@I.ir_module
class Module:
    @T.prim_func
    def twice(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
        for i in range(4):
            B[i] = A[i] + A[i]

    @R.function
    def main(x: R.Tensor((4,), "float32"), y: R.Tensor((4,), "float32")):
        z = (R.add(x, y), (R.subtract(x, y), R.shape([4])))
        return z
"""
X, Y = np.arange(4, dtype="float32"), np.ones(4, "float32")


@pytest.fixture(scope="module")
def module() -> IRModule:
    return parse(TEXT)


@pytest.fixture(scope="module")
def executable(module: IRModule) -> Executable:
    return relax.build(module, "llvm")


def _twice(module: IRModule) -> tir.FuncOp:
    found = module["twice"]
    assert isinstance(found, tir.FuncOp)
    return found


def test_functions_take_and_return_arrays_of_tvm(executable: Executable) -> None:
    vm = relax.VirtualMachine(executable, tvm.cpu())
    total, (difference, shape) = vm["main"](tvm.nd.array(X), y=tvm.nd.array(Y))
    assert isinstance(total, tvm.nd.NDArray)
    assert total.numpy().tolist() == [1, 2, 3, 4]
    assert difference.numpy().tolist() == [-1, 0, 1, 2]
    assert shape == (4,)
    out = tvm.nd.empty((4,), "float32")
    assert vm["twice"](X, out) is None
    assert out.numpy().tolist() == [0, 2, 4, 6]
    with pytest.raises(KeyError, match="no public function 'f'; the module has"):
        vm["f"]


def test_stateful_calls(executable: Executable) -> None:
    vm = relax.VirtualMachine(executable, [tvm.cpu()])
    with pytest.raises(ValueError, match=r"set_input\('main', …\) comes first"):
        vm.invoke_stateful("main")
    vm.set_input("main", tvm.nd.array(X), y=Y)
    with pytest.raises(ValueError, match=r"invoke_stateful\('main'\) comes first"):
        vm.get_outputs("main")
    vm.invoke_stateful("main")
    assert vm.get_outputs("main")[0].numpy().tolist() == [1, 2, 3, 4]
    vm.save_function("main", "saved", X, y=Y)
    assert vm["saved"]()[0].numpy().tolist() == [1, 2, 3, 4]
    vm.save_function("main", "silent", X, Y, include_return=False)
    assert vm["silent"]() is None
    assert vm.time_evaluator("silent", tvm.cpu(), number=2, repeat=3)().min > 0
    for taken in ("saved", "main"):
        with pytest.raises(ValueError, match=f"the name '{taken}' is taken"):
            vm.save_function("main", taken, X, Y)


def test_what_cannot_run(executable: Executable) -> None:
    with pytest.raises(ValueError, match=r"for cpu\(0\), not for cuda\(0\)"):
        relax.VirtualMachine(executable, tvm.cuda())
    with pytest.raises(ValueError, match=r"for cpu\(0\), not for cuda\(0\)"):
        executable.time_evaluator("main", tvm.cuda())
    with pytest.raises(ValueError, match=r"it needs a device, such as cpu\(\)"):
        relax.VirtualMachine(executable, [])
    with pytest.raises(TypeError, match="load_module returns, not a IRModule"):
        relax.VirtualMachine(cast(Any, parse(TEXT)), tvm.cpu())


def test_the_entry(module: IRModule, executable: Executable) -> None:
    assert executable.entry_name == "main"
    assert executable.jit().mod is executable
    assert isinstance(executable, tvm.runtime.Module)
    assert executable(X, Y)[0].tolist() == [1, 2, 3, 4]
    twice = tvm.build(_twice(module))
    assert "define" in twice.get_source("ll")
    with pytest.raises(ValueError, match="no source of the format 'asm'; use ll"):
        twice.get_source("asm")
    assert twice.entry_name == "twice"
    out = tvm.nd.empty((4,))
    twice.get_function("twice")(X, out)
    twice(tvm.nd.array(X), out)
    assert out.numpy().tolist() == [0, 2, 4, 6]
    two = IRModule({"f": _twice(module), "g": _twice(module)})
    for name in ("f", "g"):
        two[name] = cast(Any, two[name]).with_attr("global_symbol", name)
    with pytest.raises(ValueError, match="no function is the entry; call one by its na"):
        tvm.tir.build(two)(X, out)


def test_libraries(module: IRModule, tmp_path: Path) -> None:
    pytest.importorskip("tvm_ffi")
    path = tmp_path / "lib.so"
    executable: Any = tvm.compile(_twice(module))
    try:
        executable.export_library(path)
    except Exception as error:  # there may be no C compiler
        pytest.skip(str(error))
    loaded = tvm.runtime.load_module(str(path))
    out = tvm.nd.empty((4,), "float32")
    with pytest.raises(ValueError, match="LoadedLibrary has machine code only"):
        loaded.get_source()
    loaded(tvm.nd.array(X), out)
    assert out.numpy().tolist() == [0, 2, 4, 6]
    vm = relax.VirtualMachine(loaded, tvm.cpu())
    assert vm.time_evaluator("twice", tvm.cpu(), number=1)(X, out).mean > 0
    with pytest.raises(ValueError, match="loads shared libraries, so or tar, not 'dll'"):
        tvm.runtime.load_module(path, "dll")


def test_options_of_builds(module: IRModule) -> None:
    relax.build(module, exec_mode="compiled")
    with pytest.raises(ValueError, match="exec_mode is bytecode or compiled, not 'fast'"):
        relax.build(module, exec_mode="fast")
    with pytest.raises(ValueError, match="there are no system libraries"):
        relax.build(module, system_lib=True)
    with pytest.raises(ValueError, match="there is no pipeline 'quick'; use one of"):
        relax.build(module, relax_pipeline="quick")
    with pytest.raises(ValueError, match="there is no pipeline 'quick'; use one of def"):
        tvm.tir.build(module, pipeline="quick")


def test_pipelines_run_in_the_target(module: IRModule) -> None:
    seen: list[object] = []

    @relax.register_pipeline("test_virtual_machine.noting")
    def noting(mark: int = 0) -> Any:
        @tvm.transform.module_pass(opt_level=0)
        def note(mod: IRModule, _context: object) -> IRModule:
            seen.append((mark, tvm.target.Target.current()))
            return mod

        return note

    name = "test_virtual_machine.noting"
    given = relax.get_pipeline(name, mark=1)
    tvm.compile(module, relax_pipeline=name, tir_pipeline=given)
    with tvm.target.Target("llvm") as target:
        tvm.compile(module, relax_pipeline=None)
    assert seen == [(0, target), (1, target)]
    assert noting(2) is not None
    with pytest.raises(ValueError, match="a pipeline 'zero' already; use another name"):
        relax.register_pipeline("zero")


def test_modules_that_are_lowered_for_the_machine_are_compiled() -> None:
    """As pipelines of TVM's programs lower them."""
    text = """
@R.function
def main(x: R.Tensor(("n", 4), "float32"), s: R.Shape(["k"])):
    n = T.int64()
    k = T.int64()
    y = R.reshape(x, R.shape([n * 4]))
    z = R.add(y, R.const(1, "float32"))
    return z, R.shape([n, k * 2])
"""
    names = (
        "LegalizeOps RewriteDataflowReshape ToNonDataflow RemovePurityChecking "
        "CallTIRRewrite StaticPlanBlockMemory LowerAllocTensor KillAfterLastUse "
        "LowerRuntimeBuiltin VMShapeLower AttachGlobalSymbol"
    )
    passes = [getattr(relax.transform, name)() for name in names.split()]
    lowered = tvm.transform.Sequential(passes)(parse(text))
    assert "vm.builtin.make_shape" in str(lowered)
    main = relax.build(lowered)["main"]
    x = np.arange(12, dtype=np.float32).reshape(3, 4)
    z, shape = main(x, (5,))
    assert (z.tolist(), shape) == ((x + 1).ravel().tolist(), (3, 10))
    with pytest.raises(ValueError, match="must have extent 4 on axis 1"):
        main(x.reshape(4, 3), (5,))


def test_parameters_are_arrays_of_tvm(module: IRModule) -> None:
    vm = relax.VirtualMachine(
        relax.build(module, params={"y": tvm.nd.array(Y)}), tvm.cpu()
    )
    assert vm["main"](tvm.nd.array(X))[0].numpy().tolist() == [1, 2, 3, 4]
    bound = relax.transform.BindParams("main", {"y": tvm.nd.array(Y)})(module)
    assert len(bound["main"].params) == 1


def test_on_the_gpu() -> None:
    kernels = load_module(Path(__file__).parents[3] / "examples/kernels/vector_add.mlir")
    executable = CudaExecutable(kernels, driver=simulated_driver(kernels))
    assert executable.get_source() == executable.get_source("ptx") == executable.ptx
    with pytest.raises(ValueError, match="no source of the format 'cu'; use ptx"):
        executable.get_source("cu")
    vm = relax.VirtualMachine(executable, tvm.cuda())
    a, b, c = tvm.nd.array(X), tvm.nd.array(Y), tvm.nd.empty((4,), "float32")
    vm["vector_add"](a, b, c)
    assert c.numpy().tolist() == [1, 2, 3, 4]
    on_gpu = tvm.nd.NDArray(executable.array(Y))
    assert on_gpu.device == tvm.cuda()
    vm["vector_add"](a, on_gpu, c)
    assert c.numpy().tolist() == [1, 2, 3, 4]
    with pytest.raises(ValueError, match=r"for cuda\(0\), not for cpu\(0\)"):
        relax.VirtualMachine(executable, tvm.cpu())
    with pytest.raises(ValueError, match="argument 'A': the array is not in the proc"):
        tvm.build(_twice(parse(TEXT)))(on_gpu, c)


def test_numbers_of_a_result() -> None:
    result = BenchmarkResult((0.001, 0.003))
    found = (result.mean, result.median, result.min, result.max, result.std)
    np.testing.assert_allclose(found, (0.002, 0.002, 0.001, 0.003, 0.001))
    assert str(result).split("\n")[2].split() == [
        "2.0000",
        "2.0000",
        "3.0000",
        "1.0000",
        "1.0000",
    ]


def test_how_often_calls_are_timed(monkeypatch: pytest.MonkeyPatch) -> None:
    now, calls, slept = [0.0], list[object](), list[float]()

    def call(argument: object) -> None:
        calls.append(argument)
        now[0] += 0.001

    def sleep(seconds: float) -> None:
        slept.append(seconds)

    monkeypatch.setattr(time, "perf_counter", lambda: now[0])
    monkeypatch.setattr(time, "sleep", sleep)
    waits = list[int]()
    evaluate = time_evaluator(call, lambda: waits.append(1), number=2, repeat=3)
    np.testing.assert_allclose(evaluate("x").results, [0.001] * 3)
    assert calls == ["x"] * 7
    assert len(waits) == 4
    assert slept == []
    calls.clear()
    evaluate = time_evaluator(
        call,
        lambda: None,
        number=1,
        repeat=2,
        min_repeat_ms=8,
        cooldown_interval_ms=5,
        repeats_to_cooldown=2,
    )
    np.testing.assert_allclose(evaluate("x").mean, 0.001)
    assert len(calls) >= 1 + 1 + 8 + 8
    assert slept == [0.005]
    with pytest.raises(ValueError, match="must be positive, got 0, 1 and 1"):
        time_evaluator(call, lambda: None, number=0)
