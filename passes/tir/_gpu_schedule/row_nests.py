"""Nests that share rows, and what they know of each other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from xdsl.ir import SSAValue

from xdsl_tvm.analysis.arith import smart
from xdsl_tvm.analysis.arith.expr import Expr, Value, leaf_values, substitute
from xdsl_tvm.passes.tir._gpu_schedule.allreduce import (
    match_combined,
)
from xdsl_tvm.passes.tir._loops.loop_nest import Axis, Nest
from xdsl_tvm.passes.tir._schedule.maps import is_map
from xdsl_tvm.passes.tir._schedule.reduction import Reduction
from xdsl_tvm.passes.tir._schedule.rows import are_separated


@dataclass(frozen=True)
class RowNest:
    """A nest as rows, and what it does along each of them."""

    nest: Nest
    rows: tuple[Axis, ...]
    columns: tuple[Axis, ...]
    units: tuple[Axis, ...]
    """Axes of one iteration, which are neither."""
    reduction: Reduction | None

    @property
    def wide(self) -> tuple[Axis, ...]:
        return tuple(axis for axis in self.columns if axis.size != 1)


@dataclass(frozen=True)
class Rows:
    """Nests that share rows."""

    nests: tuple[RowNest, ...]
    of_row: frozenset[SSAValue]
    """Buffers with an element for a row, which the nests write."""
    of_column: frozenset[SSAValue]
    """Buffers with an element for each place of a row, which the nests write."""


def match_rows(nests: Sequence[Nest]) -> Rows | None:
    """Nests as rows, of which at least one reduces, if they are that."""
    reductions = [match_combined(nest) for nest in nests]
    first = next((each for each in reductions if each is not None), None)
    if first is None:
        return None
    depth = len(_wide(first.nest.spatial))
    found: list[RowNest] = []
    for nest, reduction in zip(nests, reductions, strict=True):
        one = _as_rows(nest, reduction, depth)
        if one is None:
            return None
        found.append(one)
    if not all(_is_along_row(each) for each in reductions if each is not None):
        return None
    if len(found) > 1 and not _share_rows(found):
        return None
    return _with_buffers(found)


def _as_rows(nest: Nest, reduction: Reduction | None, depth: int) -> RowNest | None:
    if reduction is not None:
        rows, columns = _wide(nest.spatial), _wide(nest.carried) or nest.carried
    else:
        wide = _wide(nest.axes)
        rows, columns = wide[:depth], wide[depth:]
    if len(rows) != depth or not (reduction is not None or is_map(nest)):
        return None
    units = tuple(axis for axis in nest.axes if axis not in (*rows, *columns))
    return RowNest(nest, rows, columns, units, reduction)


def _wide(axes: Sequence[Axis]) -> tuple[Axis, ...]:
    """The axes that may have several iterations."""
    return tuple(axis for axis in axes if axis.size != 1)


def _is_along_row(found: Reduction) -> bool:
    """Whether neighbouring terms are next to each other, or results are not.

    What is the same for neighbouring results, as the vector that a matrix is multiplied
    with, is read from the cache, and says nothing.
    """
    terms = [a for a in found.nest.accesses if a.buffer is not found.result.buffer]
    wide = [axis for axis in found.nest.carried if axis.size != 1]
    results = [axis for axis in found.nest.spatial if axis.size != 1]
    if not wide or not results:
        return True
    terms = [access for access in terms if access.step(results[-1]) != 0] or terms
    along = any(access.step(wide[-1]) == 1 for access in terms)
    across = any(access.step(results[-1]) == 1 for access in terms)
    return along or not across


def _share_rows(found: Sequence[RowNest]) -> bool:
    """Whether different rows have nothing to do with each other, in all nests."""
    for level in zip(*(one.rows for one in found), strict=True):
        if any(axis.extent is not level[0].extent for axis in level):
            return False
        if any(axis.variable.type != level[0].variable.type for axis in level):
            return False
        if not are_separated([one.nest for one in found], level):
            return False
    columns = [one.columns for one in found if one.columns]
    for before, after in pairwise(columns):
        if [axis.extent for axis in before] != [axis.extent for axis in after]:
            return False
        if [a.variable.type for a in before] != [a.variable.type for a in after]:
            return False
    written: set[SSAValue] = set()
    for one in found:
        if written and written.isdisjoint(a.buffer for a in one.nest.accesses):
            return False
        written |= one.nest.written
    return True


def _with_buffers(found: Sequence[RowNest]) -> Rows | None:
    """The buffers that the nests write, if threads need nothing of each other's."""
    model = next(one for one in found if one.columns)
    variables = [Value(axis.variable) for axis in (*found[0].rows, *model.columns)]
    columns = {axis.variable for axis in model.columns}
    places: dict[SSAValue, set[tuple[Expr, ...]]] = {}
    first_written: dict[SSAValue, int] = {}
    first_read: dict[SSAValue, int] = {}
    for number, one in enumerate(found):
        own = [Value(axis.variable) for axis in (*one.rows, *one.columns)]
        known: dict[Expr, Expr] = dict(zip(own, variables, strict=False))
        known |= {Value(a.variable): smart.const(0, a.variable.type) for a in one.units}
        for access in one.nest.accesses:
            indices = tuple(substitute(index, known) for index in access.indices)
            places.setdefault(access.buffer, set()).add(indices)
            (first_written if access.writes else first_read).setdefault(
                access.buffer, number
            )
    of_row: set[SSAValue] = set()
    of_column: set[SSAValue] = set()
    for buffer, number in first_written.items():
        if len(places[buffer]) != 1:
            return None
        (indices,) = places[buffer]
        if not columns.isdisjoint(leaf_values(*indices)):
            of_column.add(buffer)
            continue
        # A thread may still read what the first one has stored already.
        if first_read.get(buffer, number) < number:
            return None
        of_row.add(buffer)
    for one in found:
        reduction = one.reduction
        if reduction is not None and reduction.result.buffer in of_column:
            return None
        if not _knows_results(one, of_row, len(found)):
            return None
    return Rows(tuple(found), frozenset(of_row), frozenset(of_column))


def _knows_results(one: RowNest, of_row: set[SSAValue], count: int) -> bool:
    """Whether a nest makes all of its results of a row, without what was in memory."""
    if one.reduction is not None:
        return count == 1 or one.reduction.init is not None
    mixed = one.nest.written & of_row
    if not mixed:
        return True
    reads = {access.buffer for access in one.nest.accesses if not access.writes}
    return not one.wide and mixed == one.nest.written and mixed.isdisjoint(reads)
