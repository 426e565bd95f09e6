"""The thread pool that compiled parallel loops run on, as LLVM IR text.

One pool serves a process. Its threads are made at the first parallel loop, wait for work
by spinning for a while and then asleep, and stay until the process ends. A loop calls

    i64 xdsl_tvm_parallel_for(i64 (*chunk)(i32, i32, ptr), ptr context, i64 limit)

which calls `chunk(t, n, context)` for every t from 0 to n - 1, for one n of at most
`limit` and at most the number of threads. Each call runs on a thread of its own, t = 0
on the caller's. It gives the result of the first call, in order of t, that is not 0. A
loop that begins while another one runs, be it inside of that one or on another thread of
the program, is one call `chunk(0, 1, context)` on the thread that asks.

    void xdsl_tvm_set_num_threads(i32 n)    at most 256; the caller counts
    i32  xdsl_tvm_stop_threads()            ends the threads; loops are serial after it
    void xdsl_tvm_forget_threads()          in the child of a fork, which has none

Unless the number is set it is `$XDSL_TVM_NUM_THREADS`, or else that of the processors
that the process may use. If it is that, on Linux, each thread but the caller's is bound
to a processor, and none to the caller's: the scheduler of a virtual machine wakes threads
on the processor of who wakes them, where they wait for each other. With
`$XDSL_TVM_BIND_THREADS` 0 none is bound.
"""

from __future__ import annotations

import platform
import re
import sys
from dataclasses import dataclass
from functools import cache

LAUNCH = "xdsl_tvm_parallel_for"
"""The function that a parallel loop calls."""

SET_NUM_THREADS = "xdsl_tvm_set_num_threads"
STOP_THREADS = "xdsl_tvm_stop_threads"
FORGET_THREADS = "xdsl_tvm_forget_threads"

NUM_THREADS_VARIABLE = "XDSL_TVM_NUM_THREADS"
BIND_THREADS_VARIABLE = "XDSL_TVM_BIND_THREADS"
MAX_THREADS = 256

SPIN = 1000
"""How often a waiting thread looks before it sleeps: some 15 to 60 µs."""

CROWDED_SPIN = 16
"""The same where there are more threads than processors, which need each other's."""

POOLS = ("futex", "pthread", "serial")
"""How threads sleep: on Linux's futex, or on a condition variable, anywhere with POSIX
threads. A `serial` pool has no threads: it calls the one chunk."""

EXTERNALS = """
    atoi getenv pthread_cond_broadcast pthread_cond_init pthread_cond_wait pthread_create
    pthread_join pthread_mutex_init pthread_mutex_lock pthread_mutex_unlock
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
    """
    pool = pool or system.pool
    linkage = "weak " if linked else ""
    if pool == "serial":
        return _SERIAL.replace("LINKAGE ", linkage)
    declaration, pause = _PAUSE.get(system.family, ("", ""))
    parts = [
        _STATE,
        _SLEEP[pool],
        _PLACES if pool == "futex" else _NO_PLACES,
        _CORES[system.name == "darwin"],
        _POOL,
        f"declare void {declaration}\n" if pause else "",
        _REGISTER if linked else "",
    ]
    words = {
        "LINKAGE ": linkage,
        "PAUSE": f"call void {pause}" if pause else "",
        "AT_FORK": "call void @xt_register()" if linked else "",
        "FUTEX": str(_FUTEX_CALL.get(system.family, 0)),
        "SETMASK": "3" if system.name == "darwin" else "2",
        "CROWDED_SPIN": str(CROWDED_SPIN),
        "FULL_SPIN": str(SPIN),
        "MAX_THREADS": str(MAX_THREADS),
        "SLOT_BYTES": str(128 * MAX_THREADS),
        "BIND_VARIABLE_SIZE": str(len(BIND_THREADS_VARIABLE) + 1),
        "BIND_VARIABLE": BIND_THREADS_VARIABLE,
        "BOUND_BYTES": str(4 * MAX_THREADS),
        "VARIABLE_SIZE": str(len(NUM_THREADS_VARIABLE) + 1),
        "VARIABLE": NUM_THREADS_VARIABLE,
    }
    text = "\n".join(part.strip() + "\n" for part in parts if part)
    for word, meaning in words.items():
        text = text.replace(word, meaning)
    return text


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


