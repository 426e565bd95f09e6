"""Convolutions and poolings of images with channels in blocks, recognized.

Such a convolution is a sum of products whose results have as many elements along their
last axis as a vector has lanes, or half as many; a pooling has elements in their place.
The axis before the last is that of columns. Where the data are padded, the condition is
that of an element in place of a copy. `windowed_loops.py` writes their loops.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace

from xdsl.dialects.builtin import f32, f64
from xdsl.ir import SSAValue

from xdsl_tvm.analysis.arith import smart
from xdsl_tvm.analysis.arith.expr import Add, And, Cmp, Const, Expr, Value, view
from xdsl_tvm.analysis.arith.linear_equation import linear_form, mentions
from xdsl_tvm.dialects import tir
from xdsl_tvm.passes.tir._cpu_schedule.options import Machine
from xdsl_tvm.passes.tir._loops.loop_nest import Axis, Nest
from xdsl_tvm.passes.tir._schedule.contraction import Contraction, moving, ops_behind
from xdsl_tvm.passes.tir._schedule.reduction import Reduction, identity

_LEAST_RANK = 4
"""Batch, blocks of channels, columns and channels; those of images have rows as well."""
_LARGEST_WINDOW = 16
_MOST_COLUMNS = 4096
_SHORT = 14
"""Columns of a tile where registers suffice for it."""


@dataclass(frozen=True)
class Windowed(Contraction):
    """A reduction over a window of an image, its channels in blocks.

    It is a sum of products, or combines elements of `a`, which `b` is then, too. The
    lanes are `columns`. The columns of the image are `rows`, which `a` moves along; where
    rows of the image follow each other as its columns do, they are `rows` as well, and
    all elements of the image are as one row.
    """

    element: SSAValue | None = None
    """What `a` is inside of the image; None where it is not padded."""
    outside: tuple[Expr, ...] = ()
    """Conditions for `a` to be inside of the image, but those about columns."""
    window: Axis | None = None
    """The term axis that conditions about columns depend on."""
    inside: tuple[tuple[int, int], ...] = ()
    """For each value on that axis, the first column inside and the one after the last."""

    @property
    def is_product(self) -> bool:
        """Whether terms are products of `a` and `b`."""
        return self.a is not self.b

    @property
    def neutral(self) -> float:
        """What `a` is where a term changes nothing."""
        found = self.reduction
        value = identity(Add if self.is_product else found.combiner, found.dtype)
        assert isinstance(value, Const), "of a scalar type"
        return value.value

    def has_only_batch(self, variables: Collection[SSAValue]) -> bool:
        """Whether those of its axes that have one of these variables are batch axes."""
        return not any(
            axis.variable in variables
            for axis in self.reduction.nest.axes
            if axis not in self.batch
        )


def match_windowed(found: Reduction, machine: Machine) -> Windowed | None:
    """A reduction as a convolution of an image with channels in blocks, if it is one."""
    nest, result = found.nest, found.result
    if found.init is None or not isinstance(view(found.init), Const):
        return None
    if found.dtype not in (f32, f64) or len(result.indices) < _LEAST_RANK:
        return None
    by_variable: dict[Expr, Axis] = {Value(a.variable): a for a in nest.spatial}
    axes = [by_variable.get(index) for index in result.indices]
    indexed = [axis for axis in axes if axis is not None]
    if len(indexed) != len(result.indices) or len({*indexed}) != len(nest.spatial):
        return None
    *batch, column, lane = indexed
    # How many images there are may be known at run time only.
    if any(axis.size is None for axis in nest.axes if axis is not indexed[0]):
        return None
    lanes = machine.lanes(found.dtype)
    if lane.size not in (lanes, lanes // 2) or lane.size == 1:
        return None
    operands = _factors(found, column, lane) or _element(found, column, lane)
    if operands is None:
        return None
    whole = Windowed(found, *operands, tuple(batch), (column,), (lane,))
    return _with_padding(whole)


def _factors(
    found: Reduction, column: Axis, lane: Axis
) -> tuple[SSAValue, SSAValue] | None:
    """The factors of the terms of a sum, that which moves along the columns first."""
    nest, product = found.nest, found.term.owner
    if found.combiner is not Add or not isinstance(product, tir.MulOp):
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
    return a, b


def _element(
    found: Reduction, column: Axis, lane: Axis
) -> tuple[SSAValue, SSAValue] | None:
    """The terms of a pooling, twice: elements in windows along the columns."""
    nest, term = found.nest, found.term
    if not _is_read_along(nest, term, lane, (1,)):
        return None
    carried = [Value(axis.variable) for axis in nest.carried]
    needed = ops_behind(nest, term)
    has_window = any(
        mentions(index, Value(column.variable)) and mentions(index, *carried)
        for access in nest.accesses
        if access.op in needed
        for index in access.indices
    )
    return (term, term) if has_window else None


def _is_read_along(nest: Nest, value: SSAValue, lane: Axis, steps: Sequence[int]) -> bool:
    """Whether all that a value is computed from moves by so much along an axis."""
    needed = ops_behind(nest, value)
    found = [access.step(lane) for access in nest.accesses if access.op in needed]
    return bool(found) and all(step in steps for step in found)


def _with_padding(found: Windowed) -> Windowed | None:
    """The convolution with what is known of its padding; None for other conditions."""
    nest = found.nest
    if found.is_product and any(
        isinstance(op, tir.IfThenElseOp) for op in ops_behind(nest, found.b)
    ):
        return None
    lazy = [op for op in ops_behind(nest, found.a) if isinstance(op, tir.IfThenElseOp)]
    if not lazy:
        return _as_one_row(found)
    choice = found.a.owner
    if lazy != [choice] or not isinstance(choice, tir.IfThenElseOp):
        return None
    element, padding = (
        _yielded(region.block.last_op)
        for region in (choice.true_region, choice.false_region)
    )
    if element is None or padding is None:
        return None
    given = view(padding)
    if not isinstance(given, Const) or given.value != found.neutral:
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
        return replace(found, element=element, outside=others)
    windows = [
        axis
        for axis in nest.axes
        if axis is not column
        and any(mentions(each, Value(axis.variable)) for each in about)
    ]
    if len(windows) != 1 or windows[0] not in nest.carried:
        return None
    inside = places_inside(about, column, windows[0])
    if inside is None:
        return None
    return replace(
        found, element=element, outside=others, window=windows[0], inside=inside
    )


def _as_one_row(found: Windowed) -> Windowed:
    """The convolution with short rows of the image joined, if that is possible."""
    nest, (column,) = found.reduction.nest, found.rows
    if not found.batch or (column.size or 0) >= _SHORT:
        return found
    *batch, row = found.batch
    moved = moving(nest, found.a), moving(nest, found.b)
    if row.size == 1 or row not in moved[0] or row in moved[1]:
        return found
    needed = ops_behind(nest, found.a)
    places = [found.reduction.result]
    places += [access for access in nest.accesses if access.op in needed]
    variables = [Value(row.variable), Value(column.variable)]
    for access in places:
        definition = tir.buffer_definition(access.buffer)
        if definition.layout_strides:
            return found
        shape = definition.shape
        used = [n for n, i in enumerate(access.indices) if mentions(i, *variables)]
        if len(used) != len(variables) or used[1] != used[0] + 1:
            return found
        for number, axis in zip(used, (row, column), strict=True):
            is_whole = shape[number] == axis.size
            if not is_whole or not _is_along(nest, access.indices[number], axis):
                return found
    return replace(found, batch=tuple(batch), rows=(row, column))


def _is_along(nest: Nest, index: Expr, axis: Axis) -> bool:
    """Whether an index is the variable of an axis, beside those that are always 0."""
    variables = [Value(each.variable) for each in nest.axes if each.size == 1]
    form = linear_form(index, [Value(axis.variable), *variables])
    if form is None or smart.literal(form.base) != 0:
        return False
    return smart.literal(form.factors[Value(axis.variable)]) == 1


def _yielded(op: object) -> SSAValue | None:
    return (
        op.operands[0] if isinstance(op, tir.YieldOp) and len(op.operands) == 1 else None
    )


def _conjuncts(tree: Expr) -> list[Expr]:
    if isinstance(tree, And):
        return [each for part in tree.operands for each in _conjuncts(part)]
    return [tree]


def places_inside(
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
