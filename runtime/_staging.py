"""Copies between memory of the host and of the GPU through pinned memory.

The driver copies from and to pinned memory directly, while the host goes on; other memory
it stages itself, piece by piece. Here the pieces are two, of up to 4 MiB: the host fills
or empties one while the other one is copied.
"""

from __future__ import annotations

import ctypes
import threading
from contextlib import suppress
from typing import Final

from xdsl_tvm.runtime.cuda_driver import Driver

LEAST_BYTES: Final = 1 << 20
"""Copies of fewer bytes are left to the driver."""
PIECE_BYTES: Final = 4 << 20
"""The most that a piece has."""
_PIECES: Final = 2


class _Piece:
    """Pinned memory, and the event that says when the last copy of it is done."""

    def __init__(self, driver: Driver, size: int) -> None:
        self.size = size
        self.address = driver.allocate_host(size)
        try:
            self.event = driver.new_event()
        except BaseException:
            driver.free_host(self.address)
            raise

    def release(self, driver: Driver) -> None:
        """Release it when its copy is done. The driver may be gone."""
        with suppress(RuntimeError):
            driver.wait(self.event)
        with suppress(RuntimeError):
            driver.free_event(self.event)
        with suppress(RuntimeError):
            driver.free_host(self.address)


class Staging:
    """Copies on a stream. Pinned memory is kept for later ones, and grows with them.

    Where there is no pinned memory, copies are those of the driver: they are slower, but
    the same. Copies of several threads wait for each other.
    """

    def __init__(self, driver: Driver, stream: int) -> None:
        self._driver = driver
        self._stream = stream
        self._pieces: list[_Piece] = []
        self._lock = threading.Lock()

    def copy_to_device(self, address: int, source: int, size: int) -> None:
        """Copy `size` bytes from the host address `source`, which may change then."""
        driver, stream = self._driver, self._stream
        if size < LEAST_BYTES:
            driver.copy_to_device(address, source, size, stream)
            return
        with self._lock:
            pieces = self._pieces_for(size)
            if not pieces:
                driver.copy_to_device(address, source, size, stream)
                return
            try:
                for turn, at in enumerate(range(0, size, pieces[0].size)):
                    piece = pieces[turn % len(pieces)]
                    count = min(piece.size, size - at)
                    driver.wait(piece.event)
                    ctypes.memmove(piece.address, source + at, count)
                    driver.enqueue_to_device(address + at, piece.address, count, stream)
                    driver.record(piece.event, stream)
            except BaseException:
                self._settle()
                raise

    def copy_to_host(self, target: int, address: int, size: int) -> None:
        """Copy `size` bytes to the host address `target`, and wait for it."""
        driver, stream = self._driver, self._stream
        if size < LEAST_BYTES:
            driver.copy_to_host(target, address, size, stream)
            return
        with self._lock:
            pieces = self._pieces_for(size)
            if not pieces:
                driver.copy_to_host(target, address, size, stream)
                return
            try:
                self._pieces_to_host(pieces, target, address, size)
            except BaseException:
                self._settle()
                raise

    def _pieces_to_host(
        self, pieces: list[_Piece], target: int, address: int, size: int
    ) -> None:
        driver, stream = self._driver, self._stream
        step = pieces[0].size
        starts = range(0, size, step)
        for turn in range(len(starts) + len(pieces)):
            piece = pieces[turn % len(pieces)]
            # The copy of some turns ago, or the last one of an earlier call, is done.
            driver.wait(piece.event)
            earlier = turn - len(pieces)
            if 0 <= earlier < len(starts):
                at = starts[earlier]
                ctypes.memmove(target + at, piece.address, min(step, size - at))
            if turn < len(starts):
                at = starts[turn]
                count = min(step, size - at)
                driver.enqueue_to_host(piece.address, address + at, count, stream)
                driver.record(piece.event, stream)

    def _pieces_for(self, size: int) -> list[_Piece]:
        """Pieces of one size for a copy, none where there is no pinned memory."""
        wanted = min(PIECE_BYTES, -(-size // LEAST_BYTES) * LEAST_BYTES)
        if self._pieces and self._pieces[0].size >= wanted:
            return self._pieces
        new: list[_Piece] = []
        try:
            for _ in range(_PIECES):
                new.append(_Piece(self._driver, wanted))
        except MemoryError:
            pass
        except BaseException:
            for piece in new:
                piece.release(self._driver)
            raise
        if new:
            self.release()
            self._pieces = new
        return self._pieces

    def _settle(self) -> None:
        """Wait after an error, so that no copy uses a piece of which no event tells."""
        with suppress(RuntimeError):
            self._driver.synchronize(self._stream)

    def release(self) -> None:
        """Release the pinned memory when its copies are done."""
        for piece in self._pieces:
            piece.release(self._driver)
        self._pieces = []
