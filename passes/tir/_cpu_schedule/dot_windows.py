"""Convolutions of bytes with channels last, summed in `i32`, by dot products of bytes.

They are contractions as those of `dot_contraction.py` are, whose rows are the elements of
the result's image, and whose terms are those of a window. Channels are the last of them,
and neighbours: a quad of terms is four channels of an element of the data, and is read
where it is, so that no matrix of windows is made. The weights are copied into panels.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from math import prod

from xdsl.dialects.builtin import i32
from xdsl.ir import Attribute

from xdsl_tvm.analysis.arith import smart
from xdsl_tvm.analysis.arith.expr import Expr, view
from xdsl_tvm.dialects import tir
from xdsl_tvm.dialects.tir.processor_instructions import BYTES_OF_DOT
from xdsl_tvm.passes.tir._cpu_schedule.byte_contraction import byte_load
from xdsl_tvm.passes.tir._cpu_schedule.byte_dots import is_byte_along_last
from xdsl_tvm.passes.tir._cpu_schedule.contraction_loops import Part, Tile
from xdsl_tvm.passes.tir._cpu_schedule.dot_contraction import DotContraction
from xdsl_tvm.passes.tir._cpu_schedule.options import Machine
from xdsl_tvm.passes.tir._loops.loop_nest import Point
from xdsl_tvm.passes.tir._schedule.axes import loops_over, points, product_of
from xdsl_tvm.passes.tir._schedule.contraction import Contraction
from xdsl_tvm.passes.tir._schedule.maps import is_lazy


def is_dot_of_windows(found: Contraction, machine: Machine) -> bool:
    """Whether the products of a convolution of bytes are in quads of channels, on a
    processor with the instruction."""
    if machine.byte_dot is None or found.reduction.dtype != i32 or is_lazy(found.nest):
        return False
    wide = [axis for axis in found.columns if axis.size != 1]
    if len(wide) != 1 or len(found.terms) < len("hc"):
        return False
    sizes = [axis.size for axis in found.terms]
    if None in sizes or (sizes[-1] or 0) % BYTES_OF_DOT:
        return False
    *_, channel = found.terms
    pairs = ((found.a, channel), (found.b, wide[0]))
    return all(is_byte_along_last(found.nest, value, axis) for value, axis in pairs)


@dataclass(frozen=True)
class DotWindows(DotContraction):
    """Writes such a convolution: steps are those of the outermost axis of the window."""

    @cached_property
    def vectors(self) -> int:
        columns = smart.literal(self.columns)
        # Of a group there may be one vector.
        return 1 if columns is not None and columns <= self.lanes else super().vectors

    @cached_property
    def _single_terms(self) -> Expr:
        return product_of([axis.extent for axis in self.found.terms])

    @cached_property
    def copies_rows(self) -> bool:
        return False

    @cached_property
    def panels(self) -> tuple[tir.LoadOp, int] | None:
        return None

    @cached_property
    def block(self) -> int | None:
        sizes = [axis.size or 1 for axis in self.found.terms[1:]]
        most = self.machine.second_cache_bytes // 2 // (self.width * prod(sizes))
        return self._equal(self.steps, max(most, 1), 1)

    def _with_columns(self, part: Part, panel: Expr) -> Part:
        ready = super()._with_columns(replace(part, terms=self.terms), panel)
        return replace(ready, terms=part.terms)

    @contextmanager
    def _each_term(
        self,
        part: Part,
        first: Expr | None = None,
        length: Expr | None = None,
        annotations: dict[str, Attribute] | None = None,
    ) -> Generator[tuple[Expr, Point]]:
        """Loops over the quads: the number of a quad, and the point of its first term."""
        outer, *middle, channel = self.found.terms
        quads = channel.size // BYTES_OF_DOT if channel.size is not None else 0
        step, four = self.number(quads), smart.const(BYTES_OF_DOT, channel.extent.dtype)
        extent = outer.extent if length is None else length
        with (
            self.code.loop(outer.name, extent, annotations=annotations) as low,
            loops_over(self.code, middle) as rest,
            self.code.loop(channel.name, step) as quad,
        ):
            start = low if first is None else smart.add(first, low)
            number = smart.cast(self.index, start)
            for axis in middle:
                number = smart.add(
                    smart.mul(number, smart.cast(self.index, axis.extent)),
                    smart.cast(self.index, rest[axis.variable]),
                )
            number = smart.add(smart.mul(number, step), quad)
            at = smart.mul(smart.cast(four.dtype, quad), four)
            yield number, {**rest, **points([outer, channel], [start, at])}

    def _row_in_place(self, tile: Tile, terms: Point) -> Callable[[Expr], Expr]:
        """The quads of `a`; rows after the last one are the last."""
        found = self.found
        load = byte_load(found.a)
        assert load is not None, "asked before"
        is_whole = smart.literal(self.rows_fit(tile.row)) == 1

        def value(row: Expr) -> Expr:
            flat = smart.add(tile.row, row)
            if not is_whole:
                flat = smart.minimum(flat, smart.sub(self.rows, self.number(1)))
            rows = points(found.rows, self._split(flat, found.rows))
            at = {**self.point, **rows, **terms}
            *indices, last = (
                found.nest.tree_at(view(index, found.nest.trees), at)
                for index in load.indices
            )
            place = smart.ramp(last, BYTES_OF_DOT)
            return self.dots.row_byte(self.code.load(load.buffer, *indices, place))

        return value
