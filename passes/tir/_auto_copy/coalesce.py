"""Copies between global and shared memory: neighbouring threads take neighbours."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod

from xdsl.dialects.builtin import i32

from xdsl_tvm.analysis.arith import smart
from xdsl_tvm.analysis.arith.expr import Expr
from xdsl_tvm.analysis.arith.iter_forms import IterSumExpr, is_literal
from xdsl_tvm.analysis.arith.iter_subspace import inverse_affine_iter_map
from xdsl_tvm.dialects import tir
from xdsl_tvm.passes.tir._auto_copy.nest import (
    Loop,
    Nest,
    analyzer_of,
    common_dtype,
)


def inverted(nest: Nest, found: Sequence[IterSumExpr]) -> Nest:
    """The nest in the order of what it stores to, if that is a box without gaps.

    `found` are the indices of the store as iterator maps (`store_map`).
    """
    parts = [total.args[0] for total in found if total.args]
    sizes = [smart.literal(part.extent) for part in parts]
    whole = all(is_literal(part.scale, 1) for part in parts)
    if not whole or prod(int(size or 0) for size in sizes) != nest.size:
        return nest
    dtype = common_dtype(nest.loops, nest.size)
    names = [loop.name for loop in nest.loops]
    loops = [
        Loop(int(size or 0), dtype, f"{names[min(at, len(names) - 1)]}_inverse")
        for at, size in enumerate(sizes)
    ]
    remaining = iter(loops)
    indices = [
        smart.add(total.base, smart.cast(total.base.dtype, next(remaining).leaf))
        if total.args
        else total.base
        for total in found
    ]
    inverse = inverse_affine_iter_map(found, indices, analyzer_of(loops))
    # Loops that run once are in no map.
    values = {
        loop.leaf: smart.cast(loop.dtype, inverse.get(loop.leaf, smart.const(0, i32)))
        for loop in nest.loops
    }
    return replace(nest.changed(loops, values), indices=tuple(indices))


def coalesced(nest: Nest, axes: Sequence[tuple[str, int]], lanes: int) -> Nest:
    """The nest as one loop that is spread over thread axes and vector lanes.

    Iteration `((k * z + tz) * y + ty) * ... * lanes + lane` of all is done by the threads
    `tz`, `ty`... in the iteration `k` of a serial loop, in a lane of a vectorized loop.
    """
    size = nest.size
    step = prod(extent for _, extent in axes) * lanes
    count = -(-size // step)
    dtype = common_dtype(nest.loops, count * step)
    name = "_".join(loop.name for loop in nest.loops) or "copy"
    if len(nest.loops) > 1:
        name += "_fused"
    kind = tir.ForKind.THREAD_BINDING
    loops = [
        Loop(count, dtype, f"{name}_0"),
        *(
            Loop(extent, dtype, f"{name}_{at}", kind, tag)
            for at, (tag, extent) in enumerate(axes, 1)
        ),
        Loop(lanes, dtype, f"{name}_{len(axes) + 1}", tir.ForKind.VECTORIZED),
    ]
    fused: Expr = smart.const(0, dtype)
    for loop in loops:
        fused = smart.add(smart.mul(fused, loop.extent), loop.leaf)
    guard = None if count * step == size else smart.lt(fused, size)
    return replace(nest.changed(loops, _digits(nest.loops, fused)), guard=guard)


def _digits(loops: Sequence[Loop], fused: Expr) -> dict[Expr, Expr]:
    """The variables of fused loops, in terms of the number of the iteration."""
    values: dict[Expr, Expr] = {}
    rest = fused
    for loop in reversed(loops):
        digit = smart.floormod(rest, loop.extent)
        values[loop.leaf] = smart.cast(loop.dtype, digit)
        rest = smart.floordiv(rest, loop.extent)
    return values
