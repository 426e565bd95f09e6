"""The default schedule of reductions: sums, products, least and greatest elements.

Where the terms are next to each other along a reduction axis, several vectors gather
partial results, which are combined at the end: this changes the order in which floats
are added. Where they are next to each other along a spatial axis, a stretch of results is
updated row by row, in the order of the program. Other results are computed one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

from xdsl.ir import Attribute, SSAValue

from xdsl_tvm.analysis.arith import smart
from xdsl_tvm.analysis.arith.expr import (
    Add,
    Binary,
    Expr,
    Max,
    Min,
    Mul,
    Value,
)
from xdsl_tvm.analysis.arith.linear_equation import mentions
from xdsl_tvm.dialects import tir
from xdsl_tvm.dialects.dtypes import integer_range
from xdsl_tvm.dialects.tir.attributes import IterKind
from xdsl_tvm.passes.tir._cpu_schedule.elementwise import (
    fused_loop,
    lanes_of_nest,
    write_lanes,
)
from xdsl_tvm.passes.tir._cpu_schedule.options import Machine, kind_of
from xdsl_tvm.passes.tir._loops.loop_nest import Access, Axis, Nest, Point
from xdsl_tvm.passes.tir.rewriting.loop_code import LoopCode

_COMBINERS: dict[type[tir.BinaryOp], type[Binary]] = {
    tir.AddOp: Add,
    tir.MulOp: Mul,
    tir.MaxOp: Max,
    tir.MinOp: Min,
}
_PARTIAL_VECTORS = 4
"""Vectors of partial results, so that one need not wait for the one before."""
_ROWS = 8
"""Rows that are added to a stretch of results at once."""
_STRETCHES = 4
"""Stretches at least, for several threads."""
_STRETCH_BYTES = 8192


@dataclass(frozen=True)
class Reduction:
    """`C[s] = C[s] ∘ term(s, r)` over spatial axes `s` and carried axes `r`."""

    nest: Nest
    combiner: type[Binary]
    store: tir.StoreOp
    result: Access
    term: SSAValue
    init: SSAValue | None
    """What the results are before; where None, what is in the buffer."""

    @property
    def dtype(self) -> Attribute:
        return self.store.value.type


def match_reduction(nest: Nest) -> Reduction | None:
    """The nest as a reduction, if it is one."""
    if not nest.carried or any((axis.size or 1) < 1 for axis in nest.axes):
        return None
    stores = [access for access in nest.accesses if access.writes]
    init = nest.block.init
    body = [a for a in stores if init is None or not init.is_ancestor(a.op)]
    if len(body) != 1 or len(stores) != len(body) + (init is not None):
        return None
    (result,) = body
    store = result.op
    assert isinstance(store, tir.StoreOp)
    carried = [Value(axis.variable) for axis in nest.carried]
    if any(mentions(index, *carried) for index in result.indices):
        return None
    operands = _operands(nest, store, result)
    if operands is None:
        return None
    combiner, term = operands
    first = None
    if init is not None:
        first = _initial(nest, init, result)
        if first is None:
            return None
    return Reduction(nest, combiner, store, result, term, first)


def _operands(
    nest: Nest, store: tir.StoreOp, result: Access
) -> tuple[type[Binary], SSAValue] | None:
    """The operation, and the operand that is not what the result was before."""
    op = store.value.owner
    if not isinstance(op, tir.BinaryOp) or type(op) not in _COMBINERS:
        return None
    if op.parent is not store.parent:
        return None
    loads = [a for a in nest.accesses if a.buffer is result.buffer and not a.writes]
    if len(loads) != 1 or loads[0].indices != result.indices:
        return None
    before = loads[0].op.results[0]
    if before.uses.get_length() != 1 or loads[0].op.parent is not store.parent:
        return None
    if op.lhs is before:
        return _COMBINERS[type(op)], op.rhs
    if op.rhs is before:
        return _COMBINERS[type(op)], op.lhs
    return None


def _initial(nest: Nest, init: tir.InitOp, result: Access) -> SSAValue | None:
    """What the init stores, if it runs before the first term of each result."""
    kinds = {
        variable: it.kind
        for variable, it in zip(nest.block.iter_vars, nest.block.iters, strict=True)
    }
    carried = {axis.variable for axis in nest.carried}
    for variable, kind in kinds.items():
        if (kind is IterKind.REDUCE) != (variable in carried):
            return None
    inside = [a for a in nest.accesses if init.is_ancestor(a.op)]
    if any(a.buffer is not result.buffer or a.indices != result.indices for a in inside):
        return None
    stores = [a.op for a in inside if isinstance(a.op, tir.StoreOp)]
    return stores[0].value if len(stores) == len(inside) == 1 else None


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
        with fused_loop(code, spatial, kind_of(parallel)) as outer_point:
            here = {**point, **outer_point}
            with code.when(is_not_empty(nest.carried)):
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


def has_rows(found: Reduction, column: Axis) -> bool:
    """Whether results and terms are neighbours along a spatial axis."""
    accesses = found.nest.accesses
    buffer = found.result.buffer
    terms = [a.step(column) for a in accesses if a.buffer is not buffer]
    results = [a.step(column) for a in accesses if a.buffer is buffer]
    return (
        all(step == 1 for step in results)
        and all(step in (0, 1) for step in terms)
        and 1 in terms
    )


def is_not_empty(axes: Sequence[Axis]) -> Expr:
    """Whether there is an iteration at all; without one, an init does not run."""
    dtype = axes[0].extent.dtype
    condition: Expr = smart.const(1, tir.parse_dtype("bool"))
    for axis in axes:
        if axis.size is None:
            some = smart.gt(axis.extent, smart.const(0, dtype))
            condition = smart.conjunction(condition, some)
    return condition


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
    if any(isinstance(op, tir.IfThenElseOp) for op in nest.block.body.walk()):
        return False
    steps = [a.step(row) for a in nest.accesses if a.buffer is not found.result.buffer]
    if not all(step in (0, 1) for step in steps) or 1 not in steps:
        return False
    if tir.is_float(dtype):
        return machine.reassociate and tir.bits_of_lane(dtype) >= 32
    # Sums of wide signed integers must not overflow, and other orders might.
    wraps = tir.is_uint(dtype) or tir.bits_of_lane(dtype) < 32
    return wraps or found.combiner in (Max, Min)


def _write_partial(
    code: LoopCode, found: Reduction, point: Point, machine: Machine
) -> None:
    """Partial results in lanes, then one of them, then the terms that remain."""
    nest = found.nest
    *outer, row = nest.carried
    width = lanes_of_nest(nest, machine)
    if row.size is None or row.size >= 4 * _PARTIAL_VECTORS * width:
        width *= _PARTIAL_VECTORS
    dtype = row.extent.dtype
    lanes = smart.const(width, dtype)
    whole = smart.floordiv(row.extent, lanes)

    def term_at(here: Point, value: Expr) -> Expr:
        return nest.value_at(code, found.term, {**point, **here, row.variable: value})

    with code.block("partial"):
        partial = code.alloc("partial", [width], found.dtype, "local")
        with code.loop("v", lanes, tir.ForKind.VECTORIZED) as lane:
            code.store(_identity(found), partial, lane)
        with (
            loops_over(code, outer) as here,
            code.loop(f"{row.name}.o", whole) as step,
            code.loop("v", lanes, tir.ForKind.VECTORIZED) as lane,
        ):
            before = code.load(partial, lane)
            term = term_at(here, smart.add(smart.mul(step, lanes), lane))
            code.store(found.combiner(before, term), partial, lane)
        combine_lanes(code, found, point, partial, width)
    combine_rest(code, found, point, smart.mul(whole, lanes))


def combine_lanes(
    code: LoopCode, found: Reduction, point: Point, partial: SSAValue, width: int
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
    places = [found.nest.tree_at(index, point) for index in found.result.indices]
    before = code.load(found.result.buffer, *places)
    code.store(found.combiner(before, total), found.result.buffer, *places)


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


def _identity(found: Reduction) -> Expr:
    """What changes nothing when it is combined with another value."""
    dtype = found.dtype
    if found.combiner is Add or found.combiner is Mul:
        return smart.const(int(found.combiner is Mul), dtype)
    if tir.is_float(dtype):
        infinity = float("inf")
        return smart.const(-infinity if found.combiner is Max else infinity, dtype)
    low, high = integer_range(dtype)
    return smart.const(low if found.combiner is Max else high, dtype)


@contextmanager
def loops_over(code: LoopCode, axes: Sequence[Axis]) -> Generator[dict[SSAValue, Expr]]:
    """Serial loops over axes, one in the other."""
    with ExitStack() as stack:
        yield {
            axis.variable: stack.enter_context(code.loop(axis.name, axis.extent))
            for axis in axes
        }
