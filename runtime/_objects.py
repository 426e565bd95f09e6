"""Values of Python in compiled code, where a number stands for each.

The numbers of a thread are valid until the outermost call of compiled code that it makes
returns; that long, the values live.
"""

from __future__ import annotations

import threading
from collections.abc import Generator
from contextlib import contextmanager


class Objects(threading.local):
    """The values that compiled code may name, on each thread its own."""

    def __init__(self) -> None:
        self._depth = 0
        self._held: dict[int, object] = {}

    @contextmanager
    def calling(self) -> Generator[None]:
        """For the time of a call of compiled code, which this thread makes."""
        self._depth += 1
        try:
            yield
        finally:
            self._depth -= 1
            if not self._depth:
                self._held.clear()

    def number(self, value: object) -> int:
        """The number that stands for a value during the call; 0 for None."""
        if value is None:
            return 0
        self._held[id(value)] = value
        return id(value)

    def value(self, number: int) -> object:
        """The value for which a number stands."""
        return self._held[number] if number else None


OBJECTS = Objects()
