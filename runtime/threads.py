"""The threads that compiled parallel loops run on: how many, and of which kind.

Every process has one pool, made when the first code with a parallel loop is loaded, that
all compiled functions share. It has as many threads as processors may be used (the
affinity mask), unless `set_num_threads` or `$XDSL_TVM_NUM_THREADS` says otherwise; the
thread that calls a compiled function is one of them. Results do not depend on the number:
a loop is cut into ranges of neighbouring iterations.

`$XDSL_TVM_THREAD_POOL` chooses the pool: `futex` (Linux on x86-64 and AArch64) or
`pthread` (POSIX), which `lowering/llvm_text/thread_pool/` describes, or `executor`,
Python's own `ThreadPoolExecutor`, which works anywhere and takes some 100 µs for a loop.

With as many threads as processors, on Linux, each is bound to a processor, but for those
of the program. `$XDSL_TVM_BIND_THREADS` 0 leaves them to the scheduler; so does a smaller
number of threads, which is better where several programs share the machine.

The pool is safe to use from any number of threads: a loop that finds it busy runs on the
thread that asks. A process made by `os.fork` makes threads of its own.
"""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import os
import threading
from abc import ABC, abstractmethod
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache

from xdsl_tvm.dialects.in_threads import available_processors
from xdsl_tvm.lowering.llvm_text.thread_pool import (
    EXTERNALS,
    FORGET_THREADS,
    LAUNCH,
    MAX_THREADS,
    NUM_THREADS_VARIABLE,
    SET_NUM_THREADS,
    STOP_THREADS,
    host_system,
    thread_pool_ir,
)
from xdsl_tvm.runtime import llvm_jit

POOL_VARIABLE = "XDSL_TVM_THREAD_POOL"
"""The environment variable that chooses the pool."""

POOLS = ("futex", "pthread", "executor")
"""The pools, the fastest first."""

Chunk = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int32, ctypes.c_int32, ctypes.c_void_p)
"""A share of a parallel loop: its number, how many there are, and the context."""

_Launch = ctypes.CFUNCTYPE(
    ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64
)


class Pool(ABC):
    """A pool of threads; there is one in a process."""

    @property
    @abstractmethod
    def launch(self) -> int:
        """The address of the function that parallel loops call."""

    @abstractmethod
    def resize(self, count: int) -> None:
        """Use `count` threads from the next loop on, the caller included."""

    @abstractmethod
    def forget(self) -> None:
        """Called in the child of a fork: the threads are the parent's."""

    @abstractmethod
    def stop(self) -> None:
        """Called when the process ends: no loop begins on other threads any more."""


class NativePool(Pool):
    """A pool that is native code."""

    def __init__(self, kind: str) -> None:
        text, data = _code_of_pool(kind)
        exports = (LAUNCH, SET_NUM_THREADS, STOP_THREADS, FORGET_THREADS)
        self._code = llvm_jit.load_object(data, exports, symbols=_c_functions(text))
        # Threads sleep in this code until the process has ended.
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(self._code))
        self._resize = self._code.function(SET_NUM_THREADS, None, ctypes.c_int32)
        self._stop = self._code.function(STOP_THREADS, ctypes.c_int32)
        self._forget = self._code.function(FORGET_THREADS, None)

    @property
    def launch(self) -> int:
        return self._code.address(LAUNCH)

    def resize(self, count: int) -> None:
        self._resize(count)

    def forget(self) -> None:
        self._forget()

    def stop(self) -> None:
        self._stop()


@cache
def _code_of_pool(kind: str) -> tuple[str, bytes]:
    """The LLVM IR of a pool that is native code, and its object file."""
    text = thread_pool_ir(host_system(), kind, linked=False)
    # Threads wait for each other more than they compute: a loop takes as long with the
    # code of a higher level, which takes ten times as long to compile.
    return text, llvm_jit.object_file(text, opt_level=0)


def _c_functions(text: str) -> dict[str, int]:
    """The addresses of those functions of the C library that `text` declares."""
    library = ctypes.CDLL(None)
    used = [name for name in EXTERNALS.split() if f"@{name}(" in text]
    addresses = [ctypes.cast(getattr(library, name), ctypes.c_void_p) for name in used]
    return {
        name: address.value or 0 for name, address in zip(used, addresses, strict=True)
    }


