"""The GPU schedule of maps: nests whose iterations are independent of each other.

All axes are one, and each thread has the elements of one access: as many neighbours as
`vector_bytes` hold along the innermost axis where its extent is a multiple of that, or
along all axes where each buffer is walked in the order of memory; else one. What is left
over of the latter has a thread of its own, and only the last block asks whether its
threads have elements.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl_tvm.analysis.arith import smart
from xdsl_tvm.analysis.arith.expr import Expr
from xdsl_tvm.dialects import tir
from xdsl_tvm.passes.tir._gpu_schedule.device import (
    Device,
    ceildiv,
    in_range,
    is_multiple,
    kernel,
    name_of,
    threads_for,
)
from xdsl_tvm.passes.tir._loops.loop_nest import Axis, Nest
from xdsl_tvm.passes.tir._schedule.axes import points, product_of, split_index
from xdsl_tvm.passes.tir._schedule.maps import is_lazy, is_walked_in_order
from xdsl_tvm.passes.tir.rewriting.loop_code import LoopCode


def schedule_map(code: LoopCode, nest: Nest, device: Device) -> None:
    """Write a map as a kernel."""
    axes = [axis for axis in nest.axes if axis.size != 1] or [nest.axes[-1]]
    fixed = {
        axis.variable: smart.const(0, axis.variable.type)
        for axis in nest.axes
        if axis not in axes
    }

    def write_at(values: Sequence[Expr]) -> None:
        nest.write_body(code, {**fixed, **points(axes, values)})

    lanes = device.lanes([nest], axes[-1])
    if lanes == 1 and not is_lazy(nest) and is_walked_in_order(nest):
        lanes = device.lanes_of(nest)
        _write_in_order(code, nest, axes, lanes, device, write_at)
    else:
        _write_steps(code, nest, axes, lanes, device, write_at)


def _write_steps(
    code: LoopCode,
    nest: Nest,
    axes: Sequence[Axis],
    lanes: int,
    device: Device,
    write_at: Callable[[Sequence[Expr]], None],
) -> None:
    """A thread for each stretch of `lanes` neighbours along the last axis."""
    *outer, inner = [axis.extent for axis in axes]
    width = smart.const(lanes, inner.dtype)
    extents = [*outer, smart.floordiv(inner, width)]
    total = product_of(extents)
    threads = threads_for(total, device.threads)
    with (
        kernel(code, ceildiv(total, threads), threads) as (block, _, thread),
        code.block(name_of([nest])),
    ):
        unit = smart.add(smart.mul(block, smart.const(threads, total.dtype)), thread)
        with code.when(in_range(unit, total, threads)):
            *before, last = split_index(unit, extents)
            if lanes == 1:
                write_at([*before, last])
                return
            with code.loop("v", width, tir.ForKind.VECTORIZED) as lane:
                write_at([*before, smart.add(smart.mul(last, width), lane)])


def _write_in_order(
    code: LoopCode,
    nest: Nest,
    axes: Sequence[Axis],
    lanes: int,
    device: Device,
    write_at: Callable[[Sequence[Expr]], None],
) -> None:
    """A thread for each stretch of `lanes` elements in the order of memory."""
    extents = [axis.extent for axis in axes]
    total = product_of(extents)
    units = ceildiv(total, lanes)
    threads = threads_for(units, device.threads)
    width = smart.const(lanes, total.dtype)
    whole = smart.floordiv(total, width)
    with (
        kernel(code, ceildiv(units, threads), threads) as (block, _, thread),
        code.block(name_of([nest])),
    ):
        unit = smart.add(smart.mul(block, smart.const(threads, total.dtype)), thread)
        first = smart.mul(unit, width)
        has_rest = not is_multiple(total, lanes)
        # There is a thread more than whole units where lanes are left over.
        inside = smart.lt(unit, whole) if has_rest else in_range(unit, whole, threads)
        if lanes == 1:
            with code.when(in_range(unit, units, threads)):
                write_at(split_index(unit, extents))
            return
        with (
            code.when(inside),
            code.loop("v", width, tir.ForKind.VECTORIZED) as lane,
        ):
            write_at(split_index(smart.add(first, lane), extents))
        if has_rest:
            rest = smart.floormod(total, width)
            with code.when(smart.eq(unit, whole)), code.loop("t", rest) as lane:
                write_at(split_index(smart.add(first, lane), extents))
