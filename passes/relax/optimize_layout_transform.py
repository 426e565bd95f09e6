"""Layouts that are changed and changed back are left as they are."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue
from xdsl.rewriter import Rewriter

from xdsl_tvm.dialects import relax
from xdsl_tvm.dialects.relax.types import TensorInfo
from xdsl_tvm.dialects.tir.index_map import IndexMapAttr
from xdsl_tvm.passes.infra import CompilerPass
from xdsl_tvm.passes.relax.rewriting.insertion import (
    BindingBuilder,
    by_function,
    is_primitive,
)

_MOST = 1 << 20
"""Indices that are evaluated for one dimension."""


@dataclass(frozen=True)
class OptimizeLayoutTransform(CompilerPass):
    """Summary: Removes pairs of layout transforms of which the second undoes the first.

    TVM name: relax.OptimizeLayoutTransform (v0.20)
    Input form: any
    Output form: the same
    Options: none
    Rewrites: before

            %a = relax.layout_transform %x map <(i) -> (i floordiv 4, i mod 4)> ...
            %b = relax.layout_transform %a map <(i, j) -> (i * 4 + j)> ...

        after, uses of `%b` are uses of `%x`, if its shape is that of `%x` and every
        element is where it was. The first transform is erased if nothing else uses it.
        Time is linear in the size of the module and in the extents of the tensors.
    Leaves alone: functions with `Primitive`; shapes that are not numbers; maps that mix
        dimensions of more than 1048576 indices together; memory that something writes in
        place
    Errors: none
    Attributes: read: `Primitive`; created: none; removed: none
    Differs from TVM: the elements are compared, where TVM compares shapes only, and takes
        the transposition of a square for a transform that changes nothing. Where padding
        is removed between and put back, it holds other elements than before, so that
        stays, too.
    """

    name = "relax-optimize-layout-transform"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for transforms, written in by_function(op, relax.LayoutTransformOp):
            if not is_primitive(transforms[0]):
                for transform in transforms:
                    _remove(transform, written)


def _remove(op: relax.LayoutTransformOp, written: set[SSAValue]) -> None:
    first = op.data.owner
    if not isinstance(first, relax.LayoutTransformOp):
        return
    source = first.data
    if not written.isdisjoint((source, op.data, op.result)):
        return
    shape = _extents(source)
    if shape is None or shape != _extents(op.result):
        return
    if not _is_undone(first.index_map, op.index_map, shape):
        return
    result = BindingBuilder(op).typed(source, op.result.type)
    Rewriter.replace_op(op, (), [result])
    if first.result.first_use is None:
        Rewriter.erase_op(first)


def _extents(value: SSAValue) -> tuple[int, ...] | None:
    """The shape of a tensor, where it consists of numbers and none is 0."""
    info = TensorInfo.of(value.type)
    if info is None or info.shape is None:
        return None
    found = tuple(dim.value for dim in info.shape if dim.value)
    return found if len(found) == len(info.shape) else None


def _is_undone(first: IndexMapAttr, second: IndexMapAttr, shape: tuple[int, ...]) -> bool:
    """Whether all elements of `shape` are in their places after both maps."""
    indices = np.ogrid[tuple(slice(extent) for extent in shape)]
    after = second.compose(first).evaluated(indices)
    return all(each.size <= _MOST for each in after) and all(
        bool(np.all(found == index)) for found, index in zip(after, indices, strict=True)
    )
