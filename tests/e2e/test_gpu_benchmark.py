"""benchmarks/gpu.py, with numpy for torch and the simulator for the GPU."""

from __future__ import annotations

import ctypes
import importlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from models import MODELS
from support import paths
from support.attention import exact_attention
from support.gpu_driver import NotingDriver, simulated_driver

from xdsl_tvm.runtime.cuda import runs_on
from xdsl_tvm.runtime.load import load_module
from xdsl_tvm.runtime.signature import ArraySpec, Signature, signatures

pytest.importorskip("llvmlite")
if shutil.which("cc") is None:
    pytest.skip("no C compiler", allow_module_level=True)

sys.path.append(str(paths.ROOT / "benchmarks"))
gpu: Any = importlib.import_module("gpu")
runner: Any = importlib.import_module("_gpu_run")
programs: Any = importlib.import_module("_gpu_programs")

MANY = "XDSL_TVM_FUZZ" in os.environ
PROGRAMS = gpu.entries(gpu.SMALL)
NETWORKS = gpu.models(small=True)
CHOSEN = [*PROGRAMS, NETWORKS[0]] if MANY else PROGRAMS[3:7:3]
CEILINGS = {"copy": 1.0, "float32": 1.0, "int32": 1.0}


class NumpyGpu:
    """Arrays in the memory of a driver that runs kernels in the simulator."""

    def __init__(self, driver: NotingDriver) -> None:
        self.driver = driver
        self._stream = driver.new_stream()
        self._rng = np.random.default_rng(0)

    def functions(self) -> Mapping[str, int]:
        return self.driver.functions()

    def capability(self) -> tuple[int, int]:
        return self.driver.compute_capability()

    def load(self, ptx: str) -> int:
        return self.driver.load(ptx)

    def kernel(self, module: int, name: str) -> int:
        return self.driver.kernel(module, name)

    def stream(self) -> int:
        return self._stream

    def _new(self, shape: Sequence[int], dtype: str) -> Any:
        size = prod(shape) * np.dtype(dtype).itemsize
        address = self.driver.allocate(size, self._stream)
        data: Any = (ctypes.c_uint8 * size).from_address(address)
        return np.frombuffer(data, dtype).reshape(shape)

    def random(self, tensor: Any) -> Any:
        found = self._new(tensor.shape, tensor.dtype)
        scale = 40 if tensor.dtype == "int8" else 1
        found[...] = scale * self._rng.standard_normal(tensor.shape)
        return found

    def poisoned(self, tensor: Any) -> Any:
        found = self._new(tensor.shape, tensor.dtype)
        found[...] = np.nan if tensor.dtype != "int32" else -(1 << 31)
        return found

    def uploaded(self, data: bytes) -> Any:
        found = self._new([len(data)], "uint8")
        found[...] = np.frombuffer(data, np.uint8)
        return found

    def address(self, array: Any) -> int:
        return array.ctypes.data

    def peer(
        self, case: Any, arrays: Sequence[Any], *, tf32: bool = False
    ) -> Sequence[Any]:
        assert not tf32
        if case.details:
            count = len(arrays) - len(MODELS[case.kind].small().parameters())
            names = [each.name for each in case.inputs]
            parameters = dict(zip(names[count:], arrays[count:], strict=True))
            model = MODELS[case.kind].small()
            return model.reference(parameters, *arrays[:count])
        return [self._result(case.kind, [np.asarray(each, "f8") for each in arrays])]

    def _result(self, kind: str, arrays: Sequence[Any]) -> Any:
        first, *rest = arrays
        match kind:
            case "matmul" | "bytes":
                return first @ rest[0]
            case "linear":
                return first @ rest[0].T
            case "softmax":
                exponentials = np.exp(first - first.max(-1, keepdims=True))
                return exponentials / exponentials.sum(-1, keepdims=True)
            case "layer_norm":
                centred = first - first.mean(-1, keepdims=True)
                deviation = np.sqrt(first.var(-1, keepdims=True) + 1e-5)
                return centred / deviation * rest[0] + rest[1]
            case "row_sum":
                return first.sum(1)
            case "column_sum":
                return first.sum(0)
            case "transpose":
                return first.T
            case "add_relu":
                return np.maximum(first + rest[0], 0)
            case "attention" | "causal":
                causal = "TopLeft" if kind == "causal" else None
                return exact_attention(list(arrays), causal=causal)
            case _:
                padded = np.pad(first, [(0, 0), (0, 0), (1, 1), (1, 1)])
                windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), (2, 3))
                if kind == "depthwise":
                    return np.einsum("ncyxij,cij->ncyx", windows, rest[0][:, 0])
                return np.einsum("ncyxij,fcij->nfyx", windows, rest[0])

    def error(self, found: Any, expected: Any) -> float:
        return float(np.linalg.norm(found - expected) / np.linalg.norm(expected))

    def seconds(self, program: Callable[[], object]) -> float:
        program()
        return 1e-3

    def captured(
        self, program: Callable[[], object], use_stream: Callable[[int], None]
    ) -> Callable[[], object]:
        recorder = self.driver.new_stream(ordered=False)
        self.driver.begin_capture(recorder)
        use_stream(recorder)
        program()
        graph = self.driver.end_capture(recorder)
        if not self.driver.graphs[graph].steps:
            raise RuntimeError("nothing was captured")
        return lambda: self.driver.launch_graph(graph, self._stream)

    def is_alive(self) -> bool:
        return not self.driver.fails


