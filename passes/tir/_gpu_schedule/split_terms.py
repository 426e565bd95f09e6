"""Products whose terms are split over several blocks.

Where results have fewer tiles than the GPU has multiprocessors, several blocks add up
different terms of the same tile. Each stores its sums in memory of its own, and a second
kernel adds them in a fixed order, so that results do not depend on which block is first.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

from xdsl.ir import SSAValue

from xdsl_tvm.analysis.arith import smart
from xdsl_tvm.analysis.arith.expr import Expr, Value
from xdsl_tvm.dialects import tir
from xdsl_tvm.passes.tir._gpu_schedule.allreduce import accumulated_type
from xdsl_tvm.passes.tir._gpu_schedule.device import (
    Device,
    ceildiv,
    in_range,
    kernel,
    name_of,
    threads_for,
)
from xdsl_tvm.passes.tir._gpu_schedule.results import each_lane, write_results
from xdsl_tvm.passes.tir._loops.loop_nest import Axis, Point
from xdsl_tvm.passes.tir._schedule.axes import points, product_of, split_index
from xdsl_tvm.passes.tir._schedule.contraction import Contraction
from xdsl_tvm.passes.tir.rewriting.loop_code import LoopCode

_MOST_SPLITS = 32


def number_of_splits(device: Device, blocks: Expr, steps: Expr, least: int) -> int:
    """Over how many blocks the terms of a result are split: a divisor of the steps.

    As many as the device says, or else as fill it, each with `least` steps; 1 where
    extents are symbolic.
    """
    count, size = smart.literal(blocks), smart.literal(steps)
    if count is None or size is None:
        return 1
    return splits_within(device, int(count), int(size), least)


def splits_within(device: Device, blocks: int, steps: int, least: int) -> int:
    """The same for known numbers of blocks and steps."""
    most = device.splits
    if most is None:
        most = min(device.multiprocessors // max(blocks, 1), steps // least, _MOST_SPLITS)
    return max((n for n in range(1, most + 1) if steps % n == 0), default=1)


@dataclass(frozen=True)
class PartialSums:
    """Sums of some terms of all results, in memory, and the kernel that adds them."""

    code: LoopCode
    found: Contraction
    device: Device
    buffer: SSAValue
    """Sums of a split are a row; its elements are in the order of `axes`."""
    splits: int

    @cached_property
    def axes(self) -> tuple[Axis, ...]:
        return _axes(self.found)

    def store(
        self, split: Expr, lanes: int, point: Point, total_of: Callable[[Expr], Expr]
    ) -> None:
        """Store the sums of a split at a point, and of its neighbours along columns."""
        first, *others = self.axes
        flat = point[first.variable]
        for axis in others:
            flat = smart.add(smart.mul(flat, axis.extent), point[axis.variable])
        with each_lane(self.code, lanes, flat.dtype) as lane:
            place = smart.add(flat, lane)
            self.code.store(total_of(lane), self.buffer, split, place)

    def write_kernel(self) -> None:
        """The kernel that adds the sums of all splits, and does the map on results."""
        code, found, device, lanes = self.code, self.found, self.device, self._lanes
        extents = [axis.extent for axis in self.axes]
        width = smart.const(lanes, extents[-1].dtype)
        total = product_of([*extents[:-1], smart.floordiv(extents[-1], width)])
        threads = threads_for(total, device.threads)
        with (
            kernel(code, ceildiv(total, threads), threads) as (block, _, thread),
            code.block(name_of([found.epilogue or found.nest])),
        ):
            unit = smart.add(smart.mul(block, smart.const(threads, total.dtype)), thread)
            first = smart.mul(unit, smart.const(lanes, total.dtype))
            *outer, last = split_index(
                unit, [*extents[:-1], smart.floordiv(extents[-1], width)]
            )

            def point(lane: Expr) -> Point:
                place = smart.add(smart.mul(last, width), lane)
                return points(self.axes, [*outer, place])

            def added(lane: Expr) -> Expr:
                place = smart.add(first, smart.cast(first.dtype, lane))
                rows = (smart.const(n, first.dtype) for n in range(self.splits))
                sums = [code.load(self.buffer, row, place) for row in rows]
                result = sums[0]
                for each in sums[1:]:
                    result = smart.add(result, each)
                return result

            with code.when(in_range(unit, total, threads)):
                write_results(code, found, lanes, width.dtype, point, added)

    @property
    def _lanes(self) -> int:
        """How many neighbours a thread adds: where they are next to each other."""
        axis, result = self.axes[-1], self.found.reduction.result
        if axis.size is None or result.indices[-1] is not Value(axis.variable):
            return 1
        size = tir.bytes_of_lane(accumulated_type(self.found.reduction.dtype))
        lanes = max(self.device.vector_bytes // size, 1)
        while axis.size % lanes:
            lanes //= 2
        return lanes


def _axes(found: Contraction) -> tuple[Axis, ...]:
    return (*found.batch, *found.rows, *found.columns)


def partial_sums(
    code: LoopCode, found: Contraction, device: Device, splits: int
) -> PartialSums | None:
    """Memory for the sums of so many splits; None for one, which stores results."""
    if splits == 1:
        return None
    size = product_of([axis.extent for axis in _axes(found)])
    count = smart.literal(size)
    assert count is not None
    dtype = accumulated_type(found.reduction.dtype)
    name = found.nest.block.block_name.data or "product"
    buffer = code.alloc(f"{name}_partial", [splits, int(count)], dtype, "global")
    return PartialSums(code, found, device, buffer, splits)


def block_name(found: Contraction, partial: PartialSums | None) -> str:
    """The name of the block that adds terms; that of the nest is the block of results."""
    name = name_of([found.epilogue or found.nest])
    return name if partial is None else f"{name}_partial"
