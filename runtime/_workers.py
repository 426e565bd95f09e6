"""Jobs that are done by this process and by copies of it, each once.

Copies are made by `os.fork`, so jobs need neither be written nor read: only their results
are, bytes in a file. Who is free takes the next job from a pipe. A copy that is ended, as
LLVM ends a process on code it cannot compile, costs its job alone.
"""

from __future__ import annotations

import contextlib
import gc
import os
import signal
import sys
import tempfile
import threading
import warnings
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

Job = Callable[[], bytes]

_NUMBER = 4
"""Bytes of the number of a job, in the pipe and in files of results."""

_TICKETS = 8192
"""As many numbers fit in a pipe for sure; more jobs are not shared."""


@dataclass(frozen=True)
class Ended:
    """A process ended in the middle of a job."""

    reason: str


Outcome = bytes | Exception | Ended


def can_fork() -> bool:
    """Whether a copy of this process can go on: it is Linux, and no other thread runs.

    A copy has none of the other threads, but the locks that they hold. Libraries that run
    tasks of their own, such as JAX and gRPC, name their threads. Those that have the name
    of the process are helpers of BLAS, which end before a fork, and of OpenMP, which wait
    without a lock.
    """
    return (
        sys.platform == "linux"
        and threading.active_count() == 1
        and threading.current_thread() is threading.main_thread()
        and not _has_named_threads()
    )


def _has_named_threads() -> bool:
    """Whether a thread that is none of Python's has a name of its own."""
    names: set[str] = set()
    try:
        for task in os.listdir("/proc/self/task"):
            # A thread may end in between.
            with contextlib.suppress(FileNotFoundError, ProcessLookupError):
                names.add(Path("/proc/self/task", task, "comm").read_text())
    except OSError:
        # Without this file system nothing is known of such threads.
        return False
    return len(names) > 1


def _nothing() -> None:
    pass


def run_jobs(
    jobs: Sequence[Job],
    order: Sequence[int],
    processes: int,
    meanwhile: Callable[[], None] = _nothing,
) -> list[Outcome]:
    """The results of jobs, begun in an order, on so many processes.

    `meanwhile` is what this process does once, after copies of it have begun, and before
    it takes a job.

    With more than one process, `can_fork` must hold. A job that fails in a copy is done
    again by this process, so that its exception is the job's own: jobs leave what they
    work on as it is in the other processes. Where jobs fail, the outcome of the first of
    them in `jobs` is what one process has, and later ones may be left out.
    """
    outcomes: list[Outcome | None] = [None] * len(jobs)
    if processes > 1 and 0 < len(jobs) <= _TICKETS:
        _share(jobs, order, processes, outcomes, meanwhile)
    else:
        meanwhile()
    for number, job in enumerate(jobs):
        if outcomes[number] is None:
            outcomes[number] = _done(job)
        if not isinstance(outcomes[number], bytes):
            break
    return [_SKIPPED if outcome is None else outcome for outcome in outcomes]


_SKIPPED = Ended("a job before it failed")


def _done(job: Job) -> Outcome:
    try:
        return job()
    except Exception as error:
        return error


def _share(
    jobs: Sequence[Job],
    order: Sequence[int],
    processes: int,
    outcomes: list[Outcome | None],
    meanwhile: Callable[[], None],
) -> None:
    """Does the jobs; what fails in a copy is left out of `outcomes`."""
    read, write = os.pipe()
    children: dict[int, IO[bytes]] = {}
    with contextlib.ExitStack() as files:
        files.callback(os.close, read)
        files.callback(_end, children)
        os.write(write, b"".join(n.to_bytes(_NUMBER, "little") for n in order))
        os.close(write)
        # To the end: jobs leave little, and what there was would be searched each time.
        files.enter_context(_frozen())
        for _ in range(min(processes - 1, len(jobs))):
            results = files.enter_context(tempfile.TemporaryFile())
            child = _fork()
            if child == 0:
                _work(jobs, read, results)
            children[child] = results
        meanwhile()
        while ticket := os.read(read, _NUMBER):
            number = int.from_bytes(ticket, "little")
            outcomes[number] = _done(jobs[number])
            if not isinstance(outcomes[number], bytes):
                break
        for child in list(children):
            _, status = os.waitpid(child, 0)
            _collect(children.pop(child), status, outcomes)


def _end(children: dict[int, IO[bytes]]) -> None:
    """Ends the processes that are left where this one was interrupted."""
    for child in children:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


@contextlib.contextmanager
def _frozen() -> Generator[None]:
    """All objects are left alone by the collector, which would copy their memory."""
    freeze = gc.get_freeze_count() == 0
    if freeze:
        gc.freeze()
    try:
        yield
    finally:
        if freeze:
            gc.unfreeze()


def _fork() -> int:
    with warnings.catch_warnings():
        # Later Pythons count threads of libraries, too: numpy's end before a fork.
        warnings.simplefilter("ignore", DeprecationWarning)
        return os.fork()


def _work(jobs: Sequence[Job], tickets: int, results: IO[bytes]) -> None:
    """Does jobs until none is left; ends the process."""
    status = 1
    try:
        while ticket := os.read(tickets, _NUMBER):
            results.write(ticket)
            results.flush()
            outcome = _done(jobs[int.from_bytes(ticket, "little")])
            found = isinstance(outcome, bytes)
            results.write(b"+" if found else b"-")
            data = outcome if isinstance(outcome, bytes) else b""
            results.write(len(data).to_bytes(8, "little") + data)
            results.flush()
        status = 0
    finally:
        # Nothing of the parent's is written, closed or freed.
        os._exit(status)


def _collect(results: IO[bytes], status: int, outcomes: list[Outcome | None]) -> None:
    results.seek(0)
    while ticket := results.read(_NUMBER):
        number = int.from_bytes(ticket, "little")
        mark, size = results.read(1), int.from_bytes(results.read(8), "little")
        data = results.read(size)
        if mark == b"+" and len(data) == size:
            outcomes[number] = data
        elif not mark:
            outcomes[number] = Ended(_reason(status))


def _reason(status: int) -> str:
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        return f"ended by signal {number} ({signal.strsignal(number)})"
    return f"exited with status {os.WEXITSTATUS(status)}"
