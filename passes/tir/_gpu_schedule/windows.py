"""The GPU schedule of reductions over small windows, as of depthwise convolutions and of
pooling.

A thread has neighbouring results, as many as it accesses at once, and all of their terms,
which it reads from the cache again where windows overlap. What pads the image is not in
memory: where a window is outside, there is the number that pads it, such as 0. A map on
the results is done before they are stored, or makes others of them, as narrower ones,
that are stored instead.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import i32
from xdsl.ir import SSAValue

from xdsl_tvm.analysis.arith import smart
from xdsl_tvm.analysis.arith.expr import Add, Expr, Value
from xdsl_tvm.analysis.arith.linear_equation import mentions
from xdsl_tvm.dialects import tir
from xdsl_tvm.passes.tir._gpu_schedule.allreduce import (
    Accumulator,
    accumulator,
    match_combined,
)
from xdsl_tvm.passes.tir._gpu_schedule.device import (
    ENOUGH_BLOCKS,
    WARP,
    Device,
    ceildiv,
    in_range,
    kernel,
    name_of,
    threads_for,
)
from xdsl_tvm.passes.tir._gpu_schedule.results import each_lane, write_results
from xdsl_tvm.passes.tir._loops.loop_nest import Access, Axis, Nest, Point
from xdsl_tvm.passes.tir._schedule.axes import points, product_of, split_index
from xdsl_tvm.passes.tir._schedule.contraction import (
    Contraction,
    with_last_map,
    with_map,
)
from xdsl_tvm.passes.tir._schedule.padding import Padding, match_padding
from xdsl_tvm.passes.tir._schedule.reduction import Reduction
from xdsl_tvm.passes.tir.rewriting.loop_code import LoopCode

_MOST_TERMS = 64
"""The most elements of a window: they are unrolled."""
_LEAST_RESULTS = ENOUGH_BLOCKS * WARP
"""With fewer results, threads share the terms of each."""


@dataclass(frozen=True)
class Windows:
    """A reduction over windows, with padding before it and a map after it."""

    found: Contraction
    """The reduction as sums of columns alone; its operands say nothing."""
    padding: Padding | None

    @property
    def reduction(self) -> Reduction:
        return self.found.reduction

    @property
    def nests(self) -> list[Nest]:
        """The reduction, and the map after it."""
        after = self.found.epilogue
        return [self.found.nest, *([] if after is None else [after])]


def match_windows(group: Sequence[Nest]) -> Windows | None:
    """Nests as a reduction over windows, if they are that."""
    padding = match_padding(group[0]) if len(group) > 1 else None
    first, *others = group if padding is None else group[1:]
    reduction = match_combined(first)
    if reduction is None or len(others) > 1:
        return None
    # A kernel less is worth more than threads that share terms.
    if not _has_windows(reduction, 0 if padding is not None else _LEAST_RESULTS):
        return None
    term, columns = reduction.term, _wide(first.spatial)[-1:]
    found = Contraction(reduction, term, term, (), (), columns)
    if padding is not None and not _is_padding_of(padding, reduction):
        return None
    if not others:
        return Windows(found, padding)
    if reduction.combiner is not Add:
        return None
    with_after = with_map(found, others[0]) or with_last_map(found, others[0])
    return None if with_after is None else Windows(with_after, padding)


def _wide(axes: Sequence[Axis]) -> tuple[Axis, ...]:
    return tuple(axis for axis in axes if axis.size != 1) or tuple(axes[-1:])


def _has_windows(found: Reduction, least_results: int) -> bool:
    """Whether few terms are at places that move with the results, of which are many."""
    nest = found.nest
    terms = smart.literal(product_of([axis.extent for axis in nest.carried]))
    if not nest.spatial or terms is None or terms > _MOST_TERMS:
        return False
    if any(axis.size is None for axis in _wide(nest.spatial)[1:]):
        # Quotients by symbols would not be proved to be apart.
        return False
    results = smart.literal(product_of([axis.extent for axis in nest.spatial]))
    if results is not None and results < least_results:
        return False
    own = [Value(axis.variable) for axis in nest.spatial]
    carried = [Value(axis.variable) for axis in nest.carried if axis.size != 1]
    return any(
        mentions(index, *own) and mentions(index, *carried)
        for access in nest.accesses
        for index in access.indices
    )


def _is_padding_of(padding: Padding, found: Reduction) -> bool:
    nest = found.nest
    reads = [each for each in nest.accesses if each.buffer is padding.buffer]
    is_apart = found.result.buffer is not padding.load.buffer
    return len(reads) == 1 and is_apart and padding.is_read_only_by(nest)


def schedule_windows(code: LoopCode, found: Windows, device: Device) -> None:
    """Write them as a kernel."""
    nest = found.reduction.nest
    axes = _wide(nest.spatial)
    others = [axis for axis in nest.spatial if axis not in axes]
    fixed = {axis.variable: smart.const(0, axis.variable.type) for axis in others}
    lanes = _lanes(found, axes[-1], device)
    *outer, inner = [axis.extent for axis in axes]
    width = smart.const(lanes, inner.dtype)
    extents = [*outer, smart.floordiv(inner, width)]
    total = product_of(extents)
    threads = threads_for(total, device.threads)
    with (
        kernel(code, ceildiv(total, threads), threads) as (block, _, thread),
        code.block(name_of(found.nests)),
    ):
        unit = smart.add(smart.mul(block, smart.const(threads, total.dtype)), thread)
        with code.when(in_range(unit, total, threads)):
            *before, last = split_index(unit, extents)
            first = smart.mul(last, width)

            def here(lane: Expr) -> Point:
                place = smart.add(first, smart.cast(first.dtype, lane))
                return {**fixed, **points(axes, [*before, place])}

            own = accumulator(code, found.reduction, lanes)
            own.begin()
            _add_terms(code, found, own, here)
            _store(code, found, own, here)


def _lanes(found: Windows, column: Axis, device: Device) -> int:
    """How many neighbouring results a thread has: all of their terms are neighbours."""
    if found.padding is not None and found.padding.is_along_last:
        return 1
    nest, variable = found.reduction.nest, Value(column.variable)
    is_aligned = all(
        access.step(column) == 0 or _last_index(access) is variable
        for access in nest.accesses
    )
    return device.lanes([nest], column) if is_aligned else 1


def _last_index(access: Access) -> Expr | None:
    """That of the last dimension of more than one element."""
    shape = tir.buffer_definition(access.buffer).shape
    pairs = zip(access.indices, shape, strict=True)
    wide = [index for index, extent in pairs if extent != 1]
    return wide[-1] if wide else None


def _add_terms(
    code: LoopCode, found: Windows, own: Accumulator, here: Callable[[Expr], Point]
) -> None:
    nest, term = found.reduction.nest, found.reduction.term
    extents = [axis.extent for axis in nest.carried]
    with code.unrolled("k", product_of(extents)) as number:
        at = points(nest.carried, split_index(number, extents))
        padded = None
        if found.padding is not None:
            padded = _padded(code, found.padding, nest, own.lanes, here, at)
        with each_lane(code, own.lanes) as lane:
            redirected = None if padded is None else {padded[0]: (padded[1], (lane,))}
            value = nest.value_at(code, term, {**here(lane), **at}, redirected)
            own.add(value, lane)


def _padded(
    code: LoopCode,
    padding: Padding,
    nest: Nest,
    lanes: int,
    here: Callable[[Expr], Point],
    at: Point,
) -> tuple[SSAValue, SSAValue]:
    """The padded buffer, and memory of a thread with its elements of a term."""
    (read,) = (each for each in nest.accesses if each.buffer is padding.buffer)
    dtype = tir.buffer_definition(padding.buffer).type.element_type
    elements = code.alloc("padded", [lanes], dtype, "local")

    def indices(lane: Expr) -> list[Expr]:
        return [nest.tree_at(index, {**here(lane), **at}) for index in read.indices]

    inside = padding.is_inside(indices(smart.const(0, i32)))
    with code.when(inside), each_lane(code, lanes) as lane:
        buffer, place = padding.element(indices(lane))
        code.store(code.load(buffer, *place), elements, lane)
    if smart.literal(inside) != 1:
        with code.otherwise(inside), each_lane(code, lanes) as lane:
            code.store(padding.fill, elements, lane)
    return padding.buffer, elements


def _store(
    code: LoopCode, found: Windows, own: Accumulator, here: Callable[[Expr], Point]
) -> None:
    def total(lane: Expr) -> Expr:
        return code.load(own.buffer, lane)

    if found.reduction.combiner is Add:
        write_results(code, found.found, own.lanes, i32, here, total)
        return
    with each_lane(code, own.lanes) as lane:
        own.store(found.reduction, here(lane), total(lane))
