"""Fewer runs of Python's garbage collector while IR is rewritten."""

from __future__ import annotations

import gc
from collections.abc import Callable, Generator
from contextlib import contextmanager

_COLLECTED_AFTER = 700_000
"""Objects that live since the last collection; some tens of megabytes."""


class _State:
    def __init__(self) -> None:
        self.disabled = False
        """Whether the collector is disabled from here."""
        self.left = 0
        """Objects that were left to the next collection of all."""
        self.collections = 0
        """How many of those there have been when they were counted."""


_STATE = _State()


@contextmanager
def rare_collections() -> Generator[Callable[[], None]]:
    """Collects garbage only where what is yielded is called, and only much of it.

    IR is all cycles and nearly all of it lives on: Python's collector would go through
    it again and again, which is a quarter of the time of the passes of large modules.
    A collector that is disabled elsewhere is left alone. At the end objects that are not
    many are left to its next run over all, which is Python's to begin.
    """
    if not gc.isenabled():
        yield _collect_much if _STATE.disabled else _collect_nothing
        return
    gc.disable()
    _STATE.disabled = True
    try:
        yield _collect_much
    finally:
        _STATE.disabled = False
        _leave_or_collect()
        gc.enable()


def _collect_nothing() -> None:
    pass


def _collect_much() -> None:
    if gc.get_count()[0] > _COLLECTED_AFTER:
        gc.collect()


def _leave_or_collect() -> None:
    """Makes what is new old, which Python's collector does not go through at once."""
    collections = gc.get_stats()[-1]["collections"]
    if collections != _STATE.collections:
        _STATE.collections, _STATE.left = collections, 0
    _STATE.left += gc.get_count()[0]
    if _STATE.left > _COLLECTED_AFTER:
        gc.collect()
    elif gc.get_freeze_count() == 0:
        gc.freeze()
        gc.unfreeze()
