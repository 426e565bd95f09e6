"""Parallel loops on threads: the results of loops in order, for any number of threads."""

import os
import random
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import xdsl_tvm
from xdsl_tvm.lowering.llvm_text.thread_pool import LAUNCH
from xdsl_tvm.runtime import threads
from xdsl_tvm.runtime.executable import NativeExecutable

COUNTS = (1, 2, 3, 8)


@pytest.fixture(autouse=True)
def usual_number() -> Iterator[None]:
    before = threads.num_threads()
    yield
    threads.set_num_threads(before)


# ---- random programs

ROWS, COLUMNS = 37, 24


class RandomLoop:
    """A function with one parallel loop over the rows of B, and any body.

    It reads A and s, and writes only its own row of B. An inner loop runs `n` times, so
    that nobody knows how much work the body is, and it always runs on threads.
    """

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.name = f"f{seed}"
        self.dtype = self.rng.choice(["f32", "f64", "i32", "ui8", "i64"])
        self.index = self.rng.choice(["i32", "i64", "ui8"])
        self.lines: list[str] = []
        self.count = 0

    def value(self, text: str) -> str:
        self.count += 1
        self.lines.append(f"%v{self.count} = {text}")
        return f"%v{self.count}"

    def number(self, depth: int, row: str, column: str) -> str:
        kind = self.rng.randrange(6 if depth else 2)
        if kind == 0:
            return self.value(f"tir.load %A[{row}, {column}] : {self.dtype}")
        if kind == 1:
            return "%s"
        a, b = (self.number(depth - 1, row, column) for _ in range(2))
        if kind == 2:
            p = self.value(f"tir.cmp lt {a}, {b} : {self.dtype}")
            return self.value(f"tir.select {p}, {a}, {b} : i1, {self.dtype}")
        op = self.rng.choice(["add", "sub", "mul", "min", "max"])
        return self.value(f"tir.{op} {a}, {b} : {self.dtype}")

    def sum_of_row(self, row: str) -> str:
        """A loop that adds to memory of its own."""
        scratch = self.value(f"tir.alloc_buffer : !tir.buffer<{self.size}x{self.dtype}>")
        self.lines.append(f"tir.store %s, {scratch}[%z] : {self.dtype}")
        kind = self.rng.choice(["", "parallel"])
        inner = self.rng.choice([("%k", "%m"), ("%k", "%columns")])
        self.lines.append(f"tir.for {inner[0]} = %z to {inner[1]} {{")
        x = self.number(2, row, "%k")
        old = self.value(f"tir.load {scratch}[%z] : {self.dtype}")
        new = self.value(f"tir.add {old}, {x} : {self.dtype}")
        self.lines += [f"tir.store {new}, {scratch}[%z] : {self.dtype}", "}"]
        # A parallel loop in another one runs in order, and may so as well here.
        self.lines.append(f"tir.for %q = %z to %columns {kind} {{")
        y = self.value(f"tir.load {scratch}[%z] : {self.dtype}")
        self.lines += [f"tir.store {y}, %B[{row}, %q] : {self.dtype}", "}"]
        return scratch

    def text(self, kind: str) -> str:
        """The function, with loops of `kind` for the parallel ones."""
        rng = self.rng
        self.size = rng.choice([1, 40, 3000])
        self.lines.clear()
        low = rng.choice([0, 0, 3])
        self.sum_of_row("%i")
        self.lines.append("tir.for %j = %z to %m {")
        x = self.number(3, "%i", "%j")
        old = self.value(f"tir.load %B[%i, %j] : {self.dtype}")
        mixed = self.value(f"tir.add {old}, {x} : {self.dtype}")
        p = self.value(f"tir.cmp lt {x}, {old} : {self.dtype}")
        self.lines += [f"tir.if {p} {{", f"tir.store {mixed}, %B[%i, %j] : {self.dtype}"]
        self.lines += ["}", "}"]
        body = "\n".join(self.lines).replace(" parallel {", f" {kind} {{")
        return f"""
        tir.func @{self.name}(%a: !tir.handle, %b: !tir.handle, %s: {self.dtype}, %m: i32)
            attributes {{global_symbol = "{self.name}", tir.noalias}} {{
          %A = tir.match_buffer %a : !tir.buffer<{ROWS}x{COLUMNS}x{self.dtype}>
          %B = tir.match_buffer %b : !tir.buffer<{ROWS}x{COLUMNS}x{self.dtype}>
          %z = tir.const 0 : i32
          %columns = tir.const {COLUMNS} : i32
          %low = tir.const {low} : {self.index}
          %rows = tir.const {ROWS - low} : {self.index}
          tir.for %i = %low to %low + %rows {kind} {{
            {body}
          }}
        }}"""


