"""The default schedule of convolutions of images with channels in blocks.

Such a convolution is a sum of products whose results have as many elements along their
last axis as a vector has lanes, or half as many. The axis before that is that of columns:
a tile of neighbouring columns, for up to three blocks of channels, stays in registers
while its terms are added, in the order of the program. Nothing is copied: one operand is
read as vectors of the last axis, the other likewise, or as single elements for all lanes.

Where the data are padded, the condition is that of an element in place of a copy. Tiles
at the left and the right edge are written for each value of the window's variable on its
own, with the columns that are inside; rows that are outside are left out at run time.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce

from xdsl.dialects.builtin import IntegerAttr, f32, f64, i32
from xdsl.ir import Attribute, SSAValue

from xdsl_tvm.analysis.arith import smart
from xdsl_tvm.analysis.arith.expr import And, Cmp, Const, Expr, Value, view
from xdsl_tvm.analysis.arith.linear_equation import linear_form, mentions
from xdsl_tvm.dialects import tir
from xdsl_tvm.passes.tir._cpu_schedule.options import MANY_REGISTERS, Machine, kind_of
from xdsl_tvm.passes.tir._loops.loop_nest import Axis, Nest, Point
from xdsl_tvm.passes.tir._schedule.axes import fused_loop
from xdsl_tvm.passes.tir._schedule.contraction import Contraction, moving, ops_behind
from xdsl_tvm.passes.tir._schedule.reduction import Reduction
from xdsl_tvm.passes.tir.rewriting.loop_code import LoopCode

_LEAST_RANK = 4
"""Batch, blocks of channels, columns and channels; those of images have rows as well."""
_LARGEST_WINDOW = 16
_MOST_COLUMNS = 4096
_SUMS = 28
"""Vectors of results that 32 registers hold, besides the operands."""
_FEW_SUMS = 12
_WIDEST = 14
_KEPT: dict[str, Attribute] = {"pragma_unroll_explicit": IntegerAttr(0, i32)}
"""That a loop is left to LLVM to expand, which takes less time than copies here."""


@dataclass(frozen=True)
class Windowed(Contraction):
    """A sum of products over a window of an image, its channels in blocks.

    The columns are the last axis, the rows the one before it. `a` moves along the rows.
    """

    element: SSAValue | None = None
    """What `a` is inside of the image; None where it is not padded."""
    outside: tuple[Expr, ...] = ()
    """Conditions for `a` to be inside of the image, but those about columns."""
    window: Axis | None = None
    """The term axis that conditions about columns depend on."""
    inside: tuple[tuple[int, int], ...] = ()
    """For each value on that axis, the first column inside and the one after the last."""


def match_windowed(found: Reduction, machine: Machine) -> Windowed | None:
    """A reduction as a convolution of an image with channels in blocks, if it is one."""
    product = found.term.owner
    if not isinstance(product, tir.MulOp) or not isinstance(
        found.store.value.owner, tir.AddOp
    ):
        return None
    nest, result = found.nest, found.result
    if found.init is None or not isinstance(view(found.init), Const):
        return None
    if found.dtype not in (f32, f64) or len(result.indices) < _LEAST_RANK:
        return None
    if any(axis.size is None for axis in nest.axes):
        return None
    by_variable: dict[Expr, Axis] = {Value(a.variable): a for a in nest.spatial}
    axes = [by_variable.get(index) for index in result.indices]
    indexed = [axis for axis in axes if axis is not None]
    if len(indexed) != len(result.indices) or len({*indexed}) != len(nest.spatial):
        return None
    *batch, column, lane = indexed
    lanes = machine.lanes(found.dtype)
    if lane.size not in (lanes, lanes // 2) or lane.size == 1:
        return None
    a, b = product.operands
    if column in moving(nest, b):
        a, b = b, a
    if column in moving(nest, b) or column not in moving(nest, a):
        return None
    if not _is_read_along(nest, b, lane, (1,)) or not _is_read_along(
        nest, a, lane, (0, 1)
    ):
        return None
    whole = Windowed(found, a, b, tuple(batch), (column,), (lane,))
    return _with_padding(whole)


def _is_read_along(nest: Nest, value: SSAValue, lane: Axis, steps: Sequence[int]) -> bool:
    """Whether all that a value is computed from moves by so much along an axis."""
    needed = ops_behind(nest, value)
    found = [access.step(lane) for access in nest.accesses if access.op in needed]
    return bool(found) and all(step in steps for step in found)


def _with_padding(found: Windowed) -> Windowed | None:
    """The convolution with what is known of its padding; None for other conditions."""
    nest = found.nest
    if any(isinstance(op, tir.IfThenElseOp) for op in ops_behind(nest, found.b)):
        return None
    lazy = [op for op in ops_behind(nest, found.a) if isinstance(op, tir.IfThenElseOp)]
    if not lazy:
        return found
    choice = found.a.owner
    if lazy != [choice] or not isinstance(choice, tir.IfThenElseOp):
        return None
    element, padding = (
        _yielded(region.block.last_op)
        for region in (choice.true_region, choice.false_region)
    )
    if element is None or padding is None:
        return None
    zero = view(padding)
    if not isinstance(zero, Const) or zero.value != 0:
        return None
    (column,) = found.rows
    conditions = _conjuncts(view(choice.condition, nest.trees))
    about = [each for each in conditions if mentions(each, Value(column.variable))]
    others = tuple(each for each in conditions if each not in about)
    if any(
        mentions(each, Value(axis.variable)) for each in others for axis in found.columns
    ):
        return None
    if not about:
        return Windowed(*_fields(found), element, others)
    windows = [
        axis
        for axis in nest.axes
        if axis is not column
        and any(mentions(each, Value(axis.variable)) for each in about)
    ]
    if len(windows) != 1 or windows[0] not in nest.carried:
        return None
    inside = _inside(about, column, windows[0])
    if inside is None:
        return None
    return Windowed(*_fields(found), element, others, windows[0], inside)


def _fields(
    found: Windowed,
) -> tuple[
    Reduction,
    SSAValue,
    SSAValue,
    tuple[Axis, ...],
    tuple[Axis, ...],
    tuple[Axis, ...],
    None,
]:
    return (
        found.reduction,
        found.a,
        found.b,
        found.batch,
        found.rows,
        found.columns,
        None,
    )


def _yielded(op: object) -> SSAValue | None:
    return (
        op.operands[0] if isinstance(op, tir.YieldOp) and len(op.operands) == 1 else None
    )


def _conjuncts(tree: Expr) -> list[Expr]:
    if isinstance(tree, And):
        return [each for part in tree.operands for each in _conjuncts(part)]
    return [tree]


def _inside(
    conditions: Sequence[Expr], column: Axis, window: Axis
) -> tuple[tuple[int, int], ...] | None:
    """For each place in the window, the columns for which the conditions hold.

    None where they are not next to each other, or the conditions depend on more.
    """
    columns, places = column.size or 0, window.size or 0
    if places > _LARGEST_WINDOW or columns > _MOST_COLUMNS:
        return None
    variables = [Value(column.variable), Value(window.variable)]
    tests = [_test(each, variables) for each in conditions]
    known = [test for test in tests if test is not None]
    if len(known) != len(tests):
        return None
    found: list[tuple[int, int]] = []
    for place in range(places):
        held = [
            number
            for number in range(columns)
            if all(test(number, place) for test in known)
        ]
        if held and held[-1] - held[0] != len(held) - 1:
            return None
        found.append((held[0], held[-1] + 1) if held else (0, 0))
    return tuple(found)


def _test(
    condition: Expr, variables: Sequence[Expr]
) -> Callable[[int, int], bool] | None:
    """A comparison as a function of two variables, None where it is not linear."""
    if not isinstance(condition, Cmp) or condition.predicate not in _COMPARED:
        return None
    compare = _COMPARED[condition.predicate]
    sides = [linear_form(side, variables) for side in condition.operands]
    numbers: list[list[int]] = []
    for side in sides:
        if side is None:
            return None
        parts = [side.base, *(side.factors.get(each) for each in variables)]
        values = [0 if part is None else smart.literal(part) for part in parts]
        whole = [int(value) for value in values if value is not None]
        if len(whole) != len(values):
            return None
        numbers.append(whole)
    (c, x, y), (d, u, v) = numbers
    return lambda m, n: compare(c + x * m + y * n, d + u * m + v * n)


_COMPARED: dict[tir.CmpPredicate, Callable[[int, int], bool]] = {
    tir.CmpPredicate.GE: operator.ge,
    tir.CmpPredicate.GT: operator.gt,
    tir.CmpPredicate.LE: operator.le,
    tir.CmpPredicate.LT: operator.lt,
}


def schedule_windowed(
    code: LoopCode, found: Windowed, machine: Machine, *, parallel: bool
) -> None:
    """Write a convolution."""
    _Convolution(code, found, machine, kind_of(parallel)).write()


@dataclass(frozen=True)
class _Tile:
    """Neighbouring columns of a row."""

    first: Expr
    size: int
    valid: tuple[tuple[int, int], ...] | None
    """For each place in the window, the columns that are inside; None where all are."""


@dataclass(frozen=True)
class _Convolution:
    """Writes a convolution."""

    code: LoopCode
    found: Windowed
    machine: Machine
    kind: tir.ForKind

    @property
    def dtype(self) -> Attribute:
        return self.found.reduction.dtype

    @property
    def column(self) -> Axis:
        return self.found.rows[0]

    @property
    def lane(self) -> Axis:
        return self.found.columns[0]

    def number(self, value: int) -> Expr:
        return smart.const(value, self.column.variable.type)

    # ---- sizes ----

    @cached_property
    def shared(self) -> Axis | None:
        """The axis of which several values share what they read of `a`."""
        nest = self.found.nest
        by_a, by_b = moving(nest, self.found.a), moving(nest, self.found.b)
        for axis in self.found.batch:
            if axis in by_b and axis not in by_a and self._count(axis) > 1:
                return axis
        return None

    @cached_property
    def vectors(self) -> int:
        """Vectors of results for each column."""
        return 1 if self.shared is None else self._count(self.shared)

    def _count(self, axis: Axis) -> int:
        return next((n for n in (2, 3) if (axis.size or 1) % n == 0), 1)

    def _width(self, vectors: int) -> int:
        """Columns of a tile: that which leaves the fewest tiles, and these equal."""
        has_many = self.machine.vector_bytes >= MANY_REGISTERS
        most = min((_SUMS if has_many else _FEW_SUMS) // vectors, _WIDEST)
        size = self.column.size or 1
        return -(-size // -(-size // most))

    # ---- the whole ----

    def write(self) -> None:
        """All tiles."""
        code, shared = self.code, self.shared
        vectors = self.vectors
        outer = list(self.found.batch)
        if shared is not None:
            # Fewer steps, of several values each.
            steps = smart.const((shared.size or 0) // vectors, shared.variable.type)
            outer = [Axis(a.variable, steps, a.name) if a is shared else a for a in outer]
        with fused_loop(code, outer, self.kind) as point:
            self._write_row(point, vectors)

    def _write_row(self, point: Point, vectors: int) -> None:
        width, size = self._width(vectors), self.column.size or 0
        starts = list(range(0, size, width))
        tiles = [self._tile(start, min(width, size - start)) for start in starts]
        while tiles:
            first = tiles[0]
            alike = 0
            while alike < len(tiles) and _is_inner(tiles[alike], first.size):
                alike += 1
            if alike > 1:
                with self.code.loop("tile", self.number(alike)) as number:
                    start = smart.add(
                        first.first, smart.mul(number, self.number(first.size))
                    )
                    self._write_tile(point, _Tile(start, first.size, None), vectors)
            else:
                self._write_tile(point, first, vectors)
            del tiles[: max(alike, 1)]

    def _tile(self, start: int, size: int) -> _Tile:
        valid = tuple(
            (min(max(low - start, 0), size), min(max(high - start, 0), size))
            for low, high in self.found.inside
        )
        is_inner = all(each == (0, size) for each in valid)
        return _Tile(self.number(start), size, None if is_inner else valid)

    # ---- a tile ----

    def _write_tile(self, point: Point, tile: _Tile, vectors: int) -> None:
        code = self.code
        with code.block("tile"):
            shape = [tile.size, vectors, self.lane.size or 1]
            sums = code.alloc("sums", shape, self.dtype, "local")
            assert self.found.reduction.init is not None, "matched"
            initial = view(self.found.reduction.init)
            every = (0, tile.size)
            for_each = _ForEach(self, sums, tile, vectors, point)
            for_each.vector(every, lambda r, u, v, at: code.store(initial, sums, r, u, v))
            self._write_terms(
                for_each, list(self.found.terms), {}, every, [*self.found.outside]
            )
            for_each.vector(every, lambda r, u, v, at: self._store(sums, r, u, v, at))
            behind = self.found.behind
            if behind is not None:
                for_each.vector(every, lambda r, u, v, at: self._finish(behind, at))

    def _write_terms(
        self,
        for_each: _ForEach,
        axes: list[Axis],
        terms: Point,
        columns: tuple[int, int],
        conditions: list[Expr],
    ) -> None:
        """Add the terms over these axes, at `terms` on the others."""
        code = self.code
        point = {**for_each.point, **terms}
        unknown = [Value(axis.variable) for axis in axes]
        ready = [each for each in conditions if not mentions(each, *unknown)]
        if ready:
            rest = [each for each in conditions if each not in ready]
            trees = [self.found.nest.tree_at(each, point) for each in ready]
            with code.when(reduce(smart.conjunction, trees)):
                self._write_terms(for_each, axes, terms, columns, rest)
            return
        if not axes:
            self._add_terms(for_each, terms, columns)
            return
        axis, *inner = axes
        valid = for_each.tile.valid
        if axis is self.found.window and valid is not None:
            for place, inside in enumerate(valid):
                if inside[0] < inside[1]:
                    at = {**terms, axis.variable: smart.const(place, axis.variable.type)}
                    self._write_terms(for_each, inner, at, inside, conditions)
            return
        with code.loop(axis.name, axis.extent) as value:
            at = {**terms, axis.variable: value}
            self._write_terms(for_each, inner, at, columns, conditions)

    def _add_terms(
        self, for_each: _ForEach, terms: Point, columns: tuple[int, int]
    ) -> None:
        code, nest, sums = self.code, self.found.nest, for_each.sums
        element = self.found.a if self.found.element is None else self.found.element

        def add(r: Expr, u: Expr, v: Expr, at: Point) -> None:
            here = {**at, **terms}
            a = nest.value_at(code, element, here)
            b = nest.value_at(code, self.found.b, here)
            before = code.load(sums, r, u, v)
            code.store(self.machine.multiply_add(a, b, before), sums, r, u, v)

        for_each.vector(columns, add)

    def _store(self, sums: SSAValue, r: Expr, u: Expr, v: Expr, at: Point) -> None:
        result = self.found.reduction.result
        nest = self.found.nest
        indices = [nest.tree_at(index, at) for index in result.indices]
        self.code.store(self.code.load(sums, r, u, v), result.buffer, *indices)

    def _finish(self, behind: Nest, at: Point) -> None:
        nest = self.found.nest
        indices = [nest.tree_at(i, at) for i in self.found.reduction.result.indices]
        place = zip(behind.axes, indices, strict=True)
        behind.write_instance(self.code, {axis.variable: i for axis, i in place})


@dataclass(frozen=True)
class _ForEach:
    """Loops over the vectors of a tile."""

    convolution: _Convolution
    sums: SSAValue
    tile: _Tile
    vectors: int
    point: Point
    """The values on the batch axes, that of the shared one divided by `vectors`."""

    def vector(
        self, columns: tuple[int, int], write: Callable[[Expr, Expr, Expr, Point], None]
    ) -> None:
        """Write for some columns of the tile: column, vector and lane, and the point."""
        whole = self.convolution
        code, lane = whole.code, whole.lane
        low, high = columns
        unrolled = tir.ForKind.UNROLLED
        shared = whole.shared
        with (
            code.loop(
                "r",
                whole.number(high - low),
                unrolled,
                low=whole.number(low),
                annotations=_KEPT,
            ) as r,
            code.loop("u", whole.number(self.vectors), unrolled, annotations=_KEPT) as u,
            code.loop("v", lane.extent, tir.ForKind.VECTORIZED) as v,
        ):
            at = {
                **self.point,
                whole.column.variable: smart.add(self.tile.first, r),
                lane.variable: smart.cast(lane.variable.type, v),
            }
            if shared is not None:
                half = self.point[shared.variable]
                two = smart.const(self.vectors, half.dtype)
                at[shared.variable] = smart.add(
                    smart.mul(half, two), smart.cast(half.dtype, u)
                )
            write(r, u, v, at)


def _is_inner(tile: _Tile, size: int) -> bool:
    return tile.valid is None and tile.size == size
