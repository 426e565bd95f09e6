"""Orders of a tensor's axes, some of them in blocks, and changes from one to another."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from xdsl.ir import Attribute, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap

from xdsl_tvm.dialects import relax
from xdsl_tvm.dialects.relax.attributes import Dims
from xdsl_tvm.dialects.relax.layout import Layout
from xdsl_tvm.dialects.relax.symbolic import Dim, provably_equal
from xdsl_tvm.dialects.relax.types import TensorInfo
from xdsl_tvm.dialects.tir.index_map import IndexMapAttr


@dataclass(frozen=True)
class AxisLayout:
    """Which axis of the tensor as written each axis of the tensor available is.

    An entry `(axis, 0)` is the axis, or what is left of it where another entry
    `(axis, size)` is the position in blocks of `size`. No axis has more than one block.
    """

    axes: tuple[tuple[int, int], ...]

    @staticmethod
    def identity(rank: int) -> AxisLayout:
        """The tensor as written."""
        return AxisLayout(tuple((axis, 0) for axis in range(rank)))

    @staticmethod
    def between(base: str, wanted: Layout) -> AxisLayout | None:
        """What makes a tensor of the layout `wanted` of one of the layout `base`.

        None where `base` has blocks, or `wanted` two for one axis.
        """
        if not base.isalpha() or not base.isupper():
            return None
        axes = tuple((base.index(name.upper()), size) for name, size in wanted.axes)
        return None if len(set(axes)) != len(axes) else AxisLayout(axes)

    def text(self, base: str) -> str:
        """The layout as letters, `base` being that of the tensor as written."""
        return "".join(
            f"{size}{base[axis].lower()}" if size else base[axis]
            for axis, size in self.axes
        )

    @property
    def rank(self) -> int:
        """Number of axes of the tensor as written."""
        return sum(1 for _, size in self.axes if not size)

    @property
    def blocks(self) -> dict[int, int]:
        """The axes that are in blocks, and the extents of these."""
        return {axis: size for axis, size in self.axes if size}

    @property
    def is_plain(self) -> bool:
        """Whether no axis is in blocks."""
        return not any(size for _, size in self.axes)

    @property
    def is_identity(self) -> bool:
        """Whether the tensor is as written."""
        return all(entry == (i, 0) for i, entry in enumerate(self.axes))

    def position(self, axis: int) -> int | None:
        """Where an axis of the tensor as written is; None if it is in blocks."""
        return None if axis in self.blocks else self.axes.index((axis, 0))

    def positions(self, axes: Iterable[int]) -> list[int] | None:
        """Where several axes are, in their order; None if one is in blocks."""
        found = [self.position(axis) for axis in axes]
        known = [position for position in found if position is not None]
        return known if len(known) == len(found) else None

    def fits(self, dims: Dims | None) -> bool:
        """Whether the extents are known and full blocks."""
        if self.is_plain:
            return dims is None or len(dims) == self.rank
        if dims is None or len(dims) != self.rank:
            return False
        return all(_is_multiple(dims[axis], size) for axis, size in self.blocks.items())

    def dims(self, dims: Dims) -> Dims:
        """Extents of the tensor available."""
        blocks = self.blocks

        def extent(axis: int, size: int) -> Dim | None:
            if size:
                return Dim.constant(size)
            dim = dims[axis]
            return dim // blocks[axis] if dim is not None and axis in blocks else dim

        return tuple(extent(axis, size) for axis, size in self.axes)

    def type(self, written: Attribute) -> Attribute:
        """Type of the tensor available; that of a tuple has one layout for all fields."""
        if isinstance(written, relax.TupleType):
            return relax.TupleType.of(self.type(field) for field in written.fields.data)
        info = TensorInfo.of(written)
        if info is None or info.dims is None or self.is_identity:
            return written
        return info.with_dims(self.dims(info.dims)).type

    def dropping(self, axes: Sequence[int]) -> AxisLayout:
        """The layout of a tensor without some axes."""
        kept = [axis for axis in range(self.rank) if axis not in axes]
        return AxisLayout(
            tuple((kept.index(a), size) for a, size in self.axes if a in kept)
        )


def _is_multiple(dim: Dim | None, size: int) -> bool:
    return dim is not None and provably_equal(dim // size * size, dim)


def change(
    value: SSAValue, before: AxisLayout, after: AxisLayout, written: Attribute
) -> relax.PermuteDimsOp | relax.LayoutTransformOp:
    """The operation that brings a tensor from one layout to another.

    `written` is the type of the tensor as written.
    """
    type_ = after.type(written)
    if before.is_plain and after.is_plain:
        axes = [before.axes.index(entry) for entry in after.axes]
        return relax.PermuteDimsOp(value, axes, type_)
    places = {entry: index for index, entry in enumerate(before.axes)}
    rank = len(before.axes)

    def whole(axis: int) -> AffineExpr:
        outer = AffineExpr.dimension(places[axis, 0])
        size = before.blocks.get(axis)
        if size is None:
            return outer
        return outer * size + AffineExpr.dimension(places[axis, size])

    def coordinate(axis: int, size: int) -> AffineExpr:
        block = after.blocks.get(axis)
        if before.blocks.get(axis) == block:
            return AffineExpr.dimension(places[axis, size])
        if block is None:
            return whole(axis)
        return whole(axis) % block if size else whole(axis) // block

    results = tuple(coordinate(axis, size) for axis, size in after.axes)
    index_map = IndexMapAttr(AffineMap(rank, 0, results))
    return relax.LayoutTransformOp(value, index_map, result_type=type_)
