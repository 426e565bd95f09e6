"""The rule of images of another size (docs/spec/relax-ops.md §12)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import Float64Type, f32, f64, i64
from xdsl.ir import Attribute

from xdsl_tvm.dialects import relax
from xdsl_tvm.dialects.relax.layout import Layout
from xdsl_tvm.passes.relax.legalize.registry import NoStagesError, RuleContext, rule
from xdsl_tvm.passes.relax.legalize.tensor_expression import (
    Dim,
    Expr,
    Tensor,
    TensorProgram,
)

_EPSILON = 1e-5
"""How near to a whole number "floor" and "ceil" take a coordinate for it."""


@dataclass(frozen=True)
class _Side:
    """One of the two dimensions of the image: rows or columns."""

    program: TensorProgram
    old: Dim
    new: Dim
    start: float
    end: float

    def _float(self, dim: Dim) -> Expr:
        if isinstance(dim, int):
            return self.program.constant(dim, f32)
        return dim.cast(f32)

    def coordinate(self, mode: str, index: Expr) -> Expr:
        """Where in the old image the new one's index is, as `f32`."""
        x, old, new = index.cast(f32), self._float(self.old), self._float(self.new)
        match mode:
            case "half_pixel":
                return (x + 0.5) * (old / new) - 0.5
            case "align_corners":
                return x * ((old - 1) / (new - 1))
            case "asymmetric":
                return x * (old / new)
            case "pytorch_half_pixel":
                return self._unless_single((x + 0.5) * (old / new) - 0.5, 0)
            case "tf_half_pixel_for_nn":
                return (x + 0.5) * (old / new)
            case "tf_crop_and_resize":
                last = old - 1
                step = last * (self.end - self.start) / (new - 1)
                middle = last * (0.5 * (self.start + self.end))
                return self._unless_single(last * self.start + x * step, middle)
            case _:
                raise NoStagesError

    def _unless_single(self, value: Expr, other: Expr | float) -> Expr:
        """`other` where the new image has one row or column."""
        if self.new == 1:
            return other if isinstance(other, Expr) else value * 0 + other
        if isinstance(self.new, int):
            return value
        if not isinstance(other, Expr):
            other = self.program.constant(other, f32)
        return self.program.select(self.new > 1, value, other)

    def is_outside(self, coordinate: Expr) -> Expr:
        """Whether a coordinate is outside of the old image."""
        return (coordinate < 0) | (coordinate > self._float(self.old) - 1)

    def clipped(self, index: Expr) -> Expr:
        """The nearest index that there is."""
        last = self.program.extent(self.old) - 1
        return index.minimum(last).maximum(0)


def _nearest(coordinate: Expr, rounding: str) -> Expr:
    match rounding:
        case "round":
            found = coordinate.call("round")
        case "round_prefer_floor":
            found = (coordinate - 0.5).call("ceil")
        case "round_prefer_ceil":
            found = (coordinate + 0.5).call("floor")
        case "floor":
            found = (coordinate + _EPSILON).call("floor")
        case "ceil":
            found = (coordinate - _EPSILON).call("ceil")
        case _:
            raise NoStagesError
    return found.cast(i64)


def _cubic_weights(t: Expr, alpha: float) -> list[Expr]:
    """What the four nearest pixels count, the fraction of the coordinate being `t`."""
    t2 = t * t
    t3 = t2 * t
    return [
        (t3 - t2 * 2 + t) * alpha,
        t3 * (alpha + 2) - t2 * (alpha + 3) + 1,
        t2 * (2 * alpha + 3) - t3 * (alpha + 2) - t * alpha,
        t2 * alpha - t3 * alpha,
    ]


