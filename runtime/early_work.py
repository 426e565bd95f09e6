"""Work of a compilation that other processors do before it is asked for.

Passes hold the interpreter's lock. Meanwhile threads do what does not: parameters are
copied to attributes, LLVM compiles the pool of threads, memory for constants is used for
the first time. They have ended before the process is copied for others to compile.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from threading import Lock
from typing import ParamSpec, Self, TypeVar

from xdsl_tvm.dialects.in_threads import available_processors

_MOST_THREADS = 7
"""More threads than these wait for memory."""

_SWITCH_INTERVAL = 0.0005
"""Seconds for which passes keep the interpreter from a thread, a tenth of what is usual:
that takes longer for each array than its copy."""

_Arguments = ParamSpec("_Arguments")
_Result = TypeVar("_Result")


class _Switching:
    """The interval of the interpreter, which all compilations of a process share."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._count = 0
        self._usual = 0.0

    def begin(self) -> None:
        with self._lock:
            if not self._count:
                self._usual = sys.getswitchinterval()
                sys.setswitchinterval(min(_SWITCH_INTERVAL, self._usual))
            self._count += 1

    def end(self) -> None:
        with self._lock:
            self._count -= 1
            if not self._count:
                sys.setswitchinterval(self._usual)


_SWITCHING = _Switching()


class EarlyWork:
    """Tasks that threads begin in order; on one processor there are no threads.

    `stop` ends the threads, and so does the end of a `with`.
    """

    def __init__(self) -> None:
        count = min(available_processors() - 1, _MOST_THREADS)
        self._threads = ThreadPoolExecutor(count) if count > 0 else None
        if self._threads is not None:
            _SWITCHING.begin()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def has_threads(self) -> bool:
        """Whether tasks can begin."""
        return self._threads is not None

    def begin(
        self,
        task: Callable[_Arguments, _Result],
        *args: _Arguments.args,
        **named: _Arguments.kwargs,
    ) -> Future[_Result] | None:
        """Has a thread do a task; None where there are no threads, or not any more."""
        if self._threads is None:
            return None
        return self._threads.submit(task, *args, **named)

    def stop(self) -> None:
        """Waits for tasks that have begun, and leaves out the others."""
        threads, self._threads = self._threads, None
        if threads is not None:
            threads.shutdown(cancel_futures=True)
            _SWITCHING.end()