_SERIAL = """
define LINKAGE i64 @xdsl_tvm_parallel_for(ptr %chunk, ptr %context, i64 %limit) noinline {
  %r = call i64 %chunk(i32 0, i32 1, ptr %context)
  ret i64 %r
}

define LINKAGE void @xdsl_tvm_set_num_threads(i32 %n) noinline {
  ret void
}
"""

_STATE = """
; What a thread waits for (it changes), whether it sleeps, and how its chunk failed; a
; cache line, and the one that is fetched with it, for each thread.
%xt.slot = type { i32, i32, i64, [112 x i8] }
@xt_slots = internal global [MAX_THREADS x %xt.slot] zeroinitializer, align 128
@xt_busy = internal global i32 0, align 128
@xt_pending = internal global i32 0, align 128
@xt_waiting = internal global i32 0, align 4
@xt_failed = internal global i32 0, align 4
@xt_chunk = internal global ptr null, align 128
@xt_context = internal global ptr null, align 8
@xt_count = internal global i32 0, align 4
@xt_wanted = internal global i32 0, align 128
@xt_spin = internal global i32 FULL_SPIN, align 4
@xt_started = internal global i32 1, align 4
@xt_stop = internal global i32 0, align 4
@xt_handles = internal global [MAX_THREADS x i64] zeroinitializer, align 8
; One more than the processor that a thread is bound to, 0 for any.
@xt_bound = internal global [MAX_THREADS x i32] zeroinitializer, align 4
@xt_variable = private constant [VARIABLE_SIZE x i8] c"VARIABLE\\00"

declare i32 @pthread_create(ptr, ptr, ptr, ptr)
declare i32 @pthread_join(i64, ptr)
declare i32 @pthread_sigmask(i32, ptr, ptr)
declare i32 @sigfillset(ptr)
declare ptr @getenv(ptr)
declare i32 @atoi(ptr)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
"""

_FUTEX = """
declare i64 @syscall(i64, ...)

; 128 is FUTEX_WAIT, 129 FUTEX_WAKE, both private to the process.
define internal void @xt_wait(ptr %word, i32 %old) nounwind noinline {
  %r = call i64 (i64, ...) @syscall(i64 FUTEX, ptr %word, i32 128, i32 %old,
    ptr null, ptr null, i32 0)
  ret void
}

define internal void @xt_wake(ptr %word) nounwind noinline {
  %r = call i64 (i64, ...) @syscall(i64 FUTEX, ptr %word, i32 129, i32 2147483647,
    ptr null, ptr null, i32 0)
  ret void
}

define internal void @xt_prepare_sleep() nounwind {
  ret void
}
"""

_PTHREAD = """
@xt_mutex = internal global [128 x i8] zeroinitializer, align 16
@xt_condition = internal global [128 x i8] zeroinitializer, align 16
declare i32 @pthread_mutex_init(ptr, ptr)
declare i32 @pthread_mutex_lock(ptr)
declare i32 @pthread_mutex_unlock(ptr)
declare i32 @pthread_cond_init(ptr, ptr)
declare i32 @pthread_cond_wait(ptr, ptr)
declare i32 @pthread_cond_broadcast(ptr)

define internal void @xt_wait(ptr %word, i32 %old) nounwind noinline {
entry:
  %l = call i32 @pthread_mutex_lock(ptr @xt_mutex)
  br label %look
look:
  %now = load atomic i32, ptr %word seq_cst, align 4
  %same = icmp eq i32 %now, %old
  br i1 %same, label %sleep, label %leave
sleep:
  %w = call i32 @pthread_cond_wait(ptr @xt_condition, ptr @xt_mutex)
  br label %look
leave:
  %u = call i32 @pthread_mutex_unlock(ptr @xt_mutex)
  ret void
}

define internal void @xt_wake(ptr %word) nounwind noinline {
  %l = call i32 @pthread_mutex_lock(ptr @xt_mutex)
  %b = call i32 @pthread_cond_broadcast(ptr @xt_condition)
  %u = call i32 @pthread_mutex_unlock(ptr @xt_mutex)
  ret void
}

define internal void @xt_prepare_sleep() nounwind {
  %m = call i32 @pthread_mutex_init(ptr @xt_mutex, ptr null)
  %c = call i32 @pthread_cond_init(ptr @xt_condition, ptr null)
  ret void
}
"""

_SLEEP = {"futex": _FUTEX, "pthread": _PTHREAD}

