"""Which reductions are skinny products."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Final

from xdsl_tvm.analysis.arith.expr import Add
from xdsl_tvm.dialects import tir
from xdsl_tvm.passes.tir._gpu_schedule.device import (
    is_vectorizable,
)
from xdsl_tvm.passes.tir._loops.loop_nest import Axis
from xdsl_tvm.passes.tir._schedule.contraction import Contraction, moving, ops_behind
from xdsl_tvm.passes.tir._schedule.reduction import Reduction

_MOST_ROWS: Final = 8
"""More vectors are a product of tiles."""
_LEAST_TERMS: Final = 16


def match_skinny(found: Reduction) -> Contraction | None:
    """A reduction as the product of a matrix, `b`, with few vectors, the rows of `a`.

    The lines of the matrix are the columns. Axes of one iteration are of the batch.
    """
    product = found.term.owner
    if found.combiner is not Add or not isinstance(product, tir.MulOp):
        return None
    nest = found.nest
    a, b = product.operands
    by_a, by_b = moving(nest, a), moving(nest, b)
    if not all(axis in by_a and axis in by_b for axis in _wide(nest.carried)):
        return None
    rows = tuple(axis for axis in _wide(nest.spatial) if axis not in by_b)
    lines = tuple(axis for axis in _wide(nest.spatial) if axis not in by_a)
    if not _are_fewer(rows, lines):
        a, b, rows, lines = b, a, lines, rows
    terms = known_size(nest.carried)
    if not _are_fewer(rows, lines) or (terms is not None and terms < _LEAST_TERMS):
        return None
    batch = tuple(axis for axis in nest.spatial if axis not in (*rows, *lines))
    result = Contraction(found, a, b, batch, rows, lines)
    return None if is_along_terms(result) is None else result


def _are_fewer(rows: Sequence[Axis], lines: Sequence[Axis]) -> bool:
    """Whether rows are few, and lines are not fewer."""
    few, many = known_size(rows), known_size(lines)
    if few is None or few > _MOST_ROWS or not lines:
        return False
    return many is None or many >= few


def known_size(axes: Sequence[Axis]) -> int | None:
    sizes = [axis.size for axis in axes]
    known = [size for size in sizes if size is not None]
    return prod(known) if len(known) == len(sizes) else None


def _wide(axes: Sequence[Axis]) -> tuple[Axis, ...]:
    return tuple(axis for axis in axes if axis.size != 1)


def is_along_terms(found: Contraction) -> bool | None:
    """Whether terms of the matrix are next to each other, and not lines.

    None where neither are, or both, as windows of an image.
    """
    nest, terms = found.nest, _wide(found.terms)
    behind = ops_behind(nest, found.b)
    matrix = [access for access in nest.accesses if access.op in behind]
    along = any(access.step(terms[-1]) == 1 for access in matrix)
    across = any(access.step(found.columns[-1]) == 1 for access in matrix)
    if along == across:
        return None
    fits = is_vectorizable(nest, terms[-1] if along else found.columns[-1])
    return along if fits else None
