"""The thread pools: what a launch calls, its result, and when it runs on one thread."""

import ctypes
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator

import pytest
from xdsl.utils.exceptions import DiagnosticException

from xdsl_tvm.dialects.in_threads import available_processors
from xdsl_tvm.lowering.llvm_text.thread_pool import (
    CHUNKS_OF_A_THREAD,
    LAUNCH,
    System,
    host_system,
    system_of,
    thread_pool_ir,
    with_thread_pool,
)
from xdsl_tvm.runtime import llvm_jit, threads
from xdsl_tvm.runtime.threads import Chunk, ExecutorPool, NativePool, Pool

KINDS = threads.POOLS[threads.POOLS.index(threads.pool_kind()) :]

Launch = ctypes.CFUNCTYPE(
    ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64
)


class Recorder:
    """A chunk that keeps what it was called with, and fails where it is told to."""

    def __init__(self, pool: Pool, failing: tuple[int, ...] = ()) -> None:
        self.calls: list[tuple[int, int, int | None, int]] = []
        self.failing = failing
        self.launch_function = Launch(pool.launch)
        self.chunk = Chunk(self.call)

    def call(self, number: int, count: int, context: int | None) -> int:
        self.calls.append((number, count, context, threading.get_ident()))
        return 1000 + number if number in self.failing else 0

    def launch(self, limit: int, context: int = 7) -> int:
        """Launches the chunk; gives the result."""
        self.calls.clear()
        return self.launch_function(
            ctypes.cast(self.chunk, ctypes.c_void_p), context, limit
        )

    @property
    def shares(self) -> list[tuple[int, int]]:
        return sorted((number, count) for number, count, _, _ in self.calls)


@pytest.fixture(scope="module", params=KINDS)
def pool(request: pytest.FixtureRequest) -> Iterator[Pool]:
    kind: str = request.param
    made = ExecutorPool() if kind == "executor" else NativePool(kind)
    yield made
    made.stop()


def chunks(pool: Pool, count: int, limit: int) -> int:
    """How many chunks a pool of `count` threads makes."""
    each = 1 if isinstance(pool, ExecutorPool) or count == 1 else CHUNKS_OF_A_THREAD
    return min(count * each, limit)


@pytest.mark.parametrize("count", [1, 3, 8, 2])
def test_chunks_of_a_loop(pool: Pool, count: int) -> None:
    """Each once, whichever thread takes it."""
    pool.resize(count)
    recorder = Recorder(pool)
    for limit in (1000, 4 * count - 1, count + 1, count):
        assert recorder.launch(limit) == 0
        made = chunks(pool, count, limit)
        assert recorder.shares == [(n, made) for n in range(made)]
        assert {context for _, _, context, _ in recorder.calls} == {7}


@pytest.mark.parametrize("count", [3, 8, 2])
def test_every_thread_gets_a_chunk(pool: Pool, count: int) -> None:
    """Where no thread is done with its own before all have begun."""
    pool.resize(count)
    used: list[int] = []
    barrier = threading.Barrier(count)

    def meet(number: int, _count: int, _: int | None) -> int:
        barrier.wait(30)
        used.append(threading.get_ident())
        return 0

    chunk = Chunk(meet)
    launch = Launch(pool.launch)
    assert launch(ctypes.cast(chunk, ctypes.c_void_p), None, count) == 0
    assert len(set(used)) == count
    assert threading.get_ident() in used


@pytest.mark.parametrize("slow", range(2 * CHUNKS_OF_A_THREAD))
def test_chunks_of_a_thread_that_is_late(pool: Pool, slow: int) -> None:
    """Others take them: one chunk lasts until all the others are done."""
    if isinstance(pool, ExecutorPool):
        pytest.skip("its threads have one chunk each")
    pool.resize(2)
    others = threading.Semaphore(0)

    def call(number: int, count: int, _: int | None) -> int:
        if number != slow:
            others.release()
            return 0
        return sum(not others.acquire(timeout=30) for _ in range(count - 1))

    chunk = Chunk(call)
    launch = Launch(pool.launch)
    assert launch(ctypes.cast(chunk, ctypes.c_void_p), None, 1000) == 0


@pytest.mark.parametrize("limit", [-5, 0, 1])
def test_one_chunk(pool: Pool, limit: int) -> None:
    pool.resize(4)
    recorder = Recorder(pool)
    assert recorder.launch(limit) == 0
    assert recorder.shares == [(0, 1)]


def test_no_more_chunks_than_asked_for(pool: Pool) -> None:
    pool.resize(8)
    recorder = Recorder(pool)
    for limit in (3, 8, 2, 5, 2):
        recorder.launch(limit)
        assert recorder.shares == [(n, limit) for n in range(limit)]