_PLACES = """
@xt_binds = internal global i32 0, align 4
@xt_processor = internal global [MAX_THREADS x i32] zeroinitializer, align 4
@xt_bind_variable = private constant [BIND_VARIABLE_SIZE x i8] c"BIND_VARIABLE\\00"
declare i32 @sched_getcpu()
declare i32 @pthread_setaffinity_np(i64, i64, ptr)

; Chooses a processor for each thread, if there are as many of both.
define internal void @xt_choose(i32 %wanted, i32 %cores) nounwind noinline {
entry:
  %mask = alloca [128 x i64], align 8
  store atomic i32 0, ptr @xt_binds monotonic, align 4
  %fit = icmp eq i32 %wanted, %cores
  br i1 %fit, label %ask, label %end
ask:
  %text = call ptr @getenv(ptr @xt_bind_variable)
  %unset = icmp eq ptr %text, null
  br i1 %unset, label %list, label %read
read:
  %value = call i32 @atoi(ptr %text)
  %off = icmp eq i32 %value, 0
  br i1 %off, label %end, label %list
list:
  call void @llvm.memset.p0.i64(ptr %mask, i8 0, i64 1024, i1 false)
  %r = call i32 @sched_getaffinity(i32 0, i64 1024, ptr %mask)
  br label %look
look:
  %cpu = phi i64 [ 0, %list ], [ %cpu2, %next ]
  %t = phi i64 [ 0, %list ], [ %t2, %next ]
  %word = lshr i64 %cpu, 6
  %p = getelementptr inbounds [128 x i64], ptr %mask, i64 0, i64 %word
  %bits = load i64, ptr %p, align 8
  %shift = and i64 %cpu, 63
  %shifted = lshr i64 %bits, %shift
  %usable = trunc i64 %shifted to i1
  br i1 %usable, label %take, label %next
take:
  %q = getelementptr inbounds [MAX_THREADS x i32], ptr @xt_processor, i64 0, i64 %t
  %cpu32 = trunc i64 %cpu to i32
  store atomic i32 %cpu32, ptr %q monotonic, align 4
  %taken = add i64 %t, 1
  br label %next
next:
  %t2 = phi i64 [ %t, %look ], [ %taken, %take ]
  %cpu2 = add i64 %cpu, 1
  %t32 = trunc i64 %t2 to i32
  %all = icmp eq i32 %t32, %wanted
  %last = icmp eq i64 %cpu2, 8192
  %stop = or i1 %all, %last
  br i1 %stop, label %done, label %look
done:
  %binds = zext i1 %all to i32
  store atomic i32 %binds, ptr @xt_binds release, align 4
  br label %end
end:
  ret void
}

; Gives threads 1 to %k - 1 their processors; the one whose processor the caller is on
; gets the first. Tells whether that changed anything.
define internal i1 @xt_spread(i32 %k) nounwind noinline {
entry:
  %mask = alloca [128 x i64], align 8
  %binds = load atomic i32, ptr @xt_binds acquire, align 4
  %bind = icmp ne i32 %binds, 0
  %here = call i32 @sched_getcpu()
  %first = load atomic i32, ptr @xt_processor monotonic, align 4
  %end = zext i32 %k to i64
  br label %look
look:
  %t = phi i64 [ 1, %entry ], [ %t2, %next ]
  %moved = phi i1 [ false, %entry ], [ %moved2, %next ]
  %p = getelementptr inbounds [MAX_THREADS x i32], ptr @xt_processor, i64 0, i64 %t
  %own = load atomic i32, ptr %p monotonic, align 4
  %taken = icmp eq i32 %own, %here
  %cpu = select i1 %taken, i32 %first, i32 %own
  %number = add i32 %cpu, 1
  %want = select i1 %bind, i32 %number, i32 0
  %q = getelementptr inbounds [MAX_THREADS x i32], ptr @xt_bound, i64 0, i64 %t
  %have = load i32, ptr %q, align 4
  %same = icmp eq i32 %have, %want
  br i1 %same, label %next, label %change
change:
  call void @llvm.memset.p0.i64(ptr %mask, i8 0, i64 1024, i1 false)
  br i1 %bind, label %one, label %any
one:
  %cpu64 = zext i32 %cpu to i64
  %word = lshr i64 %cpu64, 6
  %shift = and i64 %cpu64, 63
  %bit = shl i64 1, %shift
  %m = getelementptr inbounds [128 x i64], ptr %mask, i64 0, i64 %word
  store i64 %bit, ptr %m, align 8
  br label %set
any:
  %r = call i32 @sched_getaffinity(i32 0, i64 1024, ptr %mask)
  br label %set
set:
  store i32 %want, ptr %q, align 4
  %handle = getelementptr inbounds i64, ptr @xt_handles, i64 %t
  %h = load i64, ptr %handle, align 8
  %e = call i32 @pthread_setaffinity_np(i64 %h, i64 1024, ptr %mask)
  br label %next
next:
  %moved2 = phi i1 [ %moved, %look ], [ true, %set ]
  %t2 = add i64 %t, 1
  %more = icmp ult i64 %t2, %end
  br i1 %more, label %look, label %done
done:
  ret i1 %moved2
}
"""

