"""The thread pool that compiled parallel loops run on, as LLVM IR text.

One pool serves a process. Its threads are made at the first parallel loop, wait for work
by spinning for a while and then asleep, and stay until the process ends. A loop calls

    i64 xdsl_tvm_parallel_for(i64 (*chunk)(i32, i32, ptr), ptr context, i64 limit)

which calls `chunk(t, n, context)` once for every t from 0 to n - 1, for one n of at most
`limit` and at most four times the number of threads. Each thread has a part of
neighbouring t, the first the caller's, and runs them in order, then those that other
threads have not come to. It returns the result of the first call, in order of t, that is
not 0. A loop that begins while another one runs, be it inside of that one or on another
thread of the program, is one call `chunk(0, 1, context)` on the thread that asks.

    void xdsl_tvm_set_num_threads(i32 n)    at most 256; the caller counts
    i32  xdsl_tvm_stop_threads()            ends the threads; loops are serial after it
    void xdsl_tvm_forget_threads()          in the child of a fork, which has none

Unless the number is set it is `$XDSL_TVM_NUM_THREADS`, or else that of the processors
that the process may use. If it is that, on Linux, each thread but the caller's is bound
to a processor, and none to the caller's: the scheduler of a virtual machine wakes threads
on the processor of who wakes them, where they wait for each other. With
`$XDSL_TVM_BIND_THREADS` 0 none is bound.

The text is in `.ll` files next to this one, templates with `$placeholders`: `state`,
`futex` or `pthread` (sleeping), `binding` or `no_binding` (to processors), `affinity` or
`online` (the number of processors), `pool` and `at_fork`; or `serial` alone.
"""

from __future__ import annotations

import platform
import re
import sys
from dataclasses import dataclass
from functools import cache
from importlib import resources
from string import Template

LAUNCH = "xdsl_tvm_parallel_for"
"""The function that a parallel loop calls."""

SET_NUM_THREADS = "xdsl_tvm_set_num_threads"
STOP_THREADS = "xdsl_tvm_stop_threads"
FORGET_THREADS = "xdsl_tvm_forget_threads"

NUM_THREADS_VARIABLE = "XDSL_TVM_NUM_THREADS"
BIND_THREADS_VARIABLE = "XDSL_TVM_BIND_THREADS"
MAX_THREADS = 256

LOOKS = 500
"""How often a waiting thread looks before it asks for the time: some 5 to 30 µs."""

PATIENCE = 1_000_000
"""Nanoseconds that a thread waits before it sleeps. Waking takes some 50 µs, and a
program in Python has about as much to do between two loops."""

CROWDED_LOOKS = 16
"""How often it looks where there are more threads than processors, which need each
other's; then it sleeps."""

CHUNKS_OF_A_THREAD = 4
"""Chunks that a loop has for each thread, if it has as many iterations. With one, a loop
takes as long as the slowest thread."""

POOLS = ("futex", "pthread", "serial")
"""How threads sleep: on Linux's futex, or on a condition variable, anywhere with POSIX
threads. A `serial` pool has no threads: it calls the one chunk."""

EXTERNALS = """
    atoi clock_gettime getenv pthread_cond_broadcast pthread_cond_init pthread_cond_wait
    pthread_create pthread_join pthread_mutex_init pthread_mutex_lock pthread_mutex_unlock
    pthread_setaffinity_np pthread_sigmask sched_getaffinity sched_getcpu sigfillset
    syscall sysconf
"""
"""The functions of the C library that a pool in memory may call."""


@dataclass(frozen=True)
class System:
    """The processor family and the operating system that a pool is for."""

    family: str
    name: str

    @property
    def pool(self) -> str:
        """The pool for this system."""
        if self.name == "linux":
            return "futex" if self.family in _FUTEX_CALL else "pthread"
        return "pthread" if self.name == "darwin" else "serial"


_FUTEX_CALL = {"x86_64": 202, "aarch64": 98}
_PAUSE = {
    "x86_64": ("@llvm.x86.sse2.pause()", "@llvm.x86.sse2.pause()"),
    "aarch64": ("@llvm.aarch64.hint(i32)", "@llvm.aarch64.hint(i32 1)"),
}
_FAMILIES = {"amd64": "x86_64", "arm64": "aarch64"}


