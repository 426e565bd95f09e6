"""How long calls take: TVM's `time_evaluator` and what it returns."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class BenchmarkResult:
    """Times of a call in seconds, one for each repetition."""

    results: Sequence[float]

    @property
    def mean(self) -> float:
        """The mean."""
        return float(np.mean(self.results))

    @property
    def median(self) -> float:
        """The median."""
        return float(np.median(self.results))

    @property
    def min(self) -> float:
        """The shortest."""
        return float(np.min(self.results))

    @property
    def max(self) -> float:
        """The longest."""
        return float(np.max(self.results))

    @property
    def std(self) -> float:
        """The standard deviation."""
        return float(np.std(self.results))

    def __str__(self) -> str:
        """A table of the times in milliseconds."""
        names = ("mean", "median", "max", "min", "std")
        head = "".join(f" {name + ' (ms)':^12} " for name in names)
        row = "".join(f" {getattr(self, name) * 1e3:^12.4f} " for name in names)
        return f"Execution time summary:\n{head}\n{row}"


def time_evaluator(
    function: Callable[..., Any],
    synchronize: Callable[[], None],
    *,
    number: int = 10,
    repeat: int = 1,
    min_repeat_ms: int = 0,
    cooldown_interval_ms: int = 0,
    repeats_to_cooldown: int = 1,
) -> Callable[..., BenchmarkResult]:
    """What calls a function, and returns the times of the calls.

    Each of `repeat` times is the mean of `number` calls, or of more, until they take
    `min_repeat_ms`. After each `repeats_to_cooldown` of them it sleeps. The first call
    is not timed. Raises ValueError for numbers that are not positive.
    """
    if number < 1 or repeat < 1 or repeats_to_cooldown < 1:
        raise ValueError(
            "time_evaluator: number, repeat and repeats_to_cooldown must be positive, "
            f"got {number}, {repeat} and {repeats_to_cooldown}"
        )

    def seconds(count: int, args: Sequence[Any]) -> float:
        start = time.perf_counter()
        for _ in range(count):
            function(*args)
        synchronize()
        return time.perf_counter() - start

    def evaluate(*args: Any) -> BenchmarkResult:
        seconds(1, args)
        count, results = number, list[float]()
        for index in range(repeat):
            taken = seconds(count, args)
            while taken * 1e3 < min_repeat_ms:
                wanted = count * min_repeat_ms * 1e-3 / max(taken, 1e-9)
                count = max(2 * count, int(wanted))
                taken = seconds(count, args)
            results.append(taken / count)
            if cooldown_interval_ms and (index + 1) % repeats_to_cooldown == 0:
                time.sleep(cooldown_interval_ms * 1e-3)
        return BenchmarkResult(tuple(results))

    return evaluate
