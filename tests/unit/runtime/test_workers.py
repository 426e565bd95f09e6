"""Jobs that are shared with copies of the process."""

from __future__ import annotations

import subprocess
import sys
import threading

import pytest

from xdsl_tvm.runtime._workers import can_fork, run_jobs

pytestmark = pytest.mark.skipif(
    sys.platform != "linux", reason="processes are copied on Linux"
)

COMMON = """
import os, sys, tempfile, time
from pathlib import Path
from xdsl_tvm.runtime._workers import Ended, can_fork, run_jobs

assert can_fork()
parent = os.getpid()
started = Path(tempfile.mkdtemp()) / "started"

def in_parent():
    return os.getpid() == parent

def wait():
    # Until the copy has begun a job.
    end = time.monotonic() + 60
    while not started.exists():
        assert time.monotonic() < end
        time.sleep(0.002)
"""

RESULTS = """
def job(number):
    def run():
        if in_parent():
            wait()
        else:
            started.touch()
        return bytes([number]) * number * 1000 + (b"" if in_parent() else b"copy")
    return run

jobs = [job(number) for number in range(20)]
found = run_jobs(jobs, range(19, -1, -1), 3)
assert [data.removesuffix(b"copy") for data in found] == [
    bytes([n]) * n * 1000 for n in range(20)
]
assert any(data.endswith(b"copy") for data in found)
"""

ENDED = """
def job():
    if in_parent():
        wait()
        return b"parent"
    started.touch()
    os.abort()

found = run_jobs([job] * 6, range(6), 2)
ended = [outcome for outcome in found if isinstance(outcome, Ended)]
assert len(ended) == 1, found
assert ended[0].reason.startswith("ended by signal 6"), ended
assert found.count(b"parent") in (0, 1, 2, 3, 4, 5)
"""

EXITED = ENDED.replace("os.abort()", "os._exit(7)").replace(
    "ended by signal 6", "exited with status 7"
)

FAILED = """
class Odd(Exception):
    def __init__(self, first, second):
        super().__init__(first)
        self.second = second

def job(number):
    def run():
        if in_parent():
            wait()
        else:
            started.touch()
        if number in (3, 5):
            raise Odd(number, "is kept")
        return b"done"
    return run

found = run_jobs([job(number) for number in range(8)], range(7, -1, -1), 2)
assert found[:3] == [b"done"] * 3
assert isinstance(found[3], Odd) and found[3].args == (3,)
assert found[3].second == "is kept"
"""

INTERRUPTED = """
def job():
    if in_parent():
        wait()
        raise KeyboardInterrupt
    started.touch()
    time.sleep(600)

try:
    run_jobs([job] * 3, range(3), 2)
except KeyboardInterrupt:
    pass
else:
    sys.exit("not interrupted")
try:
    os.waitpid(-1, 0)
except ChildProcessError:
    pass
else:
    sys.exit("a copy is left")
"""


@pytest.mark.parametrize("program", [RESULTS, ENDED, EXITED, FAILED, INTERRUPTED])
def test_copies(program: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", COMMON + program],
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_one_process_stops_at_the_first_failure() -> None:
    begun: list[int] = []

    def job(number: int) -> bytes:
        begun.append(number)
        if number == 2:
            raise ValueError("two")
        return bytes([number])

    jobs = [lambda number=number: job(number) for number in range(4)]
    outcomes = run_jobs(jobs, [3, 2, 1, 0], 1)
    assert begun == [0, 1, 2]
    assert outcomes[:2] == [b"\0", b"\1"]
    assert isinstance(outcomes[2], ValueError)


def test_no_copies_beside_threads() -> None:
    end = threading.Event()
    thread = threading.Thread(target=end.wait)
    thread.start()
    try:
        assert not can_fork()
    finally:
        end.set()
        thread.join()


NATIVE_THREAD = """
import ctypes
from xdsl_tvm.runtime._workers import can_fork

def start(name):
    thread, library = ctypes.c_ulong(), ctypes.CDLL(None)
    wait = ctypes.cast(library.sleep, ctypes.c_void_p)
    library.pthread_create(ctypes.byref(thread), None, wait, ctypes.c_void_p(60))
    if name:
        library.pthread_setname_np(thread, name)

start(b"")
print(can_fork())
start(b"tf_tasks")
print(can_fork())
"""


def test_threads_of_libraries_with_names_prevent_copies() -> None:
    command = [sys.executable, "-c", NATIVE_THREAD]
    found = subprocess.run(command, capture_output=True, text=True, check=True)
    assert found.stdout.split() == ["True", "False"]