_NO_PLACES = """
define internal void @xt_choose(i32 %wanted, i32 %cores) nounwind {
  ret void
}

define internal i1 @xt_spread(i32 %k) nounwind {
  ret i1 false
}
"""

_AFFINITY = """
declare i32 @sched_getaffinity(i32, i64, ptr)
declare i64 @llvm.ctpop.i64(i64)

define internal i32 @xt_cores() nounwind noinline {
entry:
  %mask = alloca [128 x i64], align 8
  call void @llvm.memset.p0.i64(ptr %mask, i8 0, i64 1024, i1 false)
  %r = call i32 @sched_getaffinity(i32 0, i64 1024, ptr %mask)
  br label %add
add:
  %i = phi i64 [ 0, %entry ], [ %i2, %add ]
  %sum = phi i64 [ 0, %entry ], [ %sum2, %add ]
  %p = getelementptr inbounds [128 x i64], ptr %mask, i64 0, i64 %i
  %bits = load i64, ptr %p, align 8
  %ones = call i64 @llvm.ctpop.i64(i64 %bits)
  %sum2 = add i64 %sum, %ones
  %i2 = add i64 %i, 1
  %more = icmp ult i64 %i2, 128
  br i1 %more, label %add, label %end
end:
  %n = trunc i64 %sum2 to i32
  %none = icmp slt i32 %n, 1
  %cores = select i1 %none, i32 1, i32 %n
  ret i32 %cores
}
"""

_ONLINE = """
declare i64 @sysconf(i32)

define internal i32 @xt_cores() nounwind noinline {
  %r = call i64 @sysconf(i32 58)
  %n = trunc i64 %r to i32
  %none = icmp slt i32 %n, 1
  %cores = select i1 %none, i32 1, i32 %n
  ret i32 %cores
}
"""

_CORES = {False: _AFFINITY, True: _ONLINE}
"""By whether the system is macOS; elsewhere it is Linux."""

_REGISTER = """
@xt_registered = internal global i32 0, align 4
declare i32 @pthread_atfork(ptr, ptr, ptr)

define internal void @xt_register() nounwind noinline {
  %was = atomicrmw xchg ptr @xt_registered, i32 1 seq_cst
  %new = icmp eq i32 %was, 0
  br i1 %new, label %add, label %end
add:
  %r = call i32 @pthread_atfork(ptr null, ptr null, ptr @xdsl_tvm_forget_threads)
  br label %end
end:
  ret void
}
"""

