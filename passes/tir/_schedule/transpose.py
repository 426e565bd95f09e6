"""Copies that swap the axis along which elements are neighbours."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl_tvm.dialects import tir
from xdsl_tvm.passes.tir._loops.loop_nest import Access, Axis, Nest
from xdsl_tvm.passes.tir._schedule.maps import is_map


@dataclass(frozen=True)
class Transpose:
    """A copy whose stores lie along `stored`, and whose loads lie along `loaded`."""

    nest: Nest
    load: Access
    store: Access
    stored: Axis
    loaded: Axis


def match_transpose(nest: Nest) -> Transpose | None:
    """The nest as a copy of that kind, if it is one."""
    if not is_map(nest) or len(nest.accesses) != 2:
        return None
    load, store = sorted(nest.accesses, key=lambda access: access.writes)
    if not isinstance(store.op, tir.StoreOp) or store.op.value not in load.op.results:
        return None
    if load.buffer is store.buffer:
        return None
    # Vectors are accessed by the last index, so that dimension is to be wide.
    if any(a.indices[-1:] != a.wide_indices[-1:] for a in (load, store)):
        return None
    stored = [axis for axis in nest.axes if store.step(axis) == 1]
    loaded = [axis for axis in nest.axes if load.step(axis) == 1]
    if len(stored) != 1 or len(loaded) != 1 or stored == loaded:
        return None
    return Transpose(nest, load, store, stored[0], loaded[0])
