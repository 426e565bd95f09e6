"""Loops over several axes, and the points that their variables stand for."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import ExitStack, contextmanager
from math import prod

from xdsl.dialects.builtin import i64
from xdsl.ir import Attribute, SSAValue

from xdsl_tvm.analysis.arith import smart
from xdsl_tvm.analysis.arith.expr import Expr
from xdsl_tvm.dialects import tir
from xdsl_tvm.passes.tir._loops.loop_nest import Axis
from xdsl_tvm.passes.tir.rewriting.loop_code import LoopCode


def product_of(extents: Sequence[Expr]) -> Expr:
    """The extents multiplied, in `i64` where the constants among them need that.

    There is at least one.
    """
    sizes = (smart.literal(extent) for extent in extents)
    wide = prod(int(size) for size in sizes if size is not None) >= 1 << 31
    total = smart.cast(i64, extents[0]) if wide else extents[0]
    for extent in extents[1:]:
        total = smart.mul(total, extent)
    return total


def split_index(flat: Expr, extents: Sequence[Expr]) -> list[Expr]:
    """The indices of a point of a box, given its place in row-major order.

    They have the types of the extents.
    """
    found: list[Expr] = []
    for extent in reversed(extents[1:]):
        found.append(smart.cast(extent.dtype, smart.floormod(flat, extent)))
        flat = smart.floordiv(flat, extent)
    return [smart.cast(extents[0].dtype, flat), *reversed(found)]


def points(axes: Sequence[Axis], values: Sequence[Expr]) -> dict[SSAValue, Expr]:
    """The point with these values on these axes."""
    return {
        axis.variable: smart.cast(axis.variable.type, value)
        for axis, value in zip(axes, values, strict=True)
    }


@contextmanager
def fused_loop(
    code: LoopCode,
    axes: Sequence[Axis],
    kind: tir.ForKind,
    annotations: dict[str, Attribute] | None = None,
) -> Generator[dict[SSAValue, Expr]]:
    """One loop over several axes, in their order; none where there are none."""
    wide = [axis for axis in axes if axis.size != 1]
    one: dict[SSAValue, Expr] = {
        a.variable: smart.const(0, a.variable.type) for a in axes if a.size == 1
    }
    if not wide:
        yield one
        return
    extents = [axis.extent for axis in wide]
    name = "_".join(axis.name for axis in wide)
    extent = product_of(extents)
    with code.loop(name, extent, kind, annotations=annotations) as flat:
        yield {**one, **points(wide, split_index(flat, extents))}


@contextmanager
def loops_over(code: LoopCode, axes: Sequence[Axis]) -> Generator[dict[SSAValue, Expr]]:
    """Serial loops over axes, one in the other."""
    with ExitStack() as stack:
        yield {
            axis.variable: stack.enter_context(code.loop(axis.name, axis.extent))
            for axis in axes
        }


def is_not_empty(axes: Sequence[Axis]) -> Expr:
    """Whether there is an iteration at all; without one, an init does not run."""
    dtype = axes[0].extent.dtype
    condition: Expr = smart.const(1, tir.parse_dtype("bool"))
    for axis in axes:
        if axis.size is None:
            some = smart.gt(axis.extent, smart.const(0, dtype))
            condition = smart.conjunction(condition, some)
    return condition