def arguments(loop: RandomLoop) -> tuple[Any, ...]:
    """A, B, s and m for a random loop."""
    rng = np.random.default_rng(3)
    name = {"f32": "f4", "f64": "f8", "i32": "i4", "ui8": "u1", "i64": "i8"}
    dtype = np.dtype(name[loop.dtype])
    a, b = ((rng.random((ROWS, COLUMNS)) * 9).astype(dtype) for _ in range(2))
    return a, b, dtype.type(2), 17


def test_random_loops() -> None:
    """The results of random loops are bit for bit those of the loops in order."""
    count = int(os.environ.get("XDSL_TVM_FUZZ", "6"))
    first = int(os.environ.get("XDSL_TVM_FUZZ_FROM", "0"))
    loops = range(first, first + count)
    serial = xdsl_tvm.compile("\n".join(RandomLoop(n).text("") for n in loops))
    parallel = xdsl_tvm.compile("\n".join(RandomLoop(n).text("parallel") for n in loops))
    assert isinstance(parallel, NativeExecutable)
    assert parallel.llvm_ir.count(f"call i64 @{LAUNCH}(") == len(loops)
    for number in loops:
        a, b, s, m = arguments(RandomLoop(number))
        expected = b.copy()
        serial[f"f{number}"](a, expected, s, m)
        assert not np.array_equal(expected, b)
        for count in COUNTS:
            threads.set_num_threads(count)
            found = b.copy()
            parallel[f"f{number}"](a, found, s, m)
            assert np.array_equal(found, expected, equal_nan=True), (number, count)


# ---- extents

TWICE = """
tir.func @twice(%a: !tir.handle, %b: !tir.handle, %m: i32)
    attributes {global_symbol = "twice", tir.noalias} {
  %n = tir.shape_var "n" : i32
  %A = tir.match_buffer %a [%n] : !tir.buffer<?xf32>
  %B = tir.match_buffer %b [%n] : !tir.buffer<?xf32>
  %c0 = tir.const 0 : i32
  tir.for %i = %c0 to %n parallel {
    tir.for %j = %c0 to %m {
      %x = tir.load %A[%i] : f32
      %y = tir.add %x, %x : f32
      tir.store %y, %B[%i] : f32
    }
  }
}
"""


def twice(size: int) -> tuple[Any, Any]:
    a = np.arange(size, dtype=np.float32)
    return a, np.zeros_like(a)


@pytest.mark.parametrize("size", [0, 1, 2, 7, 8, 9, 1000])
def test_extents(size: int) -> None:
    function = xdsl_tvm.compile(TWICE)["twice"]
    for count in COUNTS:
        threads.set_num_threads(count)
        a, b = twice(size)
        function(a, b, 1)
        assert np.array_equal(b, 2 * a)


def test_extent_below_zero() -> None:
    function = xdsl_tvm.compile(
        """
        tir.func @none(%a: !tir.handle, %n: i32, %m: i32)
            attributes {global_symbol = "none"} {
          %A = tir.match_buffer %a : !tir.buffer<4xf32>
          %c0 = tir.const 0 : i32
          %x = tir.const 1.0 : f32
          tir.for %i = %n to %n + %m parallel {
            tir.for %j = %c0 to %n {
              tir.store %x, %A[%c0] : f32
            }
          }
        }"""
    )["none"]
    a = np.zeros(4, np.float32)
    for extent in (0, -1, -100):
        function(a, 5, extent)
    assert not a.any()


# ---- failures

CHECKED = """
tir.func @checked(%a: !tir.handle, %b: !tir.handle)
    attributes {global_symbol = "checked", tir.noalias} {
  %A = tir.match_buffer %a : !tir.buffer<1000xi32>
  %B = tir.match_buffer %b : !tir.buffer<1000xi32>
  %c0 = tir.const 0 : i32
  %n = tir.const 1000 : i32
  tir.for %i = %c0 to %n parallel {
    %x = tir.load %A[%i] : i32
    %y = tir.call_func @half(%x) : (i32) -> i32
    %c1 = tir.const 1 : i32
    %p = tir.cmp ne %x, %c1 : i32
    tir.assert %p, "one"
    tir.store %y, %B[%i] : i32
  }
  %x = tir.load %A[%c0] : i32
  %y = tir.call_func @half(%x) : (i32) -> i32
  tir.store %y, %B[%c0] : i32
}
tir.func @half(%x: i32) -> i32 attributes {global_symbol = "half"} {
  %c2 = tir.const 2 : i32
  %c3 = tir.const 3 : i32
  %p = tir.cmp ne %x, %c3 : i32
  tir.assert %p, "three"
  %y = tir.floordiv %x, %c2 : i32
  tir.ret %y : i32
}
"""


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ({500: 1, 700: 3}, "one"),
        ({500: 3, 700: 1}, "three"),
        ({1: 3, 999: 1}, "three"),
        ({999: 1}, "one"),
        ({0: 1, 1: 3}, "one"),
    ],
)
def test_first_failure(bad: dict[int, int], message: str) -> None:
    """That of the first iteration, whichever thread fails first; then all is well."""
    executable = xdsl_tvm.compile(CHECKED)
    good = np.full(1000, 8, np.int32)
    wrong = good.copy()
    for position, value in bad.items():
        wrong[position] = value
    for count in COUNTS:
        threads.set_num_threads(count)
        with pytest.raises(RuntimeError, match=f"^assertion failed: {message}$"):
            executable["checked"](wrong, good.copy())
        found = np.zeros_like(good)
        executable["checked"](good, found)
        assert (found == 4).all()
    assert executable["half"](9) == 4
    with pytest.raises(RuntimeError, match="three"):
        executable["half"](3)


