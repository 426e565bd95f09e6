"""Maps: nests whose iterations are independent of each other."""

from __future__ import annotations

from xdsl.ir import SSAValue

from xdsl_tvm.analysis.all_ops import ops_of
from xdsl_tvm.analysis.arith import smart
from xdsl_tvm.analysis.arith.expr import Expr, Value, view
from xdsl_tvm.analysis.arith.linear_equation import linear_form
from xdsl_tvm.dialects import tir
from xdsl_tvm.passes.tir._loops.loop_nest import Axis, Nest


def is_map(nest: Nest) -> bool:
    """Whether the nest is a map."""
    if nest.block.init is not None or not nest.axes:
        return False
    return all(nest.owns(axis) or _is_counted(nest, axis) for axis in nest.axes)


def _is_counted(nest: Nest, axis: Axis) -> bool:
    """Whether different values on an axis never meet at a place that one writes, as each
    written buffer has a dimension whose index is a number with the value as a digit."""
    for buffer in nest.written:
        ours = [a.indices for a in nest.accesses if a.buffer is buffer]
        if not any(
            all(index is indices[0] for index in indices)
            and axis in _digits(nest, indices[0])
            for indices in zip(*ours, strict=True)
        ):
            return False
    return True


def _digits(nest: Nest, index: Expr) -> list[Axis]:
    """The axes of which an index is a sum that has each value once; none for others."""
    by_variable: dict[Expr, Axis] = {Value(axis.variable): axis for axis in nest.axes}
    form = linear_form(index, list(by_variable))
    if form is None or smart.literal(form.base) is None:
        return []
    factors = {by_variable[v]: smart.literal(f) for v, f in form.factors.items()}
    known = [(f, axis) for axis, f in factors.items() if f is not None and f != 0]
    if len(known) < sum(f != 0 for f in factors.values()):
        return []
    reached: float = 1
    for factor, axis in sorted(known, key=lambda term: term[0]):
        if factor < reached or axis.size is None:
            return []
        reached = factor * axis.size
    return [axis for _, axis in known]


def is_lazy(nest: Nest) -> bool:
    """Whether the block chooses what to compute, which vectors cannot."""
    return bool(ops_of(nest.block.body, tir.IfThenElseOp))


_MOST_NARROW = 4
_LEAST_BEFORE = 16


def narrow_axes(nest: Nest) -> tuple[Axis, Axis] | None:
    """The last two axes of a nest with more than one iteration, where the last one has a
    few, fewer than vectors have lanes, and the other one many; None for other nests."""
    axes = [axis for axis in nest.axes if axis.size != 1]
    if len(axes) < len("pc"):
        return None
    *_, before, last = axes
    is_narrow = 1 < (last.size or 0) <= _MOST_NARROW
    return (before, last) if is_narrow and (before.size or 0) >= _LEAST_BEFORE else None


def is_walked_in_order(nest: Nest) -> bool:
    """Whether each buffer is as large as the iteration space and indexed by all of it."""
    variables = tuple(Value(axis.variable) for axis in nest.axes)
    extents = [axis.extent for axis in nest.axes]
    for access in nest.accesses:
        definition = tir.buffer_definition(access.buffer)
        if definition.layout_strides:
            return False
        pairs = [
            (index, extent)
            for index, extent in zip(access.indices, definition.shape, strict=True)
            if extent != 1
        ]
        if not pairs:
            continue
        if tuple(index for index, _ in pairs) != variables:
            return False
        shape = [extent for _, extent in pairs]
        if not all(map(_is_extent, shape, extents)):
            return False
    return True


def _is_extent(extent: int | SSAValue, tree: Expr) -> bool:
    if isinstance(extent, int):
        return smart.literal(tree) == extent
    return view(extent) is tree
