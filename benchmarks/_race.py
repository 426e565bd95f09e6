"""Times of programs that are compared, taken in turns."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

PAUSE = 0.02
"""Seconds before a turn. Without them, the threads of other runtimes, which wait for
work by spinning, take the cores from the ones that are measured."""
RUNS_PER_TURN = 3
_LEAST = 0.002
"""Seconds that each takes of those that take turns without a pause."""
_STEADY_TURNS = 3


def turn(call: Callable[[], object]) -> float:
    """The best time of a few runs; of one, if that takes a second."""
    best = float("inf")
    for _ in range(RUNS_PER_TURN):
        start = time.perf_counter()
        call()
        best = min(best, time.perf_counter() - start)
        if best > 1:
            break
    return best


def race(turns: Sequence[Callable[[], float]], seconds: float) -> list[float]:
    """The best time of each racer, which one call after the other gives."""
    best = [float("inf")] * len(turns)
    stop = time.perf_counter() + seconds
    rounds = 0
    while rounds < 5 or time.perf_counter() < stop:
        for number, take_turn in enumerate(turns):
            # What takes twenty times as long as the first need not run often.
            if rounds > 1 and best[number] > 20 * best[0]:
                continue
            time.sleep(PAUSE)
            best[number] = min(best[number], take_turn())
        rounds += 1
    return best


def steady_race(calls: Sequence[Callable[[], float]]) -> list[float]:
    """The least of what each call returns, in turns of some ms without a pause.

    A core that has paused begins slowly, and its clock changes later. So calls that are
    compared are to run as long, and close to each other.
    """
    best = [float("inf")] * len(calls)
    for _ in range(_STEADY_TURNS):
        for number, call in enumerate(calls):
            stop = time.perf_counter() + _LEAST
            while True:
                best[number] = min(best[number], call())
                if time.perf_counter() >= stop:
                    break
    return best
