"""What convolutions and poolings share: layouts, and padding."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from xdsl.ir import Attribute

from xdsl_tvm.dialects.relax.layout import Layout
from xdsl_tvm.passes.relax.legalize.extents import moved, times
from xdsl_tvm.passes.relax.legalize.tensor_expression import (
    Dim,
    Expr,
    Tensor,
    TensorProgram,
)

Point = Mapping[str, Expr]
"""An index for each letter of a layout without blocks."""


@dataclass(frozen=True)
class Image:
    """A tensor whose dimensions go by letters, in any order and none in blocks."""

    tensor: Tensor
    order: str

    def __getitem__(self, at: Point) -> Expr:
        """The element at a point."""
        return self.tensor[tuple(at[letter] for letter in self.order)]

    def extent(self, letter: str) -> Dim:
        """The extent of a dimension."""
        return self.tensor.shape[self.order.index(letter)]


def order_of(layout: Layout) -> str:
    """The capital letters of a layout, in their order."""
    return "".join(name for name, size in layout.axes if not size)


def blocks_of(layout: Layout) -> dict[str, int]:
    """The extent of the blocks of those dimensions that are in blocks, by letter."""
    return {name.upper(): size for name, size in layout.axes if size}


def unblocked(program: TensorProgram, tensor: Tensor, layout: Layout) -> Image:
    """A tensor with blocks joined; no stage where there are none."""
    order, blocks = order_of(layout), blocks_of(layout)
    if not blocks:
        return Image(tensor, order)
    shape = [
        times(program, dim, blocks.get(name, 1))
        for (name, size), dim in zip(layout.axes, tensor.shape, strict=True)
        if not size
    ]

    def element(*indices: Expr) -> Expr:
        at = dict(zip(order, indices, strict=True))
        return tensor[
            tuple(
                at[name.upper()] % program.extent(size)
                if size
                else at[name] // program.extent(blocks[name])
                if name in blocks
                else at[name]
                for name, size in layout.axes
            )
        ]

    return Image(program.compute("unblocked", shape, tensor.dtype, element), order)


def blocked(
    program: TensorProgram, image: Image, layout: Layout, shape: Sequence[Dim]
) -> Tensor:
    """A tensor put into the blocks of a layout, which are filled up with zeros."""
    blocks = blocks_of(layout)
    if not blocks:
        return image.tensor
    dtype = image.tensor.dtype

    def element(*indices: Expr) -> Expr:
        parts = {
            name: index for (name, _), index in zip(layout.axes, indices, strict=True)
        }
        at = {
            letter: parts[letter]
            if letter not in blocks
            else moved(program, parts[letter], blocks[letter]) + parts[letter.lower()]
            for letter in image.order
        }
        filled = [
            (at[letter], image.extent(letter))
            for letter, size in blocks.items()
            if not _divides(size, image.extent(letter))
        ]
        return guarded(
            program,
            [index < program.extent(extent) for index, extent in filled],
            lambda: image[at],
            dtype,
        )

    return program.compute("blocked", shape, dtype, element)


def _divides(size: int, extent: Dim) -> bool:
    return isinstance(extent, int) and extent % size == 0


def guarded(
    program: TensorProgram,
    conditions: Sequence[Expr],
    element: Callable[[], Expr],
    dtype: Attribute,
    otherwise: float = 0,
) -> Expr:
    """`element` where all conditions hold, else a constant."""
    if not conditions:
        return element()
    every = conditions[0]
    for condition in conditions[1:]:
        every = every & condition
    return program.if_then_else(
        every, element, lambda: program.constant(otherwise, dtype)
    )


def padded(
    program: TensorProgram,
    x: Tensor,
    before: Sequence[int],
    shape: Sequence[Dim],
    value: float = 0,
) -> Tensor:
    """A tensor of another shape that has `x` after `before` elements of `value`."""

    def element(*indices: Expr) -> Expr:
        places = tuple(
            moved(program, index, 1, -skip)
            for index, skip in zip(indices, before, strict=True)
        )
        conditions: list[Expr] = []
        for place, skip, inner, outer in zip(places, before, x.shape, shape, strict=True):
            if skip > 0:
                conditions.append(place >= program.extent(0))
            if not _fits(skip, inner, outer):
                conditions.append(place < program.extent(inner))
        return guarded(program, conditions, lambda: x[places], x.dtype, value)

    return program.compute("pad_temp", shape, x.dtype, element)


def _fits(before: int, inner: Dim, outer: Dim) -> bool:
    """Whether nothing is after the elements."""
    if isinstance(inner, int) and isinstance(outer, int):
        return outer - before <= inner
    return before == 0 and inner is outer
