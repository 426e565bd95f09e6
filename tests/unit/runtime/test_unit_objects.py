"""Kernels as objects of their own: by several processes, and in the cache."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
from xdsl.utils.exceptions import DiagnosticException, PassFailedException

import xdsl_tvm
from xdsl_tvm.runtime import unit_objects
from xdsl_tvm.runtime._workers import Ended, Job, Outcome
from xdsl_tvm.runtime.unit_objects import compile_processes

pytest.importorskip("llvmlite", reason="native code needs llvmlite")

PROGRAM = """
import os
import sys
import numpy as np
import xdsl_tvm
from pathlib import Path
from xdsl_tvm.runtime import _workers

forked = []
fork = _workers._fork
_workers._fork = lambda: forked.append(0) or fork()
for processes, cache in zip("13", sys.argv[2:], strict=True):
    os.environ["XDSL_TVM_CACHE"] = cache
    os.environ["XDSL_TVM_COMPILE_PROCESSES"] = processes
    main = xdsl_tvm.compile(Path(sys.argv[1]))["main"]
    x = np.arange(24, dtype="float32").reshape(4, 6)
    print(len(forked), main(x).tobytes().hex())
"""


def model(*steps: str) -> str:
    """A function of reductions, which are kernels of their own."""
    lines = [
        f"%{number + 1} = relax.{step} %{number} axis 1 : (!x) -> !x"
        for number, step in enumerate(steps)
    ]
    body = "\n".join(lines).replace("%0 ", "%x ")
    return (
        "!x = tensor<4x6xf32>\n"
        'relax.func @main(%x: !x) -> !x attributes {global_symbol = "main"} {\n'
        f"{body}\nrelax.return %{len(steps)} : !x\n}}\n"
    )


def entries(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.rglob("*.o")}


@pytest.mark.skipif(sys.platform != "linux", reason="processes are copied on Linux")
def test_one_process_and_three_give_the_same_bytes(tmp_path: Path) -> None:
    path = tmp_path / "model.mlir"
    path.write_text(model("nn.softmax", "cumsum", "nn.softmax"))
    caches = tmp_path / "one", tmp_path / "three"
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, path, *caches],
        capture_output=True,
        text=True,
        timeout=200,
        check=True,
    )
    alone, shared = (line.split() for line in done.stdout.splitlines())
    assert int(alone[0]) == 0
    assert int(shared[0]) > 0
    assert alone[1] == shared[1]
    found = entries(tmp_path / "one")
    # The module, and its kernels, of which two are equal; the pool is code, too.
    assert len(found) >= 4
    assert found == entries(tmp_path / "three")


def test_models_share_kernels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDSL_TVM_CACHE", str(tmp_path))
    x = np.arange(24, dtype="f4").reshape(4, 6)
    first = xdsl_tvm.compile(model("nn.softmax", "nn.log_softmax"))["main"](x)
    before = set(entries(tmp_path))
    steps: list[str] = []

    def note(name: str, number: int, count: int) -> None:
        assert 0 <= number < count
        steps.append(name)

    second = xdsl_tvm.compile(model("nn.log_softmax", "nn.softmax"), progress=note)
    assert [step for step in steps if "machine code" in step] == [
        "machine code of the functions that call kernels"
    ]
    # The module alone.
    assert len(set(entries(tmp_path)) - before) == 1
    shifted = np.exp(x - x.max(1, keepdims=True))
    softmax = shifted / shifted.sum(1, keepdims=True)
    twice = np.exp(softmax)
    expected = np.log(twice / twice.sum(1, keepdims=True))
    np.testing.assert_allclose(first, expected, rtol=1e-5)
    np.testing.assert_allclose(second["main"](x), softmax, rtol=1e-5)


def test_constants_that_kernels_read_are_the_model_s(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDSL_TVM_CACHE", str(tmp_path))
    text = model("nn.softmax").replace(
        "%1 = relax.nn.softmax %x",
        "%c = relax.constant dense<{}> : !x\n"
        "%0 = relax.add %x, %c : (!x, !x) -> !x\n%1 = relax.nn.softmax %0",
    )
    x = np.zeros((4, 6), "f4")
    for value in (1.0, 2.0):
        executable = xdsl_tvm.compile(text.replace("{}", str(value)))
        np.testing.assert_allclose(executable["main"](x), 1 / 6, rtol=1e-6)


KERNEL = """
tir.func private @mine(%a: !tir.handle, %b: !tir.handle) {
  %A = tir.match_buffer %a : !tir.buffer<4x6xf32>
  %B = tir.match_buffer %b : !tir.buffer<4x6xf32>
  %c0 = tir.const 0 : i32
  %c4 = tir.const 4 : i32
  tir.for %i = %c0 to %c4 thread_binding "threadIdx.x" {
    %x = tir.load %A[%i, %c0] : f32
    tir.store %x, %B[%i, %c0] : f32
  }
}
!x = tensor<4x6xf32>
relax.func @main(%x: !x) -> !x attributes {global_symbol = "main"} {
  %0 = relax.call_tir @mine(%x) : (!x) -> !x
  %1 = relax.nn.softmax %0 axis 1 : (!x) -> !x
  relax.return %1 : !x
}
"""


def test_errors_of_kernels() -> None:
    with pytest.raises(PassFailedException) as error:
        xdsl_tvm.compile(KERNEL)
    assert str(error.value).startswith("cannot lower 'tir.launch_thread'")


@pytest.mark.parametrize("text", ["", "0", "two", "257", "-1"])
def test_bad_number_of_processes(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv("XDSL_TVM_COMPILE_PROCESSES", text)
    with pytest.raises(ValueError, match="set it to a number from 1 to 256"):
        compile_processes()


def test_a_process_that_llvm_ends_names_the_kernel(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def ended(
        jobs: Sequence[Job],
        order: Sequence[int],
        processes: int,
        meanwhile: Callable[[], None],
    ) -> list[Outcome]:
        del order, processes
        meanwhile()
        return [jobs[0](), *(Ended("ended by signal 6 (Aborted)") for _ in jobs[1:])]

    monkeypatch.setenv("XDSL_TVM_CACHE", "off")
    monkeypatch.setattr(unit_objects, "run_jobs", ended)
    with pytest.raises(DiagnosticException) as error:
        xdsl_tvm.compile(model("nn.softmax", "nn.log_softmax"))
    assert str(error.value) == (
        "LLVM cannot compile log_softmax: its process ended by signal 6 (Aborted); "
        "compile with opt_level=0, or change the function"
    )


BATCHES = """
import os
import numpy as np
import xdsl_tvm
from xdsl_tvm.lowering import function_batches
from xdsl_tvm.runtime import _workers
from xdsl_tvm.runtime.native import NativeExecutable

