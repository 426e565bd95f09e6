"""Nests that follow each other and share rows become one loop over the rows.

A row of what one nest writes is then read by the next while it is in the cache, and
memory between them shrinks to a row when `CompactBufferAllocation` runs.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl_tvm.analysis.arith.expr import Expr, Value
from xdsl_tvm.passes.tir._loops.loop_nest import Axis, Nest


def shared_rows(nests: Sequence[Nest]) -> int:
    """How many of the outer loops of the nests can be one.

    They can where they have the same extents, and where different rows share nothing that
    a nest writes: each buffer that one of them writes has a dimension that all accesses,
    in all nests, index by the variable of that loop alone.
    """
    if not _is_connected(nests) or all(len(nest.axes) == 1 for nest in nests):
        return 0
    depth = min(max(1, len(nest.axes) - 1) for nest in nests)
    depth = _separated_rows(nests, depth)
    # One row is no loop, in which threads could share the work.
    return depth if any(axis.size != 1 for axis in nests[0].axes[:depth]) else 0


def _separated_rows(nests: Sequence[Nest], depth: int) -> int:
    """How many of so many outer loops can be one."""
    for level in range(depth):
        axes = [nest.axes[level] for nest in nests]
        if any(axis.extent is not axes[0].extent for axis in axes):
            return level
        if not are_separated(nests, axes):
            return level
    return depth


def _is_connected(nests: Sequence[Nest]) -> bool:
    """Whether the last nest accesses what the others write, or the other way round."""
    *others, last = nests
    mine = {access.buffer for access in last.accesses}
    return any(
        not mine.isdisjoint(nest.written)
        or not last.written.isdisjoint(access.buffer for access in nest.accesses)
        for nest in others
    )


def are_separated(nests: Sequence[Nest], axes: Sequence[Axis]) -> bool:
    """Whether no two values of the axes, one of each nest, meet at a place written."""
    written = {buffer for nest in nests for buffer in nest.written}
    dimensions: dict[object, set[int]] = {}
    for nest, axis in zip(nests, axes, strict=True):
        variable: Expr = Value(axis.variable)
        for access in nest.accesses:
            if access.buffer not in written:
                continue
            mine = {
                number for number, index in enumerate(access.indices) if index is variable
            }
            known = dimensions.setdefault(access.buffer, mine)
            dimensions[access.buffer] = known & mine
    return all(dimensions.values())