def worked(driver: NotingDriver, out: Path, first: int = 0) -> list[dict[str, Any]]:
    """What the process that measures says."""
    messages: list[dict[str, Any]] = []
    runner.work(NumpyGpu(driver), out, first, CEILINGS, messages.append)
    return messages


@pytest.mark.parametrize("program", CHOSEN, ids=lambda each: each[0].name)
def test_programs(program: Any, tmp_path: Path) -> None:
    """Each is built, checked, timed, and captured."""
    case, module = program
    assert gpu.build(tmp_path, [program], "sm_90") == 0
    assert programs.Case.of(json.loads((tmp_path / "cases.json").read_text())[0]) == case
    driver = simulated_driver(load_module(module()))
    begin, message, end = worked(driver, tmp_path)
    assert (begin, end) == ({"begin": 0}, {"end": True})
    result = message["result"]
    assert result["name"] == case.name
    assert result["error"] < (1e-4 if case.details else 1e-5)
    assert result["notes"] == "no graph: nothing was captured"
    assert (result["graph"], result["torch_graph"]) == (1.0, None)
    (graph, *_) = driver.graphs.values()
    assert len(driver.launches) == 3 * len(graph.steps) - 3 * len(graph.memory)
    assert (tmp_path / "gpu.py").exists()


@pytest.mark.parametrize("program", NETWORKS, ids=lambda each: each[0].kind)
def test_networks(program: Any) -> None:
    """Their arrays and symbols are those of the function, in its order."""
    case, module = program
    found = signatures(load_module(module()))["main"]
    assert isinstance(found, Signature)
    tensors = [*found.params, *found.results]
    given = [*case.inputs, *case.outputs]
    assert len(tensors) == len(given)
    values = dict(zip(found.symbols, case.symbols, strict=True))
    for tensor, each in zip(tensors, given, strict=True):
        assert isinstance(tensor, ArraySpec)
        dims = [dim for dim in tensor.shape if dim is not None]
        shape = [dim.evaluate(values) for dim in dims]
        assert (tuple(shape), str(tensor.dtype)) == (each.shape, each.dtype)
        assert not each.name or each.name == tensor.name


def test_a_program_that_is_wrong_or_fails(tmp_path: Path) -> None:
    """It is reported; the others go on, if the GPU does what it is asked."""
    gpu.build(tmp_path, [PROGRAMS[3], PROGRAMS[3]], "sm_90")
    messages = worked(NotingDriver(), tmp_path)
    assert [list(each) for each in messages] == [*[["begin"], ["failure"]] * 2, ["end"]]
    assert messages[3]["failure"] == "the result is wrong: the error is nan"
    messages = worked(NotingDriver(fails="cuLaunchKernel"), tmp_path)
    assert [list(each) for each in messages] == [["begin"], ["failure"]]
    assert "was not launched" in messages[1]["failure"]
    messages = worked(NotingDriver(capability=(8, 0)), tmp_path)
    text = (
        "kernels for sm_90 run on compute capability 9.0 and newer, and this GPU has 8.0"
    )
    assert messages[1]["failure"].startswith(text)


