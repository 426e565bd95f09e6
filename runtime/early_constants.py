"""Parameters that are copied to attributes while modules are imported and read."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import Future
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr

from xdsl_tvm.dialects.relax.dense import dense_of
from xdsl_tvm.runtime.early_work import EarlyWork

_LARGE = 1 << 20
"""Bytes of an array that is copied without the interpreter's lock."""


class EarlyConstants:
    """Values for parameters, of which threads copy large arrays to attributes."""

    def __init__(self, params: Mapping[str | int, Any], work: EarlyWork) -> None:
        self._params = params
        self._begun: dict[str | int, Future[DenseIntOrFPElementsAttr]] = {}
        for key, value in params.items():
            if not isinstance(value, np.ndarray):
                continue
            array = cast("np.ndarray[Any, Any]", value)
            if array.nbytes >= _LARGE:
                future = work.begin(dense_of, array)
                if future is not None:
                    self._begun[key] = future

    def __bool__(self) -> bool:
        """Whether there is anything to wait for."""
        return bool(self._begun)

    def values(self) -> dict[str | int, Any]:
        """The parameters: attributes as far as there are, and else what was given.

        What threads have not begun is left out, and so is what has no attribute.
        """
        found = dict(self._params)
        for key, future in reversed(self._begun.items()):
            if not future.cancel() and future.exception() is None:
                found[key] = future.result()
        return found
