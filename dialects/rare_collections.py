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


_STATE = _State()


@contextmanager
def rare_collections() -> Generator[Callable[[], None]]:
    """Collects garbage only where what is yielded is called, and only much of it.

    IR is all cycles and nearly all of it lives on: Python's collector would go through
    it again and again, which is a quarter of the time of the passes of large modules.
    A collector that is disabled elsewhere is left alone.
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
        gc.enable()


def _collect_nothing() -> None:
    pass


def _collect_much() -> None:
    if gc.get_count()[0] > _COLLECTED_AFTER:
        gc.collect()
