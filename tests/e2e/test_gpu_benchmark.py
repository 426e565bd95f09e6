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
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support import paths
from support.gpu_driver import NotingDriver, simulated_driver

from xdsl_tvm.runtime.load import load_module

pytest.importorskip("llvmlite")
if shutil.which("cc") is None:
    pytest.skip("no C compiler", allow_module_level=True)

sys.path.append(str(paths.ROOT / "benchmarks"))
gpu: Any = importlib.import_module("gpu")

CHOSEN = gpu.SMALL if "XDSL_TVM_FUZZ" in os.environ else gpu.SMALL[3:7:3]
CEILINGS = {"copy": 1.0, "float32": 1.0, "int32": 1.0}


class NumpyGpu:
    """Arrays in the memory of a driver that runs kernels in the simulator."""

    def __init__(self, driver: NotingDriver) -> None:
        self.driver = driver
        self._stream = driver.new_stream()
        self._rng = np.random.default_rng(0)

    def functions(self) -> Mapping[str, int]:
        return self.driver.functions()

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

    def peer(self, kind: str, arrays: Sequence[Any], *, tf32: bool = False) -> Any:
        assert not tf32
        first, *rest = [np.asarray(each, "f8") for each in arrays]
        match kind:
            case "matmul":
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
            case _:
                padded = np.pad(first, [(0, 0), (0, 0), (1, 1), (1, 1)])
                windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), (2, 3))
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
        use_stream(self._stream)
        graph = self.driver.end_capture(recorder)
        return lambda: self.driver.launch_graph(graph, self._stream)


@pytest.mark.parametrize("case", CHOSEN, ids=lambda case: case.kind)
def test_programs(case: Any, tmp_path: Path) -> None:
    """Each is built, checked, timed, and captured."""
    gpu.build(tmp_path, [case], "sm_90")
    driver = simulated_driver(load_module(gpu.module_of(case)))
    results = gpu.run(NumpyGpu(driver), tmp_path, CEILINGS)
    assert [each.name for each in results] == [case.name]
    found = json.loads((tmp_path / "results.json").read_text())
    assert found["failures"] == {}
    assert found["results"][0]["error"] < 1e-5
    (graph,) = driver.graphs.values()
    assert len(driver.launches) == 3 * len(graph.steps) - 3 * len(graph.memory)
    assert (tmp_path / "gpu.py").exists()


def test_a_program_that_is_wrong_or_fails(tmp_path: Path) -> None:
    """It is reported; the others go on."""
    case = gpu.SMALL[3]
    gpu.build(tmp_path, [case], "sm_90")
    silent = NotingDriver()
    assert gpu.run(NumpyGpu(silent), tmp_path, CEILINGS) == []
    found = json.loads((tmp_path / "results.json").read_text())
    assert "the result is wrong: the error is nan" in found["failures"][case.name]
    failing = NotingDriver(fails="cuLaunchKernel")
    assert gpu.run(NumpyGpu(failing), tmp_path, CEILINGS) == []
    found = json.loads((tmp_path / "results.json").read_text())
    assert "was not launched" in found["failures"][case.name]


def test_what_runs_needs_nothing_of_the_package(tmp_path: Path) -> None:
    """Python without site packages loads the copy, and says what is missing."""
    gpu.build(tmp_path, [], "sm_90")
    command = [sys.executable, "-I", "-S", str(tmp_path / "gpu.py"), "--run", tmp_path]
    found = subprocess.run(command, capture_output=True, text=True, check=False)
    assert found.returncode == 1
    assert "torch" in found.stderr
