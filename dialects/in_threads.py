"""Work on large data that releases the interpreter's lock, side by side in threads."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import TypeVar

_WORTH_THREADS = 1 << 24
"""Bytes that take longer to read than threads take to start."""

_MOST_THREADS = 8
"""More threads than these wait for memory."""

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")


def available_processors() -> int:
    """How many processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def map_in_threads(
    function: Callable[[_Item], _Result], items: Sequence[_Item], size: int
) -> list[_Result]:
    """The results of a function that reads items of so many bytes in all, in order.

    Small items are left to this thread. The threads have ended when it returns, so that
    the process may be forked. Raises what the function raises.
    """
    count = min(available_processors(), _MOST_THREADS, len(items))
    if size < _WORTH_THREADS or count < 2:
        return list(map(function, items))
    # Late: most data are small.
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(count) as threads:
        return list(threads.map(function, items))