_POOL = """
define LINKAGE void @xdsl_tvm_set_num_threads(i32 %n) noinline nounwind {
  %low = icmp slt i32 %n, 1
  %atleast = select i1 %low, i32 1, i32 %n
  %high = icmp sgt i32 %atleast, MAX_THREADS
  %wanted = select i1 %high, i32 MAX_THREADS, i32 %atleast
  %cores = call i32 @xt_cores()
  %crowded = icmp sgt i32 %wanted, %cores
  %spin = select i1 %crowded, i32 CROWDED_SPIN, i32 FULL_SPIN
  store atomic i32 %spin, ptr @xt_spin monotonic, align 4
  call void @xt_choose(i32 %wanted, i32 %cores)
  store atomic i32 %wanted, ptr @xt_wanted release, align 4
  ret void
}

define internal i32 @xt_default() nounwind noinline {
entry:
  %text = call ptr @getenv(ptr @xt_variable)
  %unset = icmp eq ptr %text, null
  br i1 %unset, label %all, label %read
read:
  %n = call i32 @atoi(ptr %text)
  %bad = icmp slt i32 %n, 1
  br i1 %bad, label %all, label %set
all:
  %cores = call i32 @xt_cores()
  br label %set
set:
  %wanted = phi i32 [ %n, %read ], [ %cores, %all ]
  call void @xdsl_tvm_set_num_threads(i32 %wanted)
  %now = load atomic i32, ptr @xt_wanted acquire, align 4
  ret i32 %now
}

define internal ptr @xt_worker(ptr %number) nounwind noinline {
entry:
  %t64 = ptrtoint ptr %number to i64
  %t = trunc i64 %t64 to i32
  %go = getelementptr inbounds %xt.slot, ptr @xt_slots, i64 %t64, i32 0
  %asleep = getelementptr inbounds %xt.slot, ptr @xt_slots, i64 %t64, i32 1
  %failure = getelementptr inbounds %xt.slot, ptr @xt_slots, i64 %t64, i32 2
  br label %wait
wait:
  %last = phi i32 [ 0, %entry ], [ %g, %done ]
  %spin = load atomic i32, ptr @xt_spin monotonic, align 4
  br label %look
look:
  %i = phi i32 [ 0, %wait ], [ %i2, %pause ]
  %g0 = load atomic i32, ptr %go acquire, align 4
  %new0 = icmp ne i32 %g0, %last
  br i1 %new0, label %work, label %pause
pause:
  PAUSE
  %i2 = add i32 %i, 1
  %again = icmp ult i32 %i2, %spin
  br i1 %again, label %look, label %tire
tire:
  ; The caller writes the word, then reads this flag; here it is the other way round. So
  ; one of the two sees the other.
  store atomic i32 1, ptr %asleep seq_cst, align 4
  br label %sleep
sleep:
  %g1 = load atomic i32, ptr %go seq_cst, align 4
  %new1 = icmp ne i32 %g1, %last
  br i1 %new1, label %awake, label %block
block:
  call void @xt_wait(ptr %go, i32 %last)
  br label %sleep
awake:
  store atomic i32 0, ptr %asleep monotonic, align 4
  br label %work
work:
  %g = phi i32 [ %g0, %look ], [ %g1, %awake ]
  %stop = load atomic i32, ptr @xt_stop monotonic, align 4
  %stopped = icmp ne i32 %stop, 0
  br i1 %stopped, label %exit, label %run
run:
  %chunk = load ptr, ptr @xt_chunk, align 8
  %context = load ptr, ptr @xt_context, align 8
  %n = load i32, ptr @xt_count, align 4
  %r = call i64 %chunk(i32 %t, i32 %n, ptr %context)
  store i64 %r, ptr %failure, align 8
  %ok = icmp eq i64 %r, 0
  br i1 %ok, label %report, label %fail
fail:
  store atomic i32 1, ptr @xt_failed monotonic, align 4
  br label %report
report:
  ; On x86 the locked instruction also completes stores that bypass the cache.
  %left = atomicrmw sub ptr @xt_pending, i32 1 seq_cst
  %isend = icmp eq i32 %left, 1
  br i1 %isend, label %end, label %done
end:
  %waiting = load atomic i32, ptr @xt_waiting seq_cst, align 4
  %sleeps = icmp ne i32 %waiting, 0
  br i1 %sleeps, label %wake, label %done
wake:
  call void @xt_wake(ptr @xt_pending)
  br label %done
done:
  br label %wait
exit:
  ret ptr null
}

; Makes threads until there are `wanted`; gives how many there are.
define internal i32 @xt_start(i32 %wanted) nounwind noinline {
entry:
  %all = alloca [128 x i8], align 16
  %old = alloca [128 x i8], align 16
  %have = load i32, ptr @xt_started, align 4
  %first = icmp eq i32 %have, 1
  br i1 %first, label %prepare, label %mask
prepare:
  call void @xt_prepare_sleep()
  AT_FORK
  br label %mask
mask:
  ; Signals are for the threads that the program has made.
  %f = call i32 @sigfillset(ptr %all)
  %m = call i32 @pthread_sigmask(i32 SETMASK, ptr %all, ptr %old)
  br label %head
head:
  %t = phi i32 [ %have, %mask ], [ %t2, %made ]
  %more = icmp slt i32 %t, %wanted
  br i1 %more, label %make, label %end
make:
  %t64 = zext i32 %t to i64
  %number = inttoptr i64 %t64 to ptr
  %handle = getelementptr inbounds i64, ptr @xt_handles, i64 %t64
  %rc = call i32 @pthread_create(ptr %handle, ptr null, ptr @xt_worker, ptr %number)
  %ok = icmp eq i32 %rc, 0
  br i1 %ok, label %made, label %few
made:
  %t2 = add i32 %t, 1
  br label %head
few:
  store atomic i32 %t, ptr @xt_wanted monotonic, align 4
  br label %end
end:
  store i32 %t, ptr @xt_started, align 4
  %u = call i32 @pthread_sigmask(i32 SETMASK, ptr %old, ptr null)
  ret i32 %t
}

define LINKAGE i64 @xdsl_tvm_parallel_for(ptr %chunk, ptr %context, i64 %limit) noinline {
entry:
  %w0 = load atomic i32, ptr @xt_wanted acquire, align 4
  %unset = icmp eq i32 %w0, 0
  br i1 %unset, label %ask, label %known
ask:
  %w1 = call i32 @xt_default()
  br label %known
known:
  %w = phi i32 [ %w0, %entry ], [ %w1, %ask ]
  %w64 = sext i32 %w to i64
  %few = icmp slt i64 %limit, %w64
  %k64 = select i1 %few, i64 %limit, i64 %w64
  %k0 = trunc i64 %k64 to i32
  %one = icmp slt i64 %k64, 2
  br i1 %one, label %serial, label %try
try:
  %pair = cmpxchg ptr @xt_busy, i32 0, i32 1 acquire monotonic
  %mine = extractvalue { i32, i1 } %pair, 1
  br i1 %mine, label %take, label %serial
serial:
  %rs = call i64 %chunk(i32 0, i32 1, ptr %context)
  ret i64 %rs
take:
  %have0 = load i32, ptr @xt_started, align 4
  %short = icmp slt i32 %have0, %k0
  br i1 %short, label %start, label %ready
start:
  %have1 = call i32 @xt_start(i32 %k0)
  br label %ready
ready:
  %have = phi i32 [ %have0, %take ], [ %have1, %start ]
  %less = icmp slt i32 %have, %k0
  %k = select i1 %less, i32 %have, i32 %k0
  %alone = icmp slt i32 %k, 2
  br i1 %alone, label %release, label %post
release:
  store atomic i32 0, ptr @xt_busy release, align 4
  br label %serial
post:
  store ptr %chunk, ptr @xt_chunk, align 8
  store ptr %context, ptr @xt_context, align 8
  store i32 %k, ptr @xt_count, align 4
  %others = sub i32 %k, 1
  store atomic i32 0, ptr @xt_failed monotonic, align 4
  store atomic i32 %others, ptr @xt_pending monotonic, align 4
  %end = zext i32 %k to i64
  br label %call
call:
  %a = phi i64 [ 1, %post ], [ %a2, %call ]
  %ago = getelementptr inbounds %xt.slot, ptr @xt_slots, i64 %a, i32 0
  %aold = load atomic i32, ptr %ago monotonic, align 4
  %anew = add i32 %aold, 1
  store atomic i32 %anew, ptr %ago release, align 4
  %a2 = add i64 %a, 1
  %amore = icmp ult i64 %a2, %end
  br i1 %amore, label %call, label %called
called:
  fence seq_cst
  br label %rouse
rouse:
  %b = phi i64 [ 1, %called ], [ %b2, %next ]
  %spread = phi i1 [ false, %called ], [ %spread2, %next ]
  %basleep = getelementptr inbounds %xt.slot, ptr @xt_slots, i64 %b, i32 1
  %bflag = load atomic i32, ptr %basleep seq_cst, align 4
  %bsleeps = icmp ne i32 %bflag, 0
  br i1 %bsleeps, label %shake, label %next
shake:
  br i1 %spread, label %wake, label %place
place:
  %placed = call i1 @xt_spread(i32 %k)
  br label %wake
wake:
  %bgo = getelementptr inbounds %xt.slot, ptr @xt_slots, i64 %b, i32 0
  call void @xt_wake(ptr %bgo)
  br label %next
next:
  %spread2 = phi i1 [ %spread, %rouse ], [ true, %wake ]
  %b2 = add i64 %b, 1
  %bmore = icmp ult i64 %b2, %end
  br i1 %bmore, label %rouse, label %own
own:
  %r0 = call i64 %chunk(i32 0, i32 %k, ptr %context)
  %spin = load atomic i32, ptr @xt_spin monotonic, align 4
  br label %look
look:
  %i = phi i32 [ 0, %own ], [ %i2, %pause ], [ 0, %tire ]
  %p0 = load atomic i32, ptr @xt_pending acquire, align 4
  %done0 = icmp eq i32 %p0, 0
  br i1 %done0, label %joined, label %pause
pause:
  PAUSE
  %i2 = add i32 %i, 1
  %again = icmp ult i32 %i2, %spin
  br i1 %again, label %look, label %tire
tire:
  ; Perhaps a thread waits for this processor.
  %apart = call i1 @xt_spread(i32 %k)
  br i1 %apart, label %look, label %rest
rest:
  store atomic i32 1, ptr @xt_waiting seq_cst, align 4
  br label %sleep
sleep:
  %p1 = load atomic i32, ptr @xt_pending seq_cst, align 4
  %done1 = icmp eq i32 %p1, 0
  br i1 %done1, label %awake, label %block
block:
  call void @xt_wait(ptr @xt_pending, i32 %p1)
  br label %sleep
awake:
  store atomic i32 0, ptr @xt_waiting monotonic, align 4
  br label %joined
joined:
  %bad0 = icmp ne i64 %r0, 0
  %failed = load atomic i32, ptr @xt_failed monotonic, align 4
  %clean = icmp eq i32 %failed, 0
  %skip = or i1 %bad0, %clean
  br i1 %skip, label %leave, label %find
find:
  %c = phi i64 [ 1, %joined ], [ %c2, %find ]
  %cfailure = getelementptr inbounds %xt.slot, ptr @xt_slots, i64 %c, i32 2
  %cr = load i64, ptr %cfailure, align 8
  %c2 = add i64 %c, 1
  %found = icmp ne i64 %cr, 0
  %cend = icmp uge i64 %c2, %end
  %stop = or i1 %found, %cend
  br i1 %stop, label %leave, label %find
leave:
  %r = phi i64 [ %r0, %joined ], [ %cr, %find ]
  store atomic i32 0, ptr @xt_busy release, align 4
  ret i64 %r
}

define LINKAGE i32 @xdsl_tvm_stop_threads() noinline nounwind {
entry:
  %pair = cmpxchg ptr @xt_busy, i32 0, i32 1 acquire monotonic
  %mine = extractvalue { i32, i1 } %pair, 1
  br i1 %mine, label %stop, label %busy
busy:
  ret i32 0
stop:
  store atomic i32 1, ptr @xt_wanted monotonic, align 4
  store atomic i32 1, ptr @xt_stop seq_cst, align 4
  %n = load i32, ptr @xt_started, align 4
  %end = zext i32 %n to i64
  br label %head
head:
  %t = phi i64 [ 1, %stop ], [ %t2, %body ]
  %more = icmp ult i64 %t, %end
  br i1 %more, label %body, label %done
body:
  %go = getelementptr inbounds %xt.slot, ptr @xt_slots, i64 %t, i32 0
  %g = atomicrmw add ptr %go, i32 1 seq_cst
  call void @xt_wake(ptr %go)
  %handle = getelementptr inbounds i64, ptr @xt_handles, i64 %t
  %h = load i64, ptr %handle, align 8
  %r = call i32 @pthread_join(i64 %h, ptr null)
  %t2 = add i64 %t, 1
  br label %head
done:
  call void @xdsl_tvm_forget_threads()
  ret i32 1
}

define LINKAGE void @xdsl_tvm_forget_threads() noinline nounwind {
  call void @llvm.memset.p0.i64(ptr align 128 @xt_slots, i8 0, i64 SLOT_BYTES,
    i1 false)
  call void @llvm.memset.p0.i64(ptr align 4 @xt_bound, i8 0, i64 BOUND_BYTES, i1 false)
  store i32 1, ptr @xt_started, align 4
  store atomic i32 0, ptr @xt_pending monotonic, align 4
  store atomic i32 0, ptr @xt_waiting monotonic, align 4
  store atomic i32 0, ptr @xt_stop monotonic, align 4
  store atomic i32 0, ptr @xt_busy release, align 4
  ret void
}
"""
