"""Where the elements of a buffer are in its memory (docs/spec/tir-ir.md §7.2)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise

from xdsl.dialects.builtin import IntegerType, i32, i64
from xdsl.ir import Attribute, SSAValue

from xdsl_tvm.analysis.arith import smart
from xdsl_tvm.analysis.arith.analyzer import Analyzer
from xdsl_tvm.analysis.arith.expr import Expr, Value, view
from xdsl_tvm.dialects import tir
from xdsl_tvm.dialects.tir.types import index_type_for

Mixed = int | SSAValue
"""A constant, or a value."""


def leaf(value: SSAValue) -> Expr:
    """A value as a tree of one node, a constant as that constant."""
    number = tir.constant_value(value)
    return Value(value) if number is None else smart.const(number, value.type)


def wide_extent(extent: SSAValue) -> Expr:
    """An extent in an index type, in which it is multiplied and added to others."""
    return smart.cast(index_type_for(extent.type), view(extent))


def groups(buffer: tir.BufferDefinition) -> list[range]:
    """The axes that make each physical dimension; one group without separators."""
    separators = buffer.axis_separators
    inner = () if separators is None else separators.get_values()
    ends = (0, *inner, buffer.type.get_num_dims())
    return [range(first, end) for first, end in pairwise(ends)]


def flat_indices(
    buffer: tir.BufferDefinition,
    indices: Sequence[Expr],
    tree: Callable[[SSAValue], Expr] = leaf,
) -> list[Expr]:
    """The physical index in each group of axes, in elements, without the offset.

    It is `indices . strides` with strides, otherwise row-major. `tree` gives the trees of
    dynamic extents and strides. A group without axes has the index 0. Indices that are
    unsigned, or narrower than 32 bits, are made wide enough first, and all of them where
    the memory is large.
    """
    return [_flat_index(buffer, group, indices, tree) for group in groups(buffer)]


def flat_type(buffer: tir.BufferDefinition) -> IntegerType:
    """The dtype of positions in the memory of a buffer: that of its extents, or `i64`
    where the static ones reach beyond the last element that an `i32` can number."""
    return i64 if reaches_beyond_32_bits(buffer) else buffer.extent_type


def reaches_beyond_32_bits(buffer: tir.BufferDefinition) -> bool:
    """Whether static extents, strides and offset alone reach elements that an `i32`
    cannot number; dynamic extents and strides count as 1, a dynamic offset as 0."""
    offset = buffer.elem_offset
    start = None if offset is None else tir.constant_value(offset)
    reach = max(_static_reach(buffer, group) for group in groups(buffer))
    return max(0, int(start or 0)) + reach > _LARGEST_I32


def fitting_type(number: int, dtype: Attribute) -> Attribute:
    """`dtype`, or `i64` where that is an integer type too narrow for `number`."""
    return i64 if number > _LARGEST_I32 and tir.bits_of_lane(dtype) < 64 else dtype


_LARGEST_I32 = (1 << 31) - 1


def _static_reach(buffer: tir.BufferDefinition, group: range) -> int:
    """The size of a group of axes, its dynamic extents and strides taken as 1."""
    sizes = [size if isinstance(size := buffer.shape[k], int) else 1 for k in group]
    strides = buffer.layout_strides
    if not strides or not sizes:
        return math.prod(sizes)
    steps = [step if isinstance(step := strides[k], int) else 1 for k in group]
    last = sum((size - 1) * step for size, step in zip(sizes, steps, strict=True))
    return max(sizes[0] * steps[0], last + 1)


def _flat_index(
    buffer: tir.BufferDefinition,
    group: range,
    indices: Sequence[Expr],
    tree: Callable[[SSAValue], Expr],
) -> Expr:
    strides = buffer.layout_strides
    is_large = reaches_beyond_32_bits(buffer)
    total: Expr | None = None
    for axis in group:
        index = _widened(indices[axis], to_64_bits=is_large)
        if strides:
            index = times(index, strides[axis], tree)
        elif total is not None:
            total = times(total, buffer.shape[axis], tree)
        total = index if total is None else smart.add(total, index)
    return smart.const(0, flat_type(buffer)) if total is None else total


def _widened(index: Expr, *, to_64_bits: bool) -> Expr:
    """An index in a type in which it may be multiplied by extents."""
    element = tir.element_of(index.dtype)
    if tir.is_index_type(element) and (element == i64 or not to_64_bits):
        return index
    wide = i64 if to_64_bits or tir.bits_of_lane(element) >= 32 else i32
    return smart.cast(tir.like_lanes(wide, index.dtype), index)


def widened_for(index: Expr, extent: Mixed) -> Expr:
    """An index in an index type that numbers all elements of a dimension.

    A dynamic extent fits into 32 bits.
    """
    large = isinstance(extent, int) and extent > _LARGEST_I32
    return _widened(index, to_64_bits=large)


def times(factor: Expr, other: Mixed, tree: Callable[[SSAValue], Expr] = leaf) -> Expr:
    """A product with an extent or a stride."""
    return smart.mul(factor, other if isinstance(other, int) else tree(other))


def row_major_strides(
    buffer: tir.BufferDefinition, tree: Callable[[SSAValue], Expr] = leaf
) -> Iterator[Expr]:
    """The distance of neighbours along each axis, the last axis first.

    Those that the buffer declares, or else the products of the extents after an axis.
    """
    if buffer.layout_strides:
        for stride in reversed(buffer.layout_strides):
            yield as_tree(stride, buffer, tree)
        return
    step: Expr = smart.const(1, flat_type(buffer))
    for extent in reversed(buffer.shape):
        yield step
        step = times(step, extent, tree)


def has_padding(buffer: tir.BufferDefinition, analyzer: Analyzer | None = None) -> bool:
    """Whether the buffer declares strides, and others than those of a compact one."""
    if not buffer.layout_strides:
        return False
    simplify = (analyzer or Analyzer()).simplify
    step: Expr = smart.const(1, buffer.extent_type)
    for size, stride in zip(
        reversed(buffer.shape), reversed(buffer.layout_strides), strict=True
    ):
        if simplify(as_tree(stride, buffer)) is not step:
            return True
        step = simplify(times(step, size))
    return False


def as_tree(
    extent: Mixed, buffer: tir.BufferDefinition, tree: Callable[[SSAValue], Expr] = leaf
) -> Expr:
    """The tree of an extent or a stride of the buffer."""
    if isinstance(extent, int):
        return smart.const(extent, buffer.extent_type)
    return tree(extent)
