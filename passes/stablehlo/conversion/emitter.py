"""Relax operations made one after the other, and the scalars that are known of them."""

from __future__ import annotations

import math
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, cast

from xdsl.dialects.builtin import (
    DenseIntOrFPElementsAttr,
    LocationAttr,
    TensorType,
    i1,
)
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.utils.exceptions import VerifyException

from xdsl_tvm.dialects import relax
from xdsl_tvm.dialects.dtypes import integer_range, is_bool, is_float
from xdsl_tvm.dialects.stablehlo.assembly import element_of, shape_of

Number = bool | int | float

MAX_OPERATIONS = 1 << 18
"""The most operations that one function is converted to: calls are inlined and loops
unrolled, so that a short text may say very much."""


@dataclass
class Emitter:
    """Adds Relax operations to a block.

    Constructors of Relax operations infer the types, and raise VerifyException for what
    they refuse.
    """

    block: Block
    location: LocationAttr | None = None
    """That of the operation that is converted."""
    known: dict[SSAValue, Number] = field(default_factory=dict[SSAValue, Number])
    """The one number that all elements of a tensor are."""
    count: int = 0

    def op(self, op: Operation) -> SSAValue:
        """Adds an operation; its first result."""
        self.count += 1
        if self.count > MAX_OPERATIONS:
            raise VerifyException(
                f"the function becomes more than {MAX_OPERATIONS} operations, since "
                "calls are inlined and loops unrolled; make it smaller"
            )
        if self.location is not None:
            op.location = self.location
        self.block.add_op(op)
        return op.results[0]

    @contextmanager
    def inside(self, block: Block) -> Generator[None]:
        """Operations are added to another block."""
        before, self.block = self.block, block
        try:
            yield
        finally:
            self.block = before

    # ---- constants ----

    def constant(self, value: Number, dtype: Attribute) -> SSAValue:
        """A tensor of rank 0."""
        type_ = cast("TensorType[Any]", TensorType(dtype, []))
        number: Any = float(value) if is_float(dtype) else wrapped(int(value), dtype)
        dense = DenseIntOrFPElementsAttr.from_list(type_, [number])
        result = self.op(relax.ConstantOp(dense))
        self.known[result] = number
        return result

    def full(self, value: Number, dtype: Attribute, shape: Sequence[int]) -> SSAValue:
        """A tensor of one number."""
        return self.broadcast(self.constant(value, dtype), shape)

    def integers(self, values: Sequence[int]) -> SSAValue:
        """A tuple of scalars, as `relax.strided_slice` reads them."""
        return self.op(
            relax.TupleOp([self.op(relax.PrimValueOp(value)) for value in values])
        )

    def count_up(self, extent: int, dtype: Attribute) -> SSAValue:
        """The numbers from 0 to before `extent`."""
        bounds = [self.op(relax.PrimValueOp(value)) for value in (0, extent, 1)]
        return self.op(relax.ArangeOp(*bounds, dtype=dtype))

    # ---- shapes ----

    def broadcast(self, value: SSAValue, shape: Sequence[int]) -> SSAValue:
        """A tensor repeated to a shape, by numpy's rule."""
        if shape_of(value) == tuple(shape):
            return value
        target = self.op(relax.ShapeOp(shape))
        return self._same(value, self.op(relax.BroadcastToOp(value, target)))

    def reshape(self, value: SSAValue, shape: Sequence[int]) -> SSAValue:
        """A tensor in another shape."""
        if shape_of(value) == tuple(shape):
            return value
        target = self.op(relax.ShapeOp(shape))
        return self._same(value, self.op(relax.ReshapeOp(value, target)))

    def transpose(self, value: SSAValue, axes: Sequence[int]) -> SSAValue:
        """A tensor with its dimensions in another order."""
        if list(axes) == sorted(axes):
            return value
        return self._same(value, self.op(relax.PermuteDimsOp(value, axes)))

    def along(self, value: SSAValue, rank: int, axis: int) -> SSAValue:
        """A vector as a tensor of a rank that has it on one dimension."""
        shape = [1] * rank
        shape[axis] = shape_of(value)[0]
        return self.reshape(value, shape)

    def slice(self, value: SSAValue, bounds: Sequence[tuple[int, int, int]]) -> SSAValue:
        """Start, limit and stride along each dimension."""
        cut = [
            (axis, *bound)
            for axis, (bound, extent) in enumerate(
                zip(bounds, shape_of(value), strict=True)
            )
            if bound != (0, extent, 1)
        ]
        if not cut:
            return value
        axes, starts, limits, strides = (
            self.integers([each[index] for each in cut]) for index in range(4)
        )
        result = self.op(relax.StridedSliceOp(value, axes, starts, limits, strides))
        return self._same(value, result)

    def slice_axis(
        self, value: SSAValue, axis: int, start: int, limit: int, stride: int = 1
    ) -> SSAValue:
        """A slice along one dimension."""
        bounds = [(0, extent, 1) for extent in shape_of(value)]
        bounds[axis] = (start, limit, stride)
        return self.slice(value, bounds)

    def concat(self, values: Sequence[SSAValue], axis: int) -> SSAValue:
        """Tensors after each other; empty ones are left out."""
        filled = [value for value in values if shape_of(value)[axis]]
        if len(filled) < 2:
            return (filled or list(values))[0]
        return self.op(relax.ConcatOp(self.op(relax.TupleOp(filled)), axis))

    def padded(
        self,
        value: SSAValue,
        fill: SSAValue,
        pairs: Sequence[tuple[int, int]],
        interior: Sequence[int] | None = None,
    ) -> SSAValue:
        """A tensor with a scalar before, after and between its elements.

        Negative numbers before and after cut off.
        """
        dtype = element_of(value)
        for axis, between in enumerate(interior or ()):
            value = self._spread(value, fill, axis, between)
        shape = shape_of(value)
        cuts = [
            (max(-low, 0), extent - max(-high, 0), 1)
            for (low, high), extent in zip(pairs, shape, strict=True)
        ]
        if any(start > limit for start, limit, _ in cuts):
            raise VerifyException("more is cut off by padding than there is")
        value = self.slice(value, cuts)
        widths = [max(width, 0) for pair in pairs for width in pair]
        if not any(widths):
            return value
        number = self.known.get(fill)
        if (
            number is not None
            and 0 not in shape_of(value)
            and (is_float(dtype) or abs(number) < 1 << 53)
            and dtype != i1
        ):
            return self.op(relax.PadOp(value, widths, "constant", float(number)))
        for axis in range(len(shape)):
            parts = [value]
            for index in (0, 1):
                wide = list(shape_of(value))
                wide[axis] = widths[2 * axis + index]
                part = self.broadcast(fill, wide)
                parts = [part, *parts] if index == 0 else [*parts, part]
            value = self.concat(parts, axis)
        return value

    def _spread(
        self, value: SSAValue, fill: SSAValue, axis: int, between: int
    ) -> SSAValue:
        """A tensor with scalars between its elements along one dimension."""
        shape = list(shape_of(value))
        extent = shape[axis]
        if not between or extent < 2:
            return value
        wide = self.reshape(value, [*shape[: axis + 1], 1, *shape[axis + 1 :]])
        gap = [*shape[: axis + 1], between, *shape[axis + 1 :]]
        joined = self.concat([wide, self.broadcast(fill, gap)], axis + 1)
        shape[axis] = extent * (between + 1)
        flat = self.reshape(joined, shape)
        return self.slice_axis(flat, axis, 0, shape[axis] - between)

    # ---- arithmetic ----

    def cast(self, value: SSAValue, dtype: Attribute) -> SSAValue:
        """The elements in another dtype."""
        if element_of(value) == dtype:
            return value
        result = self.op(relax.AstypeOp(value, dtype))
        number = self.known.get(value)
        if number is not None and (is_float(dtype) or isinstance(number, int)):
            whole = wrapped(int(number), dtype) if not is_float(dtype) else 0
            self.known[result] = float(number) if is_float(dtype) else whole
        return result

    def bits(self, value: SSAValue, dtype: Attribute) -> SSAValue:
        """The elements' bits as another dtype of the same width."""
        if element_of(value) == dtype:
            return value
        return self.op(relax.ViewOp(value, dtype=dtype))

    def _same(self, value: SSAValue, result: SSAValue) -> SSAValue:
        """A result whose elements are those of a value."""
        if value in self.known:
            self.known[result] = self.known[value]
        return result


def wrapped(value: int, dtype: Attribute) -> int:
    """An integer as one of a dtype, without excess bits; bools are 0 and 1."""
    if is_bool(dtype):
        return int(value != 0)
    least, greatest = integer_range(dtype)
    return (value - least) % (greatest - least + 1) + least


def extreme(dtype: Attribute, greatest: bool) -> Number:
    """The greatest or the least element of a dtype, an infinity of floats."""
    if is_float(dtype):
        return math.inf if greatest else -math.inf
    least, most = (0, 1) if is_bool(dtype) else integer_range(dtype)
    return most if greatest else least