def host_system() -> System:
    """This machine."""
    family = platform.machine().lower()
    return System(_FAMILIES.get(family, family), sys.platform)


def system_of(triple: str) -> System:
    """The system that an LLVM target triple names; this machine for an empty one."""
    if not triple:
        return host_system()
    family, _, rest = triple.partition("-")
    known = {"linux": "linux", "darwin": "darwin", "macos": "darwin", "windows": "win32"}
    names = [name for part, name in known.items() if part in rest]
    return System(_FAMILIES.get(family, family), names[0] if names else "unknown")


@cache
def thread_pool_ir(system: System, pool: str = "", *, linked: bool = True) -> str:
    """The pool as an LLVM module.

    `linked`: for object files, of which a program may have several: the functions are
    weak, so that all use one pool, and a fork is noticed. Without it the functions are
    exported, and who loads the code calls `xdsl_tvm_forget_threads` after a fork.
    Raises ValueError for the pool `futex` on a processor whose system call is not known.
    """
    pool = pool or system.pool
    linkage = "weak " if linked else ""
    if pool == "serial":
        return filled("serial", linkage=linkage)
    if pool == "futex" and system.family not in _FUTEX_CALL:
        raise ValueError(f"no futex pool for {system.family}; use the pool pthread")
    declaration, pause = _PAUSE.get(system.family, ("", ""))
    parts = [
        filled(
            "state",
            looks=LOOKS,
            max_chunks=CHUNKS_OF_A_THREAD * MAX_THREADS,
            max_threads=MAX_THREADS,
            patience=PATIENCE,
            variable=NUM_THREADS_VARIABLE,
            variable_size=len(NUM_THREADS_VARIABLE) + 1,
        ),
        filled("futex", futex_syscall=_FUTEX_CALL[system.family])
        if pool == "futex"
        else filled("pthread"),
        filled(
            "binding",
            bind_variable=BIND_THREADS_VARIABLE,
            bind_variable_size=len(BIND_THREADS_VARIABLE) + 1,
            max_threads=MAX_THREADS,
        )
        if pool == "futex"
        else filled("no_binding"),
        filled("online" if system.name == "darwin" else "affinity"),
        filled(
            "pool",
            bound_bytes=4 * MAX_THREADS,
            chunks_of_a_thread=CHUNKS_OF_A_THREAD,
            crowded_looks=CROWDED_LOOKS,
            linkage=linkage,
            looks=LOOKS,
            max_threads=MAX_THREADS,
            monotonic_clock=6 if system.name == "darwin" else 1,
            patience=PATIENCE,
            pause=f"call void {pause}" if pause else "",
            register_at_fork="call void @xt_register()" if linked else "",
            sig_setmask=3 if system.name == "darwin" else 2,
            slot_bytes=128 * MAX_THREADS,
        ),
        f"declare void {declaration}\n" if pause else "",
        filled("at_fork") if linked else "",
    ]
    return "\n".join(part for part in parts if part)


def filled(name: str, **values: str | int) -> str:
    """The text of the file `name`.ll next to this one, its placeholders filled.

    Raises KeyError for a placeholder without a value, and ValueError for a value without
    a placeholder.
    """
    path = resources.files(__name__) / f"{name}.ll"
    template = Template(path.read_text(encoding="utf-8"))
    unused = values.keys() - set(template.get_identifiers())
    if unused:
        raise ValueError(f"{name}.ll has no placeholder {', '.join(sorted(unused))}")
    return template.substitute(values)


_DECLARED = re.compile(r"declare [^@]*@([\w.]+)\(")


def with_thread_pool(text: str, system: System) -> str:
    """LLVM IR text that holds the pool, if it calls it and does not define it.

    So its object file can be linked, and emitted text needs nothing else.
    """
    lines = text.splitlines()
    known = [_declared(line) for line in lines]
    if LAUNCH not in known:
        return text
    del lines[known.index(LAUNCH)]
    names = set(known) - {""}
    pool = thread_pool_ir(system).splitlines()
    new = [line for line in pool if _declared(line) not in names]
    return "\n".join([*lines, "", *new]) + "\n"


def _declared(line: str) -> str:
    """The function that a line of LLVM IR declares; empty for other lines."""
    match = _DECLARED.match(line)
    return match[1] if match else ""
