"""The default schedule of reductions: sums, products, least and greatest elements.

Where the terms are next to each other along a reduction axis, several vectors gather
partial results, which are combined at the end: this changes the order in which floats
are added. The terms of a single result, or of a few, are divided into a fixed number of
parts for several threads. Where they are next to each other along a spatial axis, a
stretch of results is updated row by row, in the order of the program. Other results are
computed one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from math import prod

from xdsl.ir import SSAValue

from xdsl_tvm.analysis.all_ops import all_ops
from xdsl_tvm.analysis.arith import smart
from xdsl_tvm.analysis.arith.expr import (
    Expr,
    Max,
    Min,
)
from xdsl_tvm.dialects import tir
from xdsl_tvm.passes.tir._cpu_schedule.elementwise import lanes_of_nest, write_lanes
from xdsl_tvm.passes.tir._cpu_schedule.options import Machine, kind_of
from xdsl_tvm.passes.tir._loops.loop_nest import Axis, Point
from xdsl_tvm.passes.tir._schedule.axes import fused_loop, is_not_empty, loops_over
from xdsl_tvm.passes.tir._schedule.reduction import Reduction, has_rows, identity
from xdsl_tvm.passes.tir.rewriting.loop_code import LoopCode

_PARTIAL_VECTORS = 4
"""Vectors of partial results, so that one need not wait for the one before."""
_ROWS = 8
"""Rows that are added to a stretch of results at once."""
_STRETCHES = 4
"""Stretches at least, for several threads."""
_STRETCH_BYTES = 8192
_PARTS = 16
"""Parts of the terms of one result, for several threads."""
_APART = 16
"""Elements from the result of one part to the next: they share no line of the cache."""
_FEW_RESULTS = 4
"""So few results are no work for several threads, as long as each is on one."""


def schedule_reduction(
    code: LoopCode, found: Reduction, point: Point, machine: Machine, *, parallel: bool
) -> None:
    """Write a reduction over the axes that `point` leaves open."""
    nest = found.nest
    spatial = [axis for axis in nest.spatial if axis.variable not in point]
    wide = [axis for axis in spatial if axis.size != 1]
    column = wide[-1] if wide else None
    if column is not None and has_rows(found, column):
        outer = [axis for axis in spatial if axis is not column]
        with fused_loop(code, outer, kind_of(parallel)) as outer_point:
            here = {**point, **outer_point}
            _write_columns(
                code, found, column, here, machine, parallel=parallel and len(wide) == 1
            )
        return
    if is_gathered(found, machine):
        in_parts = parallel and _are_few(wide)
        kind = kind_of(parallel and not in_parts)
        with fused_loop(code, spatial, kind) as outer_point:
            here = {**point, **outer_point}
            with code.when(is_not_empty(nest.carried)):
                if in_parts:
                    _write_parts(code, found, here, machine)
                else:
                    nest.write_init(code, here)
                    _write_partial(code, found, here, machine)
        return
    # The last axis stays a loop of its own: in it, steps of operands are constant.
    inner = wide[-1:] if len(wide) > 1 else []
    outer = [axis for axis in spatial if axis not in inner]
    with (
        fused_loop(code, outer, kind_of(parallel)) as outer_point,
        fused_loop(code, inner, tir.ForKind.SERIAL) as inner_point,
    ):
        here = {**point, **outer_point, **inner_point}
        with code.when(is_not_empty(nest.carried)):
            nest.write_init(code, here)
            _write_in_order(code, found, here)


def _write_in_order(code: LoopCode, found: Reduction, point: Point) -> None:
    """One result, held in a register while its terms are added in order.

    Left in memory, it would be stored and loaded for each term wherever the compiler
    cannot tell that no operand is the same memory.
    """
    nest = found.nest
    zero = smart.const(0, nest.carried[0].extent.dtype)
    places = [nest.tree_at(index, point) for index in found.result.indices]
    with code.block("result"):
        result = code.alloc("result", [1], found.dtype, "local")
        code.store(code.load(found.result.buffer, *places), result, zero)
        with loops_over(code, nest.carried) as terms:
            before = code.load(result, zero)
            term = nest.value_at(code, found.term, {**point, **terms})
            code.store(found.combiner(before, term), result, zero)
        code.store(code.load(result, zero), found.result.buffer, *places)


# ---- rows of results ----


def _write_columns(
    code: LoopCode,
    found: Reduction,
    column: Axis,
    point: Point,
    machine: Machine,
    *,
    parallel: bool,
) -> None:
    """Stretches of results, each updated by all terms in turn."""
    width = lanes_of_nest(found.nest, machine)
    most = max(_STRETCH_BYTES // tir.bytes_of_lane(found.dtype), width)

    def write(low: Expr | None, length: Expr, lanes: int) -> None:
        _write_stretch(code, found, column, point, low, length, lanes)

    write_stretches(code, column, most, width, write, parallel=parallel)


def write_stretches(
    code: LoopCode,
    column: Axis,
    most: int,
    width: int,
    write: Callable[[Expr | None, Expr, int], None],
    *,
    parallel: bool,
) -> None:
    """Divide an axis into stretches of at most `most` columns, in vectors of `width`.

    `write(low, length, width)` writes one; where they are parallel, there are several.
    """
    stretch, size = most, column.size
    if size is not None:
        part = min(most, -(-size // _STRETCHES)) if parallel else min(most, size)
        stretch = part - part % width
    if stretch == 0:
        write(None, column.extent, 1)
        return
    length = smart.const(stretch, column.extent.dtype)
    whole = smart.floordiv(column.extent, length)
    with code.loop(f"{column.name}.o", whole, kind_of(parallel)) as number:
        write(smart.mul(number, length), length, width)
    rest = smart.floormod(column.extent, length)
    if smart.literal(rest) != 0:
        write(smart.mul(whole, length), rest, width)


def _write_stretch(
    code: LoopCode,
    found: Reduction,
    column: Axis,
    point: Point,
    low: Expr | None,
    length: Expr,
    width: int,
) -> None:
    """All of `length` results from `low` on."""
    nest = found.nest

    def each(write: Callable[[Point], None]) -> None:
        def at(value: Expr) -> None:
            write({**point, column.variable: value})

        def step(start: Expr, lanes: int) -> None:
            write_lanes(code, start, lanes, at)

        code.steps(column.name, length, width, step, low=low)

    with code.when(is_not_empty(nest.carried)):
        if nest.block.init is not None:
            each(lambda here: nest.write_init(code, here))
        *outer, row = nest.carried

        with loops_over(code, outer) as outer_point:

            def write(first: Expr, rows: int) -> None:
                def terms(here: Point) -> None:
                    places = [nest.tree_at(i, here) for i in found.result.indices]
                    total = code.load(found.result.buffer, *places)
                    for k in range(rows):
                        value = smart.add(first, smart.const(k, first.dtype))
                        at = {**here, **outer_point, row.variable: value}
                        term = nest.value_at(code, found.term, at)
                        total = found.combiner(total, term)
                    code.store(total, found.result.buffer, *places)

                each(terms)

            code.steps(row.name, row.extent, _ROWS, write)


# ---- partial results ----


def is_gathered(found: Reduction, machine: Machine) -> bool:
    """Whether terms may be combined in another order, and are next to each other."""
    dtype, nest = found.dtype, found.nest
    row = nest.carried[-1]
    width = lanes_of_nest(nest, machine)
    if width == 1 or (row.size is not None and row.size < 2 * width):
        return False
    if any(isinstance(op, tir.IfThenElseOp) for op in all_ops(nest.block.body)):
        return False
    steps = [a.step(row) for a in nest.accesses if a.buffer is not found.result.buffer]
    if not all(step in (0, 1) for step in steps) or 1 not in steps:
        return False
    if tir.is_float(dtype):
        return machine.reassociate and tir.bits_of_lane(dtype) >= 32
    # Sums of wide signed integers must not overflow, and other orders might.
    wraps = tir.is_uint(dtype) or tir.bits_of_lane(dtype) < 32
    return wraps or found.combiner in (Max, Min)


@dataclass(frozen=True)
class _Part:
    """The terms from `low` on of the first axis, and where their result is kept."""

    low: Expr
    length: Expr
    results: SSAValue | None
    """None for the result of the reduction itself."""
    place: Expr


def _are_few(axes: Sequence[Axis]) -> bool:
    sizes = [axis.size for axis in axes]
    return None not in sizes and prod(size or 1 for size in sizes) < _FEW_RESULTS


def _write_parts(
    code: LoopCode, found: Reduction, point: Point, machine: Machine
) -> None:
    """One result, whose terms several threads share.

    There are as many parts for any number of threads, so that all give the same result.
    """
    nest = found.nest
    first = nest.carried[0]
    dtype = first.extent.dtype
    step = lanes_of_nest(nest, machine) * _PARTIAL_VECTORS
    unit = smart.const(step if len(nest.carried) == 1 else 1, dtype)
    count, apart = smart.const(_PARTS, dtype), smart.const(_APART, dtype)
    length = smart.floordiv(first.extent, smart.mul(count, unit))
    length = smart.mul(length, unit)
    with code.block("parts"):
        results = code.alloc("parts", [_PARTS * _APART], found.dtype, "global")
        with code.loop("part", count, tir.ForKind.PARALLEL) as number:
            low, place = smart.mul(number, length), smart.mul(number, apart)
            code.store(identity(found.combiner, found.dtype), results, place)
            part = _Part(low, length, results, place)
            _write_partial(code, found, point, machine, part)
        nest.write_init(code, point)
        with code.loop("part", count) as number:
            value = code.load(results, smart.mul(number, apart))
            _combine(code, found, point, value, None)
    done = smart.mul(count, length)
    rest = smart.sub(first.extent, done)
    if smart.literal(rest) != 0:
        part = _Part(done, rest, None, smart.const(0, dtype))
        _write_partial(code, found, point, machine, part)


def _write_partial(
    code: LoopCode,
    found: Reduction,
    point: Point,
    machine: Machine,
    part: _Part | None = None,
) -> None:
    """Partial results in lanes, then one of them, then the terms that remain."""
    nest = found.nest
    *outer, row = nest.carried
    width = lanes_of_nest(nest, machine)
    if row.size is None or row.size >= 4 * _PARTIAL_VECTORS * width:
        width *= _PARTIAL_VECTORS
    dtype = row.extent.dtype
    lanes = smart.const(width, dtype)
    low, length = smart.const(0, dtype), row.extent
    rows: AbstractContextManager[Point] = nullcontext({})
    if part is not None and not outer:
        low, length = part.low, part.length
    elif part is not None:
        rows, outer = _rows_of_part(code, outer[0], part), outer[1:]
    whole = smart.floordiv(length, lanes)

    def term_at(here: Point, value: Expr) -> Expr:
        return nest.value_at(code, found.term, {**point, **here, row.variable: value})

    with code.block("partial"):
        partial = code.alloc("partial", [width], found.dtype, "local")
        with code.loop("v", lanes, tir.ForKind.VECTORIZED) as lane:
            code.store(identity(found.combiner, found.dtype), partial, lane)
        with (
            rows as first,
            loops_over(code, outer) as here,
            code.loop(f"{row.name}.o", whole) as step,
            code.loop("v", lanes, tir.ForKind.VECTORIZED) as lane,
        ):
            before = code.load(partial, lane)
            place = smart.add(low, smart.add(smart.mul(step, lanes), lane))
            term = term_at({**first, **here}, place)
            code.store(found.combiner(before, term), partial, lane)
        combine_lanes(code, found, point, partial, width, part)
    done = smart.mul(whole, lanes)
    if part is None:
        combine_rest(code, found, point, done)
    else:
        _combine_rest_of_part(code, found, point, part, done)


@contextmanager
def _rows_of_part(code: LoopCode, axis: Axis, part: _Part) -> Generator[Point]:
    with code.loop(axis.name, part.length, low=part.low) as value:
        yield {axis.variable: value}


def _combine_rest_of_part(
    code: LoopCode, found: Reduction, point: Point, part: _Part, done: Expr
) -> None:
    """Combine the result of a part with the terms after `done` of each of its rows."""
    nest = found.nest
    *outer, row = nest.carried
    rows: AbstractContextManager[Point] = nullcontext({})
    low, length = done, smart.sub(row.extent, done)
    if outer:
        rows, outer = _rows_of_part(code, outer[0], part), outer[1:]
    else:
        low, length = smart.add(part.low, done), smart.sub(part.length, done)
    if smart.literal(length) == 0:
        return
    with (
        rows as first,
        loops_over(code, outer) as here,
        code.loop(f"{row.name}.t", length, low=low) as value,
    ):
        at = {**point, **first, **here, row.variable: value}
        term = nest.value_at(code, found.term, at)
        _combine(code, found, point, term, part)


def _combine(
    code: LoopCode, found: Reduction, point: Point, term: Expr, part: _Part | None
) -> None:
    """Combine a result, or that of a part, with one more term."""
    buffer = found.result.buffer
    places = [found.nest.tree_at(index, point) for index in found.result.indices]
    if part is not None and part.results is not None:
        buffer, places = part.results, [part.place]
    before = code.load(buffer, *places)
    code.store(found.combiner(before, term), buffer, *places)


def combine_lanes(
    code: LoopCode,
    found: Reduction,
    point: Point,
    partial: SSAValue,
    width: int,
    part: _Part | None = None,
) -> None:
    """Halve the partial results until one is left, and combine it with the result."""
    dtype = found.nest.carried[-1].extent.dtype
    while width > 1:
        width //= 2
        half = smart.const(width, dtype)
        kind = tir.ForKind.VECTORIZED if width > 1 else tir.ForKind.SERIAL
        with code.loop("v", half, kind) as lane:
            low = code.load(partial, lane)
            high = code.load(partial, smart.add(lane, half))
            code.store(found.combiner(low, high), partial, lane)
    total = code.load(partial, smart.const(0, dtype))
    _combine(code, found, point, total, part)


def combine_rest(code: LoopCode, found: Reduction, point: Point, low: Expr) -> None:
    """Combine a result with the terms from `low` on, if there are any."""
    nest = found.nest
    *outer, row = nest.carried
    rest = smart.sub(row.extent, low)
    if smart.literal(rest) == 0:
        return
    with (
        loops_over(code, outer) as here,
        code.loop(f"{row.name}.t", rest, low=low) as value,
    ):
        at = {**point, **here, row.variable: value}
        nest.write_instance(code, at, init=False)