# ---- threads of the program, processes, and the end


def test_calls_at_the_same_time() -> None:
    function = xdsl_tvm.compile(TWICE)["twice"]
    threads.set_num_threads(3)
    wrong: list[int] = []

    def work(size: int) -> None:
        for _ in range(200):
            a, b = twice(size)
            function(a, b, 1)
            if not np.array_equal(b, 2 * a):
                wrong.append(size)

    workers = [threading.Thread(target=work, args=(100 + n,)) for n in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(60)
    assert not wrong
    assert not any(worker.is_alive() for worker in workers)


_SETUP = f"""
import os, sys, threading
import numpy as np
import xdsl_tvm
from xdsl_tvm.runtime import threads
function = xdsl_tvm.compile({TWICE!r})["twice"]
threads.set_num_threads(3)
def check(size=1000):
    a = np.arange(size, dtype=np.float32)
    b = np.zeros_like(a)
    function(a, b, 1)
    return np.array_equal(b, 2 * a)
assert check()
"""

_FORK = """
for generation in range(3):
    child = os.fork()
    if child == 0:
        # Twice, and in a child's child.
        if not (check() and check()):
            os._exit(3)
        grandchild = os.fork()
        if grandchild == 0:
            os._exit(0 if check() else 4)
        os._exit(os.waitstatus_to_exitcode(os.waitpid(grandchild, 0)[1]))
    assert check()
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
print("done")
"""

_EXIT = """
import atexit
def work():
    while True:
        check(100000)
threading.Thread(target=work, daemon=True).start()
atexit.register(lambda: print("late", check()))
check()
print("done")
"""


def run_python(script: str, **environment: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-c", _SETUP + script],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork")
@pytest.mark.parametrize("pool", threads.POOLS[:2])
def test_fork(pool: str) -> None:
    if pool == "futex" and threads.pool_kind() != "futex":
        pytest.skip("no futex here")
    done = run_python(_FORK, XDSL_TVM_THREAD_POOL=pool)
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr


@pytest.mark.parametrize("pool", threads.POOLS)
def test_exit_while_a_thread_works(pool: str) -> None:
    if pool == "futex" and threads.pool_kind() != "futex":
        pytest.skip("no futex here")
    done = run_python(_EXIT, XDSL_TVM_THREAD_POOL=pool)
    assert (done.returncode, done.stdout) == (0, "done\nlate True\n"), done.stderr


# ---- linked programs

_LINKED = """
import ctypes, os, sys
library = ctypes.CDLL(sys.argv[1])
count = 100_000
a = (ctypes.c_float * count)(*range(count))
def check():
    b = (ctypes.c_float * count)()
    library.twice(a, b, 1, ctypes.c_int64(count))
    return all(y == 2 * x for x, y in zip(a, b))
assert check()
print(len(os.listdir("/proc/self/task")))
child = os.fork()
if child == 0:
    os._exit(0 if check() and len(os.listdir("/proc/self/task")) == 3 else 3)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
assert check()
"""


@pytest.mark.skipif(
    shutil.which("cc") is None or sys.platform != "linux", reason="needs cc and Linux"
)
@pytest.mark.parametrize("form", ["object", "assembly"])
def test_linked_code_has_threads(form: str, tmp_path: Path) -> None:
    """The pool comes with the code; two objects have one between them."""
    paths: list[str] = []
    for name in ("twice", "other"):
        text = TWICE.replace("twice", name)
        path = tmp_path / f"{name}.{'o' if form == 'object' else 's'}"
        paths.append(str(path))
        if form == "object":
            executable = xdsl_tvm.compile(text)
            assert isinstance(executable, NativeExecutable)
            executable.object_file(path)
        else:
            path.write_text(assembly(text), encoding="utf-8")
    library = tmp_path / "library.so"
    subprocess.run(
        ["cc", "-shared", "-fPIC", "-o", str(library), *paths], check=True, timeout=60
    )
    done = subprocess.run(
        [sys.executable, "-c", _LINKED, str(library)],
        env={**os.environ, "XDSL_TVM_NUM_THREADS": "3"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, "3\n"), done.stderr


def assembly(text: str) -> str:
    from io import StringIO

    from xdsl_tvm.registry import new_context
    from xdsl_tvm.runtime.executable import load_module
    from xdsl_tvm.targets.asm import AsmTarget

    output = StringIO()
    AsmTarget().emit(new_context(), load_module(text), output)
    return output.getvalue()
