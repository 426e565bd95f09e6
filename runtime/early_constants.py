"""Parameters that become attributes while modules are imported and read."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from concurrent.futures import Future
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr
from xdsl.utils.exceptions import VerifyException

from xdsl_tvm.dialects.in_threads import map_in_threads
from xdsl_tvm.dialects.relax.dense import dense_of
from xdsl_tvm.runtime.constant_memory import ReservedMemory
from xdsl_tvm.runtime.early_work import EarlyWork

_LARGE = 1 << 20
"""Bytes of an array that is copied without the interpreter's lock."""

_Array = np.ndarray[Any, Any]


class EarlyConstants:
    """Values for parameters, of which threads copy large arrays to attributes.

    Their elements are written to `memory`, as far as it has any. Code does not read those
    of `rewritten` where they are.
    """

    def __init__(
        self,
        params: Mapping[str | int, Any],
        work: EarlyWork,
        memory: ReservedMemory,
        rewritten: Collection[str | int] = (),
    ) -> None:
        self._params = params
        self._begun: dict[str | int, Future[DenseIntOrFPElementsAttr | None]] = {}
        self._left: dict[str | int, tuple[_Array, memoryview | None]] = {}
        arrays = {
            key: cast("_Array", value)
            for key, value in params.items()
            if isinstance(value, np.ndarray) and value.nbytes >= _LARGE
        }
        for is_read in (True, False):
            keys = [key for key in arrays if (key not in rewritten) == is_read]
            sizes = [arrays[key].nbytes for key in keys]
            places = memory.places(sizes, is_read_often=is_read)
            self._left.update(
                (key, (arrays[key], place))
                for key, place in zip(keys, places, strict=True)
            )
        for key, item in self._left.items():
            future = work.begin(_dense, item)
            if future is not None:
                self._begun[key] = future

    def __bool__(self) -> bool:
        """Whether there is anything to wait for."""
        return bool(self._begun)

    def values(self) -> dict[str | int, Any]:
        """The parameters: attributes as far as they have one, and else what was given."""
        found = dict(self._params)
        # Of what threads have not begun, all do a part.
        left = dict(self._left)
        for key, future in reversed(self._begun.items()):
            if not future.cancel():
                del left[key]
        size = sum(array.nbytes for array, _ in left.values())
        made = dict(
            zip(left, map_in_threads(_dense, list(left.values()), size), strict=True)
        )
        for key, future in self._begun.items():
            if key not in left:
                made[key] = future.result()
        found.update((key, dense) for key, dense in made.items() if dense is not None)
        return found


def _dense(item: tuple[_Array, memoryview | None]) -> DenseIntOrFPElementsAttr | None:
    """An array as an attribute; None if there is no attribute for its dtype.

    That is an error of whoever binds it.
    """
    try:
        return dense_of(*item)
    except VerifyException:
        return None
