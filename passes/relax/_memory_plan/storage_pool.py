"""Storages that are free for the next tensor (docs/spec/relax-passes-headline.md)."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import deque
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import TypeAlias

from xdsl.ir import Attribute

from xdsl_tvm.dialects import relax
from xdsl_tvm.dialects.relax.symbolic import without_floormod

_RATIO = 16
"""Sizes that differ by more than this factor do not share."""

Kind: TypeAlias = tuple[Attribute, ...]
"""Scope, dtype and device: storages of different kinds never stand for each other."""


@dataclass(eq=False)
class Storage:
    """Memory to plan, with the tensors that are on it and the bytes where they start."""

    kind: Kind
    size: relax.Dim
    tensors: list[tuple[relax.AllocTensorOp, relax.Dim]] = field(
        default_factory=list[tuple["relax.AllocTensorOp", relax.Dim]]
    )


@dataclass
class _Free:
    """Free storages of one kind; those released first are first among equals."""

    static: list[tuple[int, int, Storage]] = field(
        default_factory=list[tuple[int, int, Storage]]
    )
    symbolic: dict[relax.Dim, deque[Storage]] = field(
        default_factory=dict[relax.Dim, deque[Storage]]
    )


class StoragePool:
    """Free storages by kind and size."""

    def __init__(self) -> None:
        self._free: dict[Kind, _Free] = {}
        self._released = 0
        self._symbol_uses: dict[str, list[tuple[_Free, relax.Dim]]] = {}

    def release(self, storage: Storage) -> None:
        """Nothing lives on the storage any more."""
        free = self._free.setdefault(storage.kind, _Free())
        size = storage.size.value
        if size is not None:
            self._released += 1
            insort(free.static, (size, self._released, storage))
            return
        key = without_floormod(storage.size)
        free.symbolic.setdefault(key, deque()).append(storage)
        for symbol in storage.size.symbols():
            self._symbol_uses.setdefault(symbol, []).append((free, key))

    def take(self, kind: Kind, size: relax.Dim) -> Storage | None:
        """A storage that fits, enlarged if need be, or None.

        For a constant size: the smallest storage that is large enough, the one released
        first among equals; if there is none, the largest, released last; none that is
        more than 16 times larger or smaller. For another: one of provably equal size.
        """
        free = self._free.get(kind)
        if free is None:
            return None
        if (bytes_ := size.value) is not None:
            return _take_static(free.static, bytes_)
        same = free.symbolic.get(without_floormod(size))
        return same.popleft() if same else None

    def forget(self, symbols: AbstractSet[str]) -> None:
        """Drop the storages whose sizes use symbols that are not visible any more."""
        for symbol in symbols:
            for free, key in self._symbol_uses.pop(symbol, ()):
                free.symbolic.pop(key, None)


def _take_static(free: list[tuple[int, int, Storage]], size: int) -> Storage | None:
    position = bisect_left(free, (size, 0))
    if position < len(free) and free[position][0] <= size * _RATIO:
        return free.pop(position)[2]
    if position and free[position - 1][0] >= size // _RATIO:
        storage = free.pop(position - 1)[2]
        storage.size = relax.Dim.constant(size)
        return storage
    return None
