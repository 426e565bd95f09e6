"""Products of warpgroups in flight: their sums are there when threads waited for them.

Until then a sum is a NaN that says which one it is, wherever it is stored or passed to,
so that it can be loaded and stored as a whole and be the start of a further product; that
it is taken out of the whole is an error. A wait puts the sums in the place of these, in
values and in each thread's own memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final, cast

import numpy as np
from xdsl.ir import Operation

from xdsl_tvm.interpreters.errors import SimulationError
from xdsl_tvm.interpreters.llvm_kernels.layouts import Array, Mask, Value
from xdsl_tvm.interpreters.llvm_kernels.rules import TeamState

_NAN: Final = 0x7FC00000
_PAYLOAD: Final = 0x003FFFFF
_SUM_BITS: Final = 7
"""A thread has up to 128 sums of a product."""
_MOST_PRODUCTS: Final = (_PAYLOAD >> _SUM_BITS) - 1


@dataclass(eq=False)
class _Product:
    """The sums of a product, by sum and thread."""

    number: int
    sums: Array
    pending: Array
    """The threads that have not waited for it."""
    groups: Array
    """The group of each thread's part, -1 as long as it is open."""


@dataclass(eq=False)
class PendingProducts:
    """The products of the threads that run together."""

    count: int
    """Threads."""
    _products: dict[int, _Product] = field(default_factory=dict[int, _Product])
    _last: int = 0
    _committed: Array = field(init=False)
    _fenced: Array = field(init=False)

    def __post_init__(self) -> None:
        self._committed = np.zeros(self.count, np.int64)
        self._fenced = np.zeros(self.count, np.bool_)

    def fence(self, mask: Mask) -> None:
        """Products may read what these threads have in registers."""
        self._fenced[slice(None) if mask is None else mask] = True

    def begin(
        self, op: Operation, team: TeamState, mask: Mask, sums: Value
    ) -> list[Array]:
        """What a product adds to, also what is not there yet for other operations."""
        some = np.ones(self.count, np.bool_) if mask is None else mask
        if not self._fenced[some].all():
            raise SimulationError(
                f"{op.name}: its sums may have been accessed since the last "
                "nvvm.wgmma.fence.aligned; put one before the product",
                op,
            )
        parts = cast("Sequence[Array]", sums)
        found = [np.broadcast_to(each, (self.count,)).copy() for each in parts]
        for each in found:
            self._fill(each, some, also_pending=True)
        return found

    def hold(self, team: TeamState, mask: Mask, sums: Sequence[Array]) -> Value:
        """The sums of a new product, as they are until its group is waited for."""
        some = np.ones(self.count, np.bool_) if mask is None else mask
        self._last = self._last % _MOST_PRODUCTS + 1
        product = _Product(
            self._last, np.stack(sums), some.copy(), np.full(self.count, -1)
        )
        self._products[self._last] = product
        first = self._last << _SUM_BITS | _NAN
        marks = np.arange(first, first + len(sums), dtype=np.uint32).view(np.float32)
        return tuple(np.full(self.count, mark) for mark in marks)

    def commit(self, mask: Mask) -> None:
        """Close the groups of these threads."""
        some = np.ones(self.count, np.bool_) if mask is None else mask
        for product in self._products.values():
            is_open = product.pending & some & (product.groups < 0)
            product.groups[is_open] = self._committed[is_open]
        self._committed[some] += 1

    def wait(self, team: TeamState, mask: Mask, left: int) -> None:
        """Let these threads have the sums of all their groups but the last `left`."""
        some = np.ones(self.count, np.bool_) if mask is None else mask
        self._fenced[some] = False
        done = np.zeros(self.count, np.bool_)
        for product in self._products.values():
            ready = product.pending & some & (product.groups >= 0)
            ready &= product.groups < self._committed - left
            product.pending &= ~ready
            done |= ready
        if not done.any():
            return
        for position, value in enumerate(team.values):
            if isinstance(value, tuple):
                team.values[position] = self._filled(value, done)
        self._fill_memory(team, done)
        for number, product in list(self._products.items()):
            if not product.pending.any():
                del self._products[number]

    def _filled(self, value: Value, done: Array) -> Value:
        parts: list[Value] = []
        for each in cast("tuple[Any, ...]", value):
            array = cast(Array, each)
            if (
                isinstance(each, np.ndarray)
                and array.dtype == np.float32
                and array.shape == (self.count,)
                and np.isnan(array).any()
            ):
                array = array.copy()
                self._fill(array, done)
            parts.append(array)
        return tuple(parts)

    def _fill_memory(self, team: TeamState, done: Array) -> None:
        """The same in the own memory of threads."""
        local = team.spaces.local
        if local.starts is None or not len(local.data):
            return
        words = local.typed(np.dtype(np.float32))
        starts = np.broadcast_to(local.starts, (self.count,)) // words.itemsize
        places = starts[:, None] + np.arange(local.size // words.itemsize)
        rows = words[places]
        for column in np.flatnonzero(np.isnan(rows).any(axis=0)).tolist():
            values = rows[:, column].copy()
            self._fill(values, done)
            words[places[:, column]] = values

    def _fill(self, values: Array, some: Array, *, also_pending: bool = False) -> None:
        """Put sums in the place of what stands for them, for some threads."""
        for number, which, threads in self._marks(values, some):
            product = self._products[number]
            if not also_pending:
                threads &= ~product.pending
            values[threads] = product.sums[which][threads]

    def _marks(self, values: Array, some: Array) -> list[tuple[int, int, Array]]:
        bits = values.view(np.uint32)
        is_mark = some & (bits & ~np.uint32(_PAYLOAD) == _NAN) & (bits & _PAYLOAD != 0)
        found: list[tuple[int, int, Array]] = []
        for mark in np.unique(bits[is_mark]).tolist():
            number, which = (mark & _PAYLOAD) >> _SUM_BITS, mark & (1 << _SUM_BITS) - 1
            product = self._products.get(number)
            if product is not None and which < len(product.sums):
                found.append((number, which, is_mark & (bits == mark)))
        return found

    def require_complete(self, op: Operation, values: Array, mask: Mask) -> None:
        """Raise SimulationError for a sum of a product that was not waited for."""
        if not self._products or values.dtype != np.float32:
            return
        some = np.ones(self.count, np.bool_) if mask is None else mask
        values = np.ascontiguousarray(np.broadcast_to(values, (self.count,)))
        for _, _, threads in self._marks(values, some):
            thread = int(np.flatnonzero(threads)[0])
            raise SimulationError(
                f"{op.name}: a sum of a product of the warpgroup is used by thread "
                f"{thread} of the team before its group was waited for",
                op,
            )
