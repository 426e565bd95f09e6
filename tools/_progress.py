"""A bar that shows how far a compilation is, for people who wait."""

from __future__ import annotations

import os
import sys
from typing import IO

_WIDTH = 30


class ProgressBar:
    """Writes one line over and over; `update` is what `compile` takes as `progress`.

    Each line is as long as the longest so far, so that nothing of an earlier one is left.
    """

    def __init__(self, stream: IO[str]) -> None:
        self._stream = stream
        self._longest = 0

    def update(self, name: str, number: int, count: int) -> None:
        """Show that the step `number` of `count` begins, counted from 0."""
        done = _WIDTH * number // max(count, 1)
        bar = "#" * done + "-" * (_WIDTH - done)
        self._write(f"[{bar}] {number}/{count} {name}")

    def close(self) -> None:
        """Take the line away."""
        if self._longest:
            self._write("")
            self._stream.write("\r")
            self._stream.flush()

    def _write(self, text: str) -> None:
        self._longest = max(self._longest, len(text))
        self._stream.write("\r" + text.ljust(self._longest))
        self._stream.flush()


def wanted(flag: bool | None) -> bool:
    """Whether a bar is shown: as the flag says, else on a terminal and not in CI."""
    if flag is not None:
        return flag
    return sys.stderr.isatty() and "CI" not in os.environ