def test_first_failure(pool: Pool) -> None:
    """In order of the chunks, whichever comes first in time; the next launch is clean."""
    pool.resize(8)
    for failing in ((5,), (7, 2, 4), (0, 3), (1,), (0,)):
        recorder = Recorder(pool, failing)
        assert recorder.launch(8) == 1000 + min(failing)
    assert Recorder(pool).launch(8) == 0


def test_launch_in_a_chunk(pool: Pool) -> None:
    """The pool is busy, so the inner one runs on the thread that asks."""
    pool.resize(3)
    inner: list[tuple[int, int, bool]] = []
    launch = Launch(pool.launch)

    def call_inner(number: int, count: int, _: int | None) -> int:
        inner.append((number, count, True))
        return 40 + number

    inner_chunk = Chunk(call_inner)

    def call_outer(number: int, count: int, _: int | None) -> int:
        return launch(ctypes.cast(inner_chunk, ctypes.c_void_p), None, 100)

    outer_chunk = Chunk(call_outer)
    assert launch(ctypes.cast(outer_chunk, ctypes.c_void_p), None, 3) == 40
    assert inner == [(0, 1, True)] * 3
    for limit in (4, 100):
        inner.clear()
        assert launch(ctypes.cast(outer_chunk, ctypes.c_void_p), None, limit) == 40
        assert inner == [(0, 1, True)] * chunks(pool, 3, limit)