class ExecutorPool(Pool):
    """A pool of Python threads, for systems without POSIX threads."""

    def __init__(self) -> None:
        self._count = 1
        self._executor: ThreadPoolExecutor | None = None
        self._busy = threading.Lock()
        self._callback = _Launch(self._run)

    @property
    def launch(self) -> int:
        return ctypes.cast(self._callback, ctypes.c_void_p).value or 0

    def resize(self, count: int) -> None:
        with self._busy:
            self._count = count
            self._shut_down()

    def forget(self) -> None:
        self._busy = threading.Lock()
        self._executor = None

    def stop(self) -> None:
        with self._busy:
            self._count = 1
            self._shut_down()

    def _shut_down(self) -> None:
        if self._executor is not None:
            self._executor.shutdown()
            self._executor = None

    def _run(self, chunk: int, context: int | None, limit: int) -> int:
        call = Chunk(chunk)
        if limit < 2 or self._count < 2 or not self._busy.acquire(blocking=False):
            return call(0, 1, context)
        try:
            count = min(limit, self._count)
            if self._executor is None:
                self._executor = ThreadPoolExecutor(self._count - 1, "xdsl_tvm")
            others: list[Future[int]] = []
            # At the end of the interpreter no work is taken: this thread does the rest.
            with contextlib.suppress(RuntimeError):
                for number in range(1, count):
                    others.append(self._executor.submit(call, number, count, context))
            results = [call(0, count, context)]
            results += [future.result() for future in others]
            results += [call(n, count, context) for n in range(len(others) + 1, count)]
        finally:
            self._busy.release()
        return next((result for result in results if result), 0)


class _Threads:
    """The pool of the process, once there is one, and the number of its threads."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.pool: Pool | None = None
        self.count = 0

    def number(self) -> int:
        with self.lock:
            if self.count == 0:
                self.count = _default_count()
            return self.count

    def resize(self, count: int) -> None:
        with self.lock:
            self.count = count
            if self.pool is not None:
                self.pool.resize(count)

    def get(self) -> Pool:
        with self.lock:
            if self.pool is None:
                pool = _new_pool(pool_kind())
                pool.resize(self.number())
                atexit.register(self.stop)
                self.pool = pool
            return self.pool

    def stop(self) -> None:
        if self.pool is not None:
            self.pool.stop()

    def forget(self) -> None:
        self.lock = threading.RLock()
        if self.pool is not None:
            self.pool.forget()


_THREADS = _Threads()

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_THREADS.forget)


def _new_pool(kind: str) -> Pool:
    return ExecutorPool() if kind == "executor" else NativePool(kind)


def _default_count() -> int:
    text = os.environ.get(NUM_THREADS_VARIABLE)
    if text is None:
        return min(available_processors(), MAX_THREADS)
    try:
        return _checked(int(text))
    except ValueError:
        raise ValueError(
            f"{NUM_THREADS_VARIABLE} is '{text}'; set it to a number from 1 to "
            f"{MAX_THREADS}"
        ) from None


def _checked(count: int) -> int:
    if not 1 <= count <= MAX_THREADS:
        raise ValueError(f"the number of threads is from 1 to {MAX_THREADS}, got {count}")
    return count


def num_threads() -> int:
    """How many threads a parallel loop runs on, the caller's included.

    Raises ValueError if the environment sets no number.
    """
    return _THREADS.number()


def set_num_threads(count: int) -> None:
    """Run parallel loops on `count` threads from now on, in all of the process.

    Loops that run are not disturbed. Raises ValueError if `count` is not from 1 to 256.
    """
    _THREADS.resize(_checked(count))


def pool_kind() -> str:
    """Which of `POOLS` this process uses: the fastest that the machine has.

    Raises ValueError if the environment names none of them, or one that is not for this
    machine.
    """
    system = host_system()
    best = system.pool
    kind = os.environ.get(POOL_VARIABLE) or (best if best != "serial" else "executor")
    known = POOLS[POOLS.index(best) if best in POOLS else -1 :]
    if kind not in known:
        raise ValueError(
            f"{POOL_VARIABLE} is '{kind}'; this machine has {', '.join(known)}"
        )
    return kind


def is_running() -> bool:
    """Whether this process has the pool."""
    return _THREADS.pool is not None


def prepare() -> None:
    """Compiles the pool, which is not made yet."""
    kind = pool_kind()
    if kind != "executor":
        _code_of_pool(kind)


def launch_address() -> int:
    """The address of the function that parallel loops call; makes the pool."""
    return _THREADS.get().launch


def launch_symbols(data: bytes) -> dict[str, int]:
    """What an object file has to be loaded with for its parallel loops.

    That is the launch of such loops, by name, if the object calls it; then this makes the
    pool.
    """
    return {LAUNCH: launch_address()} if llvm_jit.needs(data, LAUNCH) else {}