@pytest.mark.parametrize(
    ("arch", "fits", "others"),
    [
        ("sm_90", [(9, 0), (10, 3)], {(8, 9): "9.0 and newer, and this GPU has 8.9"}),
        ("sm_90a", [(9, 0)], {(10, 0): "9.0 only, and this GPU has 10.0"}),
        ("sm_100f", [(10, 0), (10, 3)], {(12, 0): "10.0 and newer of that major number"}),
    ],
)
def test_which_gpus_run_kernels(
    arch: str, fits: Sequence[tuple[int, int]], others: Mapping[tuple[int, int], str]
) -> None:
    manifest = {"arch": arch, "runs_on": runs_on(arch)}
    for capability in fits:
        runner.check_gpu(manifest, capability)
    for capability, message in others.items():
        with pytest.raises(RuntimeError, match=f"capability {message}"):
            runner.check_gpu(manifest, capability)


WORKER = """
import json, sys, time
first = int(sys.argv[sys.argv.index("--work") + 1])
def say(**message):
    print(json.dumps(message), flush=True)
print("not JSON")
if "--ceilings" not in sys.argv:
    say(ceilings={"copy": 2.0})
for number in range(first, 6):
    say(begin=number)
    match number:
        case 1:
            time.sleep(60)
        case 2:
            sys.exit(3)
        case 3:
            say(failure="it is wrong")
            sys.exit(0)
    row = dict(name=f"p{number}", ours=2.0, graph=1.0, torch=3.0, torch_graph=None)
    say(result={**row, "rate": 5.0, "unit": "GB/s", "of_ceiling": None, "notes": ""})
say(end=True)
"""


def test_programs_that_hang_or_end_the_process(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The others are measured, by another process; the table has all of them."""
    tensor = programs.Tensor((1,), "float32")
    names = [f"p{number}" for number in range(6)]
    cases = [programs.Case(name, "", (tensor,), (tensor,)) for name in names]
    (tmp_path / "cases.json").write_text(json.dumps([asdict(each) for each in cases]))
    command = [sys.executable, "-S", "-c", WORKER]
    table = runner.run(tmp_path, command, seconds=0.5)
    assert [each["name"] for each in table.results] == ["p0", "p4", "p5"]
    assert table.failures == {
        "p1": "it did not end in time",
        "p2": "the process ended with status 3",
        "p3": "it is wrong",
    }
    found = json.loads((tmp_path / "results.json").read_text())
    assert found["failures"] == table.failures
    assert found["ceilings"] == {"copy": 2.0}
    lines = capsys.readouterr().out.splitlines()
    assert lines[2].split()[:5] == ["p0", "2.0000", "1.0000", "3.0000", "-"]
    assert "300%" in lines[2]
    table = runner.run(tmp_path, command, most=0)
    assert set(table.failures.values()) == {"no time is left"}


def test_what_runs_needs_nothing_of_the_package(tmp_path: Path) -> None:
    """Python without site packages loads the copy, and says what is missing."""
    gpu.build(tmp_path, [], "sm_90")
    case = asdict(gpu.SMALL[0])
    (tmp_path / "cases.json").write_text(json.dumps([case]))
    command = [
        sys.executable,
        "-E",
        "-s",
        "-S",
        str(tmp_path / "gpu.py"),
        "--run",
        tmp_path,
    ]
    found = subprocess.run(
        command, capture_output=True, text=True, check=False, cwd=tmp_path
    )
    assert found.returncode == 1
    assert "No module named 'torch'" in found.stderr
    assert "error: no program has begun" in found.stderr


def test_programs_are_built_by_the_command(tmp_path: Path) -> None:
    """In a process of its own, where `models` is not the module of the benchmarks."""
    script = str(paths.ROOT / "benchmarks" / "gpu.py")
    command = [
        sys.executable,
        script,
        "--build",
        tmp_path,
        "--only",
        "add_relu",
        "--small",
    ]
    subprocess.run(command, capture_output=True, check=True, cwd=tmp_path)
    cases = json.loads((tmp_path / "cases.json").read_text())
    assert {case["kind"] for case in cases} == {"add_relu"}
