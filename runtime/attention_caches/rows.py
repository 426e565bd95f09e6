"""What `nn.KVCache` calls when a program runs: rows that grow in number."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

Array: TypeAlias = "np.ndarray[Any, np.dtype[Any]]"


class Rows:
    """The rows of a cache: memory that is larger than what is used of it."""

    def __init__(self, memory: Array, used: int) -> None:
        self.memory, self.used = memory.copy(), used

    def append(self, rows: Array) -> None:
        """Add rows; memory is doubled where it does not suffice."""
        end = self.used + len(rows)
        if end > len(self.memory):
            grown = np.zeros(
                (max(end, 2 * len(self.memory)), *rows.shape[1:]), rows.dtype
            )
            grown[: self.used] = self.memory[: self.used]
            self.memory = grown
        self.memory[self.used : end] = rows
        self.used = end


def _create(memory: Array, _shape: Sequence[int], used: int) -> Rows:
    return Rows(memory, used)


def _append(cache: Rows, rows: Array) -> Rows:
    cache.append(rows)
    return cache


def _view(cache: Rows, shape: Sequence[int]) -> Array:
    length = shape[0]
    if length > cache.used:
        raise ValueError(f"nn.KVCache: view of {length} rows, {cache.used} are there")
    return cache.memory[cache.used - length : cache.used].copy()


def _print(state: object, array: Array) -> object:
    print(f"effect.print: shape = {array.shape}, dtype = {array.dtype}, data =\n{array}")
    return state


FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "vm.builtin.attention_kv_cache_create": _create,
    "vm.builtin.attention_kv_cache_append": _append,
    "vm.builtin.attention_kv_cache_view": _view,
    "effect.print": _print,
}
