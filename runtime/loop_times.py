"""Times of the functions and loops that InstrumentProfileIntrinsics marks."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from xdsl_tvm.lowering.runtime_symbols import COUNT, EVENTS, LIMIT, NAMES

ROOM = 1 << 20
"""How many events are kept of a recording, where nothing else is said."""
_FIELDS = 3


@dataclass(frozen=True)
class Span:
    """One execution of a function or a loop."""

    name: str
    start: int
    """Nanoseconds of a clock that only goes forward."""
    duration: int
    """Nanoseconds."""
    thread: int


@dataclass(frozen=True)
class LoopTimes:
    """What was recorded."""

    spans: Sequence[Span]
    dropped: int
    """Events that there was no room for."""

    def totals(self) -> list[tuple[str, int, float]]:
        """Name, executions and seconds of each function and loop, the longest first."""
        found: dict[str, tuple[int, int]] = {}
        for span in self.spans:
            count, time = found.get(span.name, (0, 0))
            found[span.name] = count + 1, time + span.duration
        rows = [(name, count, time * 1e-9) for name, (count, time) in found.items()]
        return sorted(rows, key=lambda row: -row[2])

    def trace(self) -> dict[str, Any]:
        """The spans in the format of Chrome's tracing: times are microseconds."""
        first = min((span.start for span in self.spans), default=0)
        threads = {span.thread: 0 for span in self.spans}
        numbers = {thread: number for number, thread in enumerate(threads)}
        return {
            "traceEvents": [
                {
                    "name": span.name,
                    "ph": "X",
                    "ts": (span.start - first) / 1000,
                    "dur": span.duration / 1000,
                    "pid": 0,
                    "tid": numbers[span.thread],
                }
                for span in self.spans
            ],
            "displayTimeUnit": "ns",
        }


class LoopRecorder:
    """The globals of compiled code that marks functions and loops."""

    def __init__(self, address: Callable[[str], int]) -> None:
        text = ctypes.string_at(address(NAMES)).decode(errors="replace")
        lines = (line.partition("\t") for line in text.splitlines())
        self._names = {int(number): name for number, _, name in lines}
        self._events = ctypes.c_int64.from_address(address(EVENTS))
        self._limit = ctypes.c_int64.from_address(address(LIMIT))
        self._count = ctypes.c_int64.from_address(address(COUNT))
        self._memory: Any = None

    def start(self, room: int = ROOM) -> None:
        """Begin to record, with room for so many events."""
        self._memory = (ctypes.c_int64 * (_FIELDS * room))()
        self._events.value = ctypes.addressof(self._memory)
        self._count.value = 0
        self._limit.value = room

    def stop(self) -> LoopTimes:
        """End the recording; what it has."""
        room, count = self._limit.value, self._count.value
        self._limit.value = 0
        kept = min(room, count)
        numbers: list[int] = self._memory[: _FIELDS * kept] if kept else []
        self._memory = None
        events = zip(numbers[::3], numbers[1::3], numbers[2::3], strict=True)
        return LoopTimes(list(self._spans(events)), count - kept)

    def _spans(self, events: Iterable[tuple[int, int, int]]) -> Iterable[Span]:
        """The marks of each thread in pairs; one without its end is left out."""
        begun: dict[int, list[tuple[int, int]]] = {}
        for mark, time, thread in events:
            open_marks = begun.setdefault(thread, [])
            number, is_end = divmod(mark, 2)
            if not is_end:
                open_marks.append((number, time))
                continue
            while open_marks:
                last, start = open_marks.pop()
                if last == number:
                    yield Span(self._names[number], start, time - start, thread)
                    break


def table(times: LoopTimes) -> list[str]:
    """The times as lines, for people."""
    rows = times.totals()
    width = max((len(name) for name, *_ in rows), default=0)
    lines = [
        f"{name:<{width}}  {count:>10} x  {seconds * 1e3:12.3f} ms"
        for name, count, seconds in rows
    ]
    if times.dropped:
        lines.append(f"{times.dropped} marks were not recorded: there was no more room")
    return lines or ["no function or loop was marked"]
