"""Calls of host code as CUDA graphs: repeated calls are captured once, and replayed.

What host code asks of the driver depends on the values that it is called with only:
addresses, numbers and extents. It calls no function of Python, and functions that read or
write elements are not captured. Calls with equal values are the same work.
"""

from __future__ import annotations

import struct
import threading
import weakref
from collections import OrderedDict
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final, TypeAlias

from xdsl_tvm.runtime.device_array import Stream

Entry: TypeAlias = Callable[..., Any]
"""Machine code, called with addresses and numbers; raises for a failed assertion."""
_Key: TypeAlias = tuple[int | bytes, ...]

CAPACITY: Final = 16
"""The calls of a function that are remembered at a time, those made last."""


class CallGraphs:
    """The graphs of an executable. Calls of its host code exclude each other."""

    def __init__(self, stream: Stream, use_stream: Callable[[int], None]) -> None:
        self.stream = stream
        """The stream of all calls, on which graphs are launched."""
        driver = stream.driver
        driver.activate()
        # Work that other threads give the stream during a capture is no part of it.
        self._recorder = Stream(driver, driver.new_stream(ordered=False))
        self._use_stream = use_stream
        self._lock = threading.RLock()

    def function(self, name: str, run: Entry) -> Entry:
        """The machine code of a function, captured by the second of equal calls."""
        return _CapturedFunction(self, name, run)

    def alone(self, run: Entry) -> Entry:
        """The machine code of a function that is not captured, outside of captures."""

        def call(*values: Any) -> Any:
            with self._lock:
                return run(*values)

        return call

    def locked(self) -> threading.RLock:
        """What a thread holds that calls host code."""
        return self._lock

    def capture(self, run: Entry, values: tuple[Any, ...]) -> _Graph | None:
        """The graph of a call, with the result of the host code.

        None where the call fails while it is captured, or the driver refuses.
        """
        driver, recorder = self.stream.driver, self._recorder.handle
        try:
            driver.begin_capture(recorder)
        except RuntimeError:
            return None
        self._use_stream(recorder)
        try:
            result = run(*values)
        except (RuntimeError, MemoryError):
            with suppress(RuntimeError, MemoryError):
                driver.free_graph(driver.end_capture(recorder))
            return None
        finally:
            self._use_stream(self.stream.handle)
        try:
            handle = driver.end_capture(recorder)
        except (RuntimeError, MemoryError):
            return None
        return _Graph(self.stream, handle, result)


class _Graph:
    """A captured call, released when nothing uses it."""

    def __init__(self, stream: Stream, handle: int, result: Any) -> None:
        self.result = result
        """What the host code has returned: a number, or nothing."""
        self._stream = stream
        self._handle = handle
        weakref.finalize(self, _release, stream, handle)

    def launch(self) -> Any:
        """Enqueue the work of the call."""
        self._stream.driver.launch_graph(self._handle, self._stream.handle)
        return self.result


def _release(stream: Stream, handle: int) -> None:
    # The driver may be gone at the end of the process.
    with suppress(RuntimeError):
        stream.driver.activate()
        stream.driver.synchronize(stream.handle)
    with suppress(RuntimeError):
        stream.driver.free_graph(handle)


class _CapturedFunction:
    """Host code of a function: the first of equal calls runs, the second is captured."""

    def __init__(self, graphs: CallGraphs, name: str, run: Entry) -> None:
        self._graphs = graphs
        self._name = name
        self._run = run
        self._calls: OrderedDict[_Key, _Graph | None] = OrderedDict()
        """The graphs by the values of the call; None for values seen once."""
        self._is_refused = False
        """The driver cannot capture what the function does."""

    def __call__(self, *values: Any) -> Any:
        with self._graphs.locked():
            if self._is_refused:
                return self._run(*values)
            key = _key(values)
            graph = self._calls.get(key)
            if graph is None and key in self._calls:
                graph = self._graphs.capture(self._run, values)
            if graph is None:
                return self._first(key, values)
            self._calls[key] = graph
            self._calls.move_to_end(key)
            try:
                return graph.launch()
            except RuntimeError as error:
                del self._calls[key]
                raise RuntimeError(f"@{self._name}: {error}") from None

    def _first(self, key: _Key, values: tuple[Any, ...]) -> Any:
        """Run a call; if it was tried to capture it and only that failed, give up."""
        was_tried = self._calls.pop(key, self) is None
        result = self._run(*values)
        if was_tried:
            self._is_refused = True
            self._calls.clear()
            return result
        self._calls[key] = None
        if len(self._calls) > CAPACITY:
            self._calls.popitem(last=False)
        return result


def _key(values: tuple[Any, ...]) -> _Key:
    # Equal floats may differ in their sign, and a NaN differs from itself.
    return tuple(
        each if isinstance(each, int) else struct.pack("d", each) for each in values
    )
