"""Arguments that share elements: finding them, and the form of a module that allows them.

Schedules and vectorized code rely on the buffers of different parameters being different
memory. Without `tir.noalias` a function does not promise that, so a call whose arguments
overlap runs code in which every iteration sees what the one before it has written.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp

from xdsl_tvm.dialects import tir
from xdsl_tvm.passes.tir.convert_for_loops_to_serial import ConvertForLoopsToSerial
from xdsl_tvm.registry import new_context
from xdsl_tvm.runtime.signature import ArraySpec, ShapeSpec, Signature

_FEW_PAIRS = 6


def share_elements(a: Any, b: Any) -> bool:
    """Whether two numpy arrays share elements, or may, where that is hard to say."""
    if not np.may_share_memory(a, b):
        return False
    # numpy's stubs know two of the bounds only.
    exact: Any = np.shares_memory
    try:
        return exact(a, b, max_work=10_000)
    except RuntimeError:
        # numpy calls it too hard: two layouts that interleave in an intricate way.
        return True


class OverlapCheck:
    """Finds arrays of one call that share elements, of which one is written.

    It is made once for a signature; `needed` says whether it can find anything.
    """

    def __init__(
        self,
        signature: Signature,
        shared: Callable[[Any, Any], bool] = share_elements,
    ) -> None:
        self.signature = signature
        self._shared = shared
        slots = _slots(signature)
        params = signature.params
        arrays = [(i, s) for i, s in enumerate(params) if isinstance(s, ArraySpec)]
        self._pairs = [
            (first, second, slots[first], slots[second], _is_dense(a) and _is_dense(b))
            for number, (first, a) in enumerate(arrays)
            for second, b in arrays[number + 1 :]
            if a.written or b.written
        ]
        self.arrays = [(i, slots[i]) for i, _ in arrays]
        """The parameters that are arrays, and where their addresses are."""
        self._is_sorted = len(self._pairs) > _FEW_PAIRS and all(
            _is_dense(spec) for _, spec in arrays
        )

    @property
    def needed(self) -> bool:
        return bool(self._pairs)

    def __call__(
        self, params: Sequence[Any], values: Sequence[Any]
    ) -> tuple[str, str] | None:
        """The names of two parameters whose arrays overlap, if there are such.

        `params` are checked arguments, and `values` what is passed to the compiled
        function for them: for an array its address.
        """
        if self._is_sorted and self._are_apart(params, values):
            return None
        for first, second, a, b, is_dense in self._pairs:
            if is_dense:
                # The usual case, at every call: a comparison of address ranges.
                x, y = values[a], values[b]
                if y >= x + params[first].nbytes or x >= y + params[second].nbytes:
                    continue
            if self._shared(params[first], params[second]):
                return self._names(first, second)
        return None

    def find(self, params: Sequence[Any]) -> tuple[str, str] | None:
        """The same, where no addresses are known."""
        for first, second, *_ in self._pairs:
            if self._shared(params[first], params[second]):
                return self._names(first, second)
        return None

    def _names(self, first: int, second: int) -> tuple[str, str]:
        params = self.signature.params
        return params[first].name, params[second].name

    def _are_apart(self, params: Sequence[Any], values: Sequence[Any]) -> bool:
        """Whether no two arrays overlap, written or not."""
        ranges = sorted((values[slot], params[i].nbytes) for i, slot in self.arrays)
        end = 0
        for start, size in ranges:
            if start < end:
                return False
            end = start + size
        return True

    def error(self, overlapping: tuple[str, str], other_way: str = "") -> ValueError:
        """What to raise for arguments that must not overlap."""
        first, second = overlapping
        return ValueError(
            f"@{self.signature.function}: arguments '{first}' and '{second}' must not "
            f"overlap; pass a copy of one{other_way}"
        )


def _is_dense(spec: ArraySpec) -> bool:
    return spec.strides is None


def _slots(signature: Signature) -> list[int]:
    """Where among the passed values those of each parameter begin."""
    slots: list[int] = []
    count = 0
    for spec in signature.params:
        slots.append(count)
        count += len(spec.shape) if isinstance(spec, ShapeSpec) else 1
    return slots


def allow_overlap(module: ModuleOp) -> None:
    """Edits a module such that compiled code without schedules allows overlapping arrays.

    Parallel loops run in order, and no TIR function promises `tir.noalias`.
    """
    ConvertForLoopsToSerial().apply(new_context(), module)
    for op in module.walk():
        if isinstance(op, tir.FuncOp):
            op.attributes.pop("tir.noalias", None)