@rule(relax.Resize2DOp)
def resize2d(op: relax.Resize2DOp, site: RuleContext) -> Tensor:
    """Each pixel of the new image from those near its place in the old one."""
    program, x = site.program, site.tensor(0)
    layout = Layout.parse(op.name, op.layout.data, "NCHW")
    letters = [name for name, _ in layout.axes]
    if any(letter in letters for letter in "hw"):
        raise NoStagesError
    axes = letters.index("H"), letters.index("W")
    roi = [value.value.data for value in op.roi.data]
    sides = tuple(
        _Side(program, x.shape[axis], site.shape[axis], roi[at], roi[at + 2])
        for at, axis in enumerate(axes)
    )
    pixels = _Pixels(op, x, sides, axes)

    def element(*indices: Expr) -> Expr:
        mode = op.coordinate_transformation_mode.data
        places = [
            side.coordinate(mode, indices[axis])
            for side, axis in zip(sides, axes, strict=True)
        ]
        found = pixels.value(indices, places)
        if mode == "tf_crop_and_resize":
            outside = program.constant(op.extrapolation_value.value.data, found.dtype)
            is_outside = sides[0].is_outside(places[0]) | sides[1].is_outside(places[1])
            found = program.select(is_outside, outside, found)
        return found.cast(site.dtype)

    return program.compute("resize", site.shape, site.dtype, element)


@dataclass(frozen=True)
class _Pixels:
    """Reads the old image."""

    op: relax.Resize2DOp
    x: Tensor
    sides: tuple[_Side, ...]
    axes: tuple[int, int]

    @property
    def _kind(self) -> Attribute:
        """What weighted pixels are computed in."""
        return f64 if isinstance(self.x.dtype, Float64Type) else f32

    def at(self, indices: Sequence[Expr], row: Expr, column: Expr) -> Expr:
        """The pixel at a row and a column, or the one next to it in the image."""
        places = list(indices)
        for side, axis, place in zip(self.sides, self.axes, (row, column), strict=True):
            places[axis] = side.clipped(place)
        return self.x[tuple(places)]

    def value(self, indices: Sequence[Expr], places: Sequence[Expr]) -> Expr:
        """The value at a place between the pixels."""
        method, rounding = self.op.method.data, self.op.rounding_method.data
        if method == "nearest_neighbor":
            row, column = (_nearest(place, rounding) for place in places)
            return self.at(indices, row, column)
        if method == "linear":
            return self._weighted(indices, places, 0, lambda t: [t * -1 + 1, t])
        if method == "cubic":
            alpha = self.op.cubic_alpha.value.data
            return self._weighted(indices, places, -1, lambda t: _cubic_weights(t, alpha))
        raise NoStagesError

    def _weighted(
        self,
        indices: Sequence[Expr],
        places: Sequence[Expr],
        first: int,
        weights: Callable[[Expr], list[Expr]],
    ) -> Expr:
        """The sum of pixels from `first` on, in rows and columns, times their weights."""
        floors = [place.call("floor") for place in places]
        near: list[list[tuple[Expr, Expr]]] = []
        for place, floor, side in zip(places, floors, self.sides, strict=True):
            whole = floor.cast(i64)
            given = weights((place - floor).cast(self._kind))
            own = [(whole + (first + k), weight) for k, weight in enumerate(given)]
            near.append(self._without_outside(own, side))
        rows: list[Expr] = []
        for row, row_weight in near[0]:
            pixels = [
                self.at(indices, row, column).cast(self._kind) * weight
                for column, weight in near[1]
            ]
            rows.append(_sum(pixels) * row_weight)
        return _sum(rows)

    def _without_outside(
        self, near: list[tuple[Expr, Expr]], side: _Side
    ) -> list[tuple[Expr, Expr]]:
        """With `cubic_exclude`, what is outside counts nothing, the rest all."""
        if self.op.method.data != "cubic" or not self.op.cubic_exclude.value.data:
            return near
        program = self.x.program
        zero = program.constant(0, self._kind)
        kept = [
            program.select(
                (index < 0) | (index >= program.extent(side.old)), zero, weight
            )
            for index, weight in near
        ]
        total = _sum(kept)
        return [(index, w / total) for (index, _), w in zip(near, kept, strict=True)]


def _sum(terms: Sequence[Expr]) -> Expr:
    total = terms[0]
    for term in terms[1:]:
        total = total + term
    return total