TEXT = '''
tir.func @f{n}(%a: !tir.handle) attributes {{global_symbol = "f{n}"}} {{
  %A = tir.match_buffer %a : !tir.buffer<4xf32>
  %c0 = tir.const 0 : i32
  %c4 = tir.const 4 : i32
  tir.for %i = %c0 to %c4 {{
    {check}%x = tir.load %A[%i] : f32
    %y = tir.const {n}.0 : f32
    %z = tir.add %x, %y : f32
    tir.store %z, %A[%i] : f32
  }}
}}
'''
CHECK = '%p = tir.cmp lt %i, %c4 : i32  tir.assert %p, "four"  '
text = "".join(TEXT.format(n=n, check=CHECK if n == 2 else "") for n in range(12))

function_batches.OPERATIONS = 32
forked = []
fork = _workers._fork
_workers._fork = lambda: forked.append(0) or fork()
objects = []
for processes in (1, 2):
    os.environ["XDSL_TVM_COMPILE_PROCESSES"] = str(processes)
    steps = []
    code = xdsl_tvm.compile(text, progress=lambda *step: steps.append(step))
    assert isinstance(code, NativeExecutable)
    objects.append(code.machine_code.objects)
    array = np.zeros(4, "float32")
    for n in range(12):
        code[f"f{n}"](array)
    assert array.tolist() == [66.0] * 4
    assert steps == [
        ("machine code of f0 to f4", 0, 4),
        ("machine code of f5 to f8", 1, 4),
        ("machine code of f9 to f11", 2, 4),
        ("machine code of f2", 3, 4),
    ], steps
    print(len(forked), len(objects[-1]))
assert objects[0] == objects[1]
"""


@pytest.mark.skipif(sys.platform != "linux", reason="processes are copied on Linux")
def test_batches_of_tir_functions_are_the_same_for_one_process_and_two() -> None:
    done = subprocess.run(
        [sys.executable, "-c", BATCHES],
        env={**os.environ, "XDSL_TVM_CACHE": "off"},
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, "0 4\n1 4\n"), done.stderr
