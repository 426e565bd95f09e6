"""Children of `os.fork`, made while other threads hold what the runtime locks."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

pytest.importorskip("llvmlite", reason="native code needs llvmlite")
pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")

COMMON = """
import os, sys, threading, time, warnings
warnings.simplefilter("ignore")
import numpy as np
import xdsl_tvm

started, go_on = threading.Event(), threading.Event()

def child(work):
    # Forks, works in the child, and fails if that takes long.
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            work()
            status = 0
        finally:
            os._exit(status)
    for _ in range(500):
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            assert os.waitstatus_to_exitcode(status) == 0, status
            return
        time.sleep(0.02)
    os.kill(pid, 9)
    os.waitpid(pid, 0)
    sys.exit("the child hangs")

def apart(work):
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    assert started.wait(20)
    return thread
"""

IN_COMPILED_CODE = """
MODEL = '''
!x = tensor<4xf32>
relax.func @main(%x: !x) -> !x attributes {global_symbol = "main"} {
  %0 = relax.call_dps_packed "wait" (%x) : (!x) -> !x
  relax.return %0 : !x
}'''
slow = True
def wait(x, y):
    y[...] = x + 1
    if slow:
        started.set()
        assert go_on.wait(20)
    if x[0] > 5:
        raise ValueError("too large")

main = xdsl_tvm.compile(MODEL, externs={"wait": wait})["main"]
x = np.zeros(4, "f4")
thread = apart(lambda: main(x))
slow = False
def in_child():
    assert main(x).tolist() == [1, 1, 1, 1]
    try:
        main(x + 6)
    except ValueError as error:
        assert str(error) == "too large"
    assert main(x).tolist() == [1, 1, 1, 1]
child(in_child)
go_on.set()
thread.join()
"""

IN_A_CALL_OF_ITS_OWN = """
MODEL = '''
!x = tensor<4xf32>
relax.func @main(%x: !x) -> !x attributes {global_symbol = "main"} {
  %0 = relax.call_dps_packed "fork" (%x) : (!x) -> !x
  relax.return %0 : !x
}'''
depth = 0
def fork(x, y):
    global depth
    y[...] = x + 1
    depth += 1
    if depth == 1:
        child(lambda: main(x))
main = xdsl_tvm.compile(MODEL, externs={"fork": fork})["main"]
assert main(np.zeros(4, "f4")).tolist() == [1, 1, 1, 1]
assert main(np.zeros(4, "f4")).tolist() == [1, 1, 1, 1]
"""

WHILE_COMPILING = """
os.environ["XDSL_TVM_CACHE"] = "off"
TEXT = '''
tir.func @f(%a: !tir.handle, %n: i32) attributes {global_symbol = "f"} {
  %A = tir.match_buffer "A" %a : !tir.buffer<4096xi32>
  %c0 = tir.const 0 : i32
  %c1 = tir.const 4096 : i32
  tir.for %i = %c0 to %c1 parallel {
    %s = tir.add %i, %n : i32
    tir.store %s, %A[%i] : i32
  }
}'''
def work():
    a = np.zeros(4096, "i4")
    xdsl_tvm.compile(TEXT)["f"](a, 3)
    assert (a == np.arange(4096) + 3).all()
work()
started.clear(), go_on.clear()
def again():
    while not go_on.is_set():
        work()
        started.set()
thread = apart(again)
for _ in range(3):
    child(work)
go_on.set()
thread.join()
"""

LOCKS = """
from xdsl_tvm.analysis.arith import expr
from xdsl_tvm.runtime import llvm_jit, threads

def check(lock, work):
    started.clear(), go_on.clear()
    def hold():
        with lock:
            started.set()
            go_on.wait(0.3)
    thread = apart(hold)
    child(work)
    go_on.set()
    thread.join()

TEXT = "define i32 @f() { ret i32 1 }"
llvm_jit.object_file(TEXT)
for lock in (llvm_jit._LOCK, llvm_jit._binding().ffi.lib._lock):
    check(lock, lambda: llvm_jit.object_file(TEXT, opt_level=1))
check(threads._THREADS.lock, lambda: threads.set_num_threads(3))
from xdsl.dialects.builtin import i8
check(expr._lock, lambda: expr._number_of(i8))
"""


def test_child_does_not_wait_for_threads_it_does_not_have() -> None:
    scripts = (IN_COMPILED_CODE, IN_A_CALL_OF_ITS_OWN, WHILE_COMPILING, LOCKS)
    done = subprocess.run(
        [sys.executable, "-c", COMMON + "".join(scripts)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