def test_threads_of_the_program(pool: Pool) -> None:
    """Many launches at the same time: every one calls chunks of one count, each once."""
    pool.resize(3)
    wrong: list[object] = []

    def work() -> None:
        recorder = Recorder(pool, failing=(2,))
        for _ in range(100):
            result = recorder.launch(3)
            count = recorder.shares[0][1]
            expected = [(n, count) for n in range(count)]
            if recorder.shares != expected or result != (1002 if count == 3 else 0):
                wrong.append((recorder.shares, result))

    workers = [threading.Thread(target=work) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(30)
    assert not wrong
    assert not any(worker.is_alive() for worker in workers)


def test_sleep_between_launches(pool: Pool) -> None:
    """Both sides give up spinning: the threads before, the caller while it waits."""
    pool.resize(2)
    recorder = Recorder(pool)
    launch = Launch(pool.launch)

    def slow(number: int, count: int, _: int | None) -> int:
        time.sleep(0.01 * number)
        return 0

    chunk = Chunk(slow)
    for _ in range(3):
        time.sleep(0.01)
        assert launch(ctypes.cast(chunk, ctypes.c_void_p), None, 2) == 0
        assert recorder.launch(2) == 0
        assert recorder.shares == [(0, 2), (1, 2)]


def test_stop() -> None:
    """Loops are in order after it, until the number is set again."""
    for kind in KINDS:
        pool = ExecutorPool() if kind == "executor" else NativePool(kind)
        recorder = Recorder(pool)
        pool.resize(3)
        recorder.launch(3)
        pool.stop()
        recorder.launch(3)
        assert recorder.shares == [(0, 1)]
        pool.resize(2)
        recorder.launch(2)
        assert recorder.shares == [(0, 2), (1, 2)]
        pool.stop()


def test_signals_go_to_the_program(pool: Pool) -> None:
    """The threads of the native pools block them all."""
    if isinstance(pool, ExecutorPool) or not os.path.isdir("/proc/self/task"):
        pytest.skip("Python's threads, or no Linux")
    pool.resize(8)
    Recorder(pool).launch(8)
    blocked = 0
    for task in os.listdir("/proc/self/task"):
        with open(f"/proc/self/task/{task}/status", encoding="ascii") as status:
            line = next(line for line in status if line.startswith("SigBlk"))
        blocked += int(line.split()[1], 16) >> (signal.SIGINT - 1) & 1
    assert blocked >= 7


PLACES = """
import ctypes, os, time
from xdsl_tvm.runtime.threads import Chunk, NativePool
pool = NativePool("futex")
cores = len(os.sched_getaffinity(0))
launch = ctypes.CFUNCTYPE(
    ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64
)(pool.launch)
def slow(number, count, context):
    time.sleep(0.01 * number)
    return 0
chunk = Chunk(slow)
for count in (cores, cores + 1, cores):
    pool.resize(count)
    launch(ctypes.cast(chunk, ctypes.c_void_p), None, count)
    time.sleep(0.01)
    launch(ctypes.cast(chunk, ctypes.c_void_p), None, count)
    places = []
    for task in map(int, os.listdir("/proc/self/task")):
        if task != os.getpid():
            places.append(tuple(sorted(os.sched_getaffinity(task))))
    print(len(os.sched_getaffinity(0)) == cores, len(set(places)), max(map(len, places)))
"""


@pytest.mark.skipif(
    host_system().pool != "futex" or available_processors() < 2,
    reason="threads are bound on Linux, where there are several processors",
)
def test_threads_are_bound_where_there_is_a_processor_for_each() -> None:
    cores = available_processors()
    bound, all_free = f"True {cores - 1} 1\n", f"True 1 {cores}\n"
    # A thread that is too many for a processor of its own is not bound afterwards.
    mixed = f"True {cores} {cores}\n"
    found = run_python(PLACES, OPENBLAS_NUM_THREADS="1")
    assert (found.stdout, found.stderr) == (bound + all_free + mixed, "")
    free = run_python(PLACES, OPENBLAS_NUM_THREADS="1", XDSL_TVM_BIND_THREADS="0")
    assert (free.stdout, free.stderr) == (all_free * 3, "")


def run_python(script: str, **environment: str) -> "subprocess.CompletedProcess[str]":
    """Runs a script in a process of its own."""
    return subprocess.run(
        [sys.executable, "-c", script],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_number_of_the_environment() -> None:
    script = "from xdsl_tvm.runtime import threads as t; print(t.num_threads())"
    done = run_python(script, XDSL_TVM_NUM_THREADS="5")
    assert done.stdout == "5\n"
    for text in ("many", "0", "257", "1.5", ""):
        failed = run_python(script, XDSL_TVM_NUM_THREADS=text)
        assert failed.stderr.splitlines()[-1] == (
            f"ValueError: XDSL_TVM_NUM_THREADS is '{text}'; set it to a number from 1 "
            "to 256"
        )


def test_pool_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for kind in KINDS:
        monkeypatch.setenv(threads.POOL_VARIABLE, kind)
        assert threads.pool_kind() == kind
    monkeypatch.setenv(threads.POOL_VARIABLE, "openmp")
    with pytest.raises(ValueError, match=r"is 'openmp'; this machine has .*executor"):
        threads.pool_kind()


@pytest.mark.parametrize("count", [0, -1, 257])
def test_bad_number(count: int) -> None:
    before = threads.num_threads()
    with pytest.raises(ValueError, match=rf"^the number .* from 1 to 256, got {count}$"):
        threads.set_num_threads(count)
    assert threads.num_threads() == before


LOOP = f"""
declare i64 @{LAUNCH}(ptr, ptr, i64)
define i64 @f(ptr %c) {{
  %r = call i64 @{LAUNCH}(ptr %c, ptr null, i64 2)
  ret i64 %r
}}
"""


def test_only_code_that_launches_loops_is_loaded_with_the_pool() -> None:
    loop = llvm_jit.compile_object(LOOP, 2)
    assert threads.launch_symbols(loop) == {LAUNCH: threads.launch_address()}
    with pytest.raises(DiagnosticException, match=f"the code calls '{LAUNCH}'"):
        llvm_jit.load_object(loop, ["f"])
    serial = llvm_jit.compile_object("define void @f() { ret void }", 2)
    assert threads.launch_symbols(serial) == {}
    whole = llvm_jit.compile_object(with_thread_pool(LOOP, host_system()), 2)
    assert threads.launch_symbols(whole) == {}


@pytest.mark.parametrize(
    ("triple", "system", "pool"),
    [
        ("x86_64-pc-linux-gnu", System("x86_64", "linux"), "futex"),
        ("aarch64-unknown-linux-musl", System("aarch64", "linux"), "futex"),
        ("riscv64-unknown-linux-gnu", System("riscv64", "linux"), "pthread"),
        ("arm64-apple-darwin23.1.0", System("aarch64", "darwin"), "pthread"),
        ("x86_64-apple-macosx13.0", System("x86_64", "darwin"), "pthread"),
        ("x86_64-pc-windows-msvc", System("x86_64", "win32"), "serial"),
        ("x86_64-unknown-none", System("x86_64", "unknown"), "serial"),
    ],
)
def test_pool_of_a_triple(triple: str, system: System, pool: str) -> None:
    assert system_of(triple) == system
    assert system.pool == pool
    text = thread_pool_ir(system)
    assert ("pthread_create" in text) == (pool != "serial")
    assert ("@syscall" in text) == (pool == "futex")
    assert f"define weak i64 @{LAUNCH}(" in text


def test_no_triple_is_this_machine() -> None:
    assert system_of("") == host_system()
